// The port of grants: what operators wrote down about single people. Read with every message, so that a change counts at once.

/** Weakest first. */
export const grantRoles = ['viewer', 'operator', 'admin'] as const
export type GrantRole = (typeof grantRoles)[number]

export type GrantLine = {
  readonly id: string
  readonly subject: string
  readonly effect: 'allow' | 'deny'
  /** Null: they may speak. */
  readonly role: GrantRole | null
  /** Null: everywhere. */
  readonly connection: string | null
  readonly agent: string | null
  readonly workspaceId: string | null
  /** `operator`, or `pairing`. */
  readonly source: string
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedBy: string | null
  readonly revokedAt: string | null
}

export type NewGrant = Pick<
  GrantLine,
  'subject' | 'effect' | 'role' | 'connection' | 'agent' | 'workspaceId' | 'createdBy'
> & { readonly expiresInMs: number | null }

export type GrantFilter = {
  readonly subject: string | null
  /** Without it: those that count now. */
  readonly isEverything: boolean
  readonly limit: number
  readonly before: string | null
}

export type Revocation =
  | { readonly kind: 'revoked'; readonly grant: GrantLine }
  | { readonly kind: 'late'; readonly grant: GrantLine }
  | { readonly kind: 'unknown' }

export interface GrantStore {
  /** Newest first. */
  list(filter: GrantFilter): Promise<readonly GrantLine[]>
  /** Decides open pairings of the same person too. `messages`: how many of theirs go on, or end, with it. */
  add(grant: NewGrant): Promise<{ readonly grant: GrantLine; readonly messages: number }>
  revoke(id: string, by: string): Promise<Revocation>
}
