// The port of pairings: unknown senders, the codes they were given, and what an operator decided about them.
import type { JsonObject } from '../../contract/index.ts'

export const pairingStatuses = ['pending', 'approved', 'rejected', 'expired'] as const
export type PairingStatus = (typeof pairingStatuses)[number]

export type PairingLine = {
  readonly id: string
  readonly code: string
  readonly status: PairingStatus
  readonly connection: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  /** The agent they wrote to first. */
  readonly wroteTo: string
  readonly subject: string
  /** How they call themselves; proves nothing. */
  readonly shownName: string | null
  /** Issuer, method and assurance. */
  readonly evidence: JsonObject | null
  /** Messages that wait for it. */
  readonly held: number
  readonly createdAt: string
  readonly expiresAt: string
  readonly decidedAt: string | null
  readonly decidedBy: string | null
}

export type PairingFilter = {
  readonly status: PairingStatus | null
  readonly limit: number
  readonly before: string | null
}

/** Who decides. `subject`: where it is a person in a chat. */
export type Decider = { readonly name: string; readonly subject: string | null }

export type PairingDecision =
  /** `messages`: how many of theirs go on, or end, with it. */
  | { readonly kind: 'decided'; readonly pairing: PairingLine; readonly messages: number }
  | { readonly kind: 'late'; readonly pairing: PairingLine }
  | { readonly kind: 'unknown' }

/** A stranger who would wait: where, of which group, and about which message. */
export type PairingAsk = {
  readonly connection: string
  readonly group: string | null
  readonly perConnection: number
  readonly perGroup: number
  readonly agent: string
  readonly conversationId: string
  readonly inboxId: string
  readonly traceId: string
}

/** `group`: what is full; null: the connection. `isNews`: the operator has not heard of it within the hour. */
export type PairingRoom =
  | { readonly kind: 'free' }
  | { readonly kind: 'full'; readonly group: string | null; readonly isNews: boolean }

/** People of one group who wait, and messages of others whose senders were not taken. `group` null: all of the connection. */
export type PairingGroup = {
  readonly connection: string
  readonly group: string | null
  readonly people: number
  readonly notTaken: number
}

export interface PairingStore {
  /** Whether one more may wait; where not, the message is counted. The commit that makes the pairing has the last word. */
  findRoom(asked: PairingAsk): Promise<PairingRoom>
  /** Groups of which many wait, or some were not taken. */
  groups(): Promise<readonly PairingGroup[]>
  /** Those that wait first, then the newest. */
  list(filter: PairingFilter): Promise<readonly PairingLine[]>
  /** `code` as it is stored. One that waits goes before one that was decided. */
  find(code: string): Promise<PairingLine | undefined>
  /**
   * Lets them in where the rule that held them asks for it, and nowhere else; with this one agent only, if one is named. Their
   * messages go back to the queue.
   */
  approve(code: string, by: Decider, onlyAgent?: string): Promise<PairingDecision>
  /** Their messages end. With `isBlocked` whatever else they write there is refused as well. */
  reject(code: string, by: Decider, isBlocked: boolean): Promise<PairingDecision>
}
