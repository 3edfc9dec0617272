// The port of tokens an operator made, for operators and for people who see what is theirs. Only their hashes are kept; the clear text is shown once.
import type { WorkspaceScope } from '../contract/index.ts'

/** `admin`: everything. `own`: what belongs to the token's principal, and nothing else. */
export type TokenScope = 'admin' | 'own'

/** Who a valid token speaks for. */
export type TokenHolder = {
  readonly label: string
  readonly scopes: readonly TokenScope[]
  /** Null: an operator. */
  readonly principal: string | null
  readonly workspace: WorkspaceScope
}

export type TokenLine = {
  readonly id: string
  /** What the token begins with: enough to tell which one lies somewhere, too little to use it. */
  readonly prefix: string
  readonly label: string
  readonly scopes: readonly TokenScope[]
  readonly principal: string | null
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdAt: string
  /** Coarse: refreshed once in a few minutes at most. */
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export type NewToken = {
  readonly id: string
  readonly hash: string
  readonly label: string
  readonly scopes: readonly TokenScope[]
  readonly principal: string | null
  readonly expiresInMs: number | null
}

export interface TokenStore {
  add(token: NewToken): Promise<TokenLine>
  /** Newest first. */
  list(): Promise<readonly TokenLine[]>
  /** Of a token that is valid now; asked of the database every time, so a revocation counts at once everywhere. */
  holderOf(hash: string): Promise<TokenHolder | undefined>
  /** `id` or prefix. `none`: there is no such token, or it was revoked before. */
  revoke(idOrPrefix: string): Promise<{ readonly kind: 'revoked' | 'none' | 'ambiguous' }>
}
