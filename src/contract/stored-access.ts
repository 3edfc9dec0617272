// What is written down about a sender besides the configuration, as it stood when the message was read for a decision.

export type StoredGrant = {
  readonly id: string
  readonly subject: string
  readonly effect: 'allow' | 'deny'
  /** What an allowed person may be; null: they may speak. */
  readonly role: 'viewer' | 'operator' | 'admin' | null
  /** Null: everywhere. */
  readonly connection: string | null
  readonly agent: string | null
  readonly workspaceId: string | null
}

/** A pairing that is not decided yet, on the connection of the message. */
export type OpenPairing = {
  readonly id: string
  readonly code: string
  readonly subject: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  /** Messages that wait for it. */
  readonly held: number
}

export type StoredAccess = {
  readonly grants: readonly StoredGrant[]
  /** A sender who proves `subject` is `principal`, because an operator said so. */
  readonly links: readonly { readonly subject: string; readonly principal: string }[]
  readonly pairings: readonly OpenPairing[]
  /** How often the sender, and how often all senders together, were told in this conversation that they have no access, within the hour. */
  readonly told: number
  readonly toldAll: number
}

export const noStoredAccess: StoredAccess = { grants: [], links: [], pairings: [], told: 0, toldAll: 0 }
