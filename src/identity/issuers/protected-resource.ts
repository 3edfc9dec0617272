// What this gateway says about the tokens it takes (RFC 9728): which servers issue them, and what they may be good for.
import type { TokenIssuers } from './token-issuer.ts'

export const resourcePath = '/.well-known/oauth-protected-resource'

export type ProtectedResource = {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[]
  readonly bearer_methods_supported: readonly string[]
}

export function hasTokenIssuers({ jwt, introspected }: TokenIssuers): boolean {
  return jwt.length > 0 || introspected !== undefined
}

/** `resource`: the URL a token is wanted for. */
export function protectedResource(issuers: TokenIssuers, resource: string): ProtectedResource {
  const all = [...issuers.jwt, ...(issuers.introspected === undefined ? [] : [issuers.introspected])]
  const scopes = all.flatMap((each) => Object.values(each.scopes).flatMap((theirs) => (theirs === 'any' ? [] : theirs)))
  return {
    resource,
    authorization_servers: [...new Set(all.map(({ issuer }) => issuer))],
    ...(scopes.length === 0 ? {} : { scopes_supported: [...new Set(scopes)] }),
    bearer_methods_supported: ['header'],
  }
}

/** Where that is written for a resource: its path stands after the well-known one (RFC 9728 section 3.1). */
export function metadataUrl(publicUrl: string, resource = publicUrl): string {
  const { pathname } = new URL(resource)
  return `${new URL(publicUrl).origin}${resourcePath}${pathname === '/' ? '' : pathname}`
}
