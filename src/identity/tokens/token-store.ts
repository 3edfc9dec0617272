// The port of tokens an operator made: for operators, for people who see what is theirs, for callers of agents. Only their hashes
// are kept; the clear text is shown once. A store is one tenant's: the tokens of another are unknown to it.
import type { WorkspaceScope } from '../../contract/index.ts'

/**
 * `admin`: every operator route. `read`: those that change nothing and show nothing that was said. `run`: talk to agents.
 * `own`: what belongs to the token's principal.
 */
export const tokenScopes = ['admin', 'read', 'run', 'own'] as const
export type TokenScope = (typeof tokenScopes)[number]

/** What a token is for and what it is limited to. */
export type TokenTerms = {
  readonly label: string
  readonly scopes: readonly TokenScope[]
  /** Whom it speaks for; narrows whatever the scopes say. Null: only itself. */
  readonly principal: string | null
  /** The one agent it may talk to. Null: every one. */
  readonly agent: string | null
  readonly workspace: WorkspaceScope
  /** At most these capabilities. Null: no list of its own. */
  readonly allowedCapabilities: readonly string[] | null
  /** The application it was given to. */
  readonly clientId: string | null
}

/** Who a valid token speaks for. */
export type TokenHolder = TokenTerms & { readonly id: string }

export type TokenLine = TokenTerms & {
  readonly id: string
  /** What the token begins with: enough to tell which one lies somewhere, too little to use it. */
  readonly prefix: string
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdBy: string | null
  readonly createdAt: string
  /** Coarse: refreshed once in a few minutes at most. */
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export type NewToken = TokenTerms & {
  readonly id: string
  readonly hash: string
  readonly createdBy: string
  readonly expiresInMs: number | null
}

/** `isUseDue`: its last use was noted so long ago that it should be noted again. */
export type FoundToken = TokenHolder & { readonly isUseDue: boolean }

export interface TokenStore {
  /** Undefined: another token ends in the same digits, and by those it is told apart and named as a subject. */
  add(token: NewToken): Promise<TokenLine | undefined>
  /** Newest first. */
  list(): Promise<readonly TokenLine[]>
  /** A token that is valid now; asked of the database every time, so a revocation counts at once everywhere. */
  find(hash: string): Promise<FoundToken | undefined>
  /** Notes that it was used. */
  touch(id: string): Promise<void>
  /** `id` or prefix. `none`: there is no such token, or it was revoked before. */
  revoke(idOrPrefix: string): Promise<{ readonly kind: 'revoked' | 'none' | 'ambiguous' }>
}
