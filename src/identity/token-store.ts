// The port of tokens an operator made. Only their hashes are kept; the clear text is shown once.

export type TokenScope = 'admin'

export type TokenLine = {
  readonly id: string
  /** What the token begins with: enough to tell which one lies somewhere, too little to use it. */
  readonly prefix: string
  readonly label: string
  readonly scopes: readonly TokenScope[]
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
  readonly expiresInMs: number | null
}

export interface TokenStore {
  add(token: NewToken): Promise<TokenLine>
  /** Newest first. */
  list(): Promise<readonly TokenLine[]>
  /** The scopes of a token that is valid now; asked of the database every time, so a revocation counts at once everywhere. */
  scopesOf(hash: string): Promise<readonly TokenScope[] | undefined>
  /** `id` or prefix. `none`: there is no such token, or it was revoked before. */
  revoke(idOrPrefix: string): Promise<{ readonly kind: 'revoked' | 'none' | 'ambiguous' }>
}
