// Tokens of other issuers: whom to ask about one, whether it is for this agent, and whose it is. What is wrong with one
// has a name of its own; a token we know nothing about causes no request to any server.
import type { Bearer, Log, RejectReason } from '../../contract/index.ts'
import type { IssuerFetch } from './ask-issuer.ts'
import { createIntrospection } from './introspect.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import type { IssuerCache } from './issuer-memory.ts'
import { type AudienceContext, resolveAudienceAgent } from './judge-claims.ts'
import type { TokenClaims } from './token-claims.ts'
import { toBearer } from './token-holder.ts'
import type { IntrospectedIssuer, JwtIssuer, TokenIssuers } from './token-issuer.ts'
import type { UsedTokens } from './used-tokens.ts'
import { decodeUnverifiedJwt, verifyJwt } from './verify-jwt.ts'

export type ExternalTokenDeps = {
  readonly issuers: TokenIssuers
  readonly fetch: IssuerFetch
  readonly memory: IssuerCache
  readonly used: UsedTokens
  readonly hash: (text: string) => Promise<string>
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

export type ExternalTokenResult =
  /** `use`: false when it counts once and has been used. To be asked last, when nothing else is wrong. */
  | { readonly kind: 'held'; readonly bearer: Bearer; readonly use: () => Promise<boolean> }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }

export interface ExternalTokenVerifier {
  verify(token: string, scene: AudienceContext): Promise<ExternalTokenResult>
}

type CheckedToken =
  | { readonly ok: true; readonly claims: TokenClaims; readonly issuer: JwtIssuer | IntrospectedIssuer }
  | { readonly ok: false; readonly reason: RejectReason }

export function createExternalTokenVerifier(deps: ExternalTokenDeps): ExternalTokenVerifier {
  const { jwt, introspected } = deps.issuers
  const keys = new Map(jwt.map((each) => [each.issuer, createIssuerKeys(deps, each)]))
  const introspectToken = introspected === undefined ? undefined : createIntrospection(deps, introspected)
  const checkToken = async (token: string): Promise<CheckedToken> => {
    const read = decodeUnverifiedJwt(token)
    const issuer = jwt.find((each) => each.issuer === read?.issuer)
    const known = issuer === undefined ? undefined : keys.get(issuer.issuer)
    if (read !== undefined && issuer !== undefined && known !== undefined) {
      const verdict = await verifyJwt(token, read, issuer, { keys: known, now: deps.now })
      return verdict.ok ? { ...verdict, issuer } : verdict
    }
    // Many servers hand out signed tokens and yet want to be asked about them.
    if (introspectToken === undefined || introspected === undefined)
      return { ok: false, reason: read === undefined ? 'invalid_token' : 'token_issuer' }
    const verdict = await introspectToken(token)
    return verdict.ok ? { ...verdict, issuer: introspected } : verdict
  }
  return {
    async verify(token, scene) {
      const checked = await checkToken(token)
      if (!checked.ok) return rejectToken(checked.reason)
      const { claims, issuer } = checked
      const agent = resolveAudienceAgent(claims.audience, issuer.audience, scene)
      if (agent === undefined) return rejectToken('token_audience')
      const kind = 'proves' in issuer && issuer.proves === 'agent' ? 'jwt' : 'oauth'
      const bearer = await toBearer(deps.hash, issuer, { claims, kind, agent })
      if (bearer === undefined) return rejectToken('invalid_token')
      return { kind: 'held', bearer, use: () => markTokenUsed(deps, issuer, claims) }
    },
  }
}

async function markTokenUsed(
  { used, hash }: ExternalTokenDeps,
  issuer: JwtIssuer | IntrospectedIssuer,
  claims: TokenClaims,
) {
  if (!('oneShot' in issuer && issuer.oneShot)) return true
  // A little longer than it could be shown: clocks differ.
  const until = (claims.expiresAt ?? 0) + 120
  return used.use(await hash(JSON.stringify([issuer.issuer, claims.id])), until)
}

function rejectToken(reason: RejectReason): ExternalTokenResult {
  return { kind: 'rejected', reason }
}
