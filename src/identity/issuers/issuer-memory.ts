// What is remembered of issuers between requests: keys, and what their servers answered. Plain values only, since on Workers
// an invocation may read what another one fetched and never wait for it.
import type { createLocalJWKSet } from 'jose'
import type { TokenClaims } from './token-claims.ts'

export type CachedKeys = {
  readonly kids: ReadonlySet<string>
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly at: number
}

/** `triedAt`: when they were last asked for; `isFailing`: in vain. */
export type KeyRecord = { kept?: CachedKeys; triedAt: number; isFailing: boolean }

export type CachedIntrospection = { readonly claims: TokenClaims; readonly until: number }

export type IssuerCache = {
  /** By issuer. */
  readonly keys: Map<string, KeyRecord>
  /** By the hash of a token. */
  readonly answers: Map<string, CachedIntrospection>
}

export function createIssuerCache(): IssuerCache {
  return { keys: new Map(), answers: new Map() }
}
