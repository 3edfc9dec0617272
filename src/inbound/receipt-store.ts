// The port of receipts: what became of a message, the ledger, and what to do about dead letters.
import type { JsonObject, NormalizedResponse, Page } from '../contract/index.ts'

export type Receipt = {
  readonly id: string
  readonly state: string
  readonly reason: string | null
  readonly turnId: string | null
  readonly runId: string | null
  readonly response: NormalizedResponse | null
  /** The run that the message, a decision, set going again. Null: none. */
  readonly resumed: { readonly state: string; readonly response: NormalizedResponse | null } | null
}

/** received = answered + merged + refused + dead + inFlight; ignored events and redeliveries stand outside. */
export type BooksLine = {
  readonly tenant: string
  readonly connection: string
  readonly received: number
  readonly answered: number
  readonly merged: number
  readonly refused: number
  readonly dead: number
  readonly inFlight: number
  readonly ignored: number
  readonly duplicates: number
}

/** A message that found an end the operator may want to look at. */
export type EndedMessage = {
  /** Its place in the list; the next page begins before it. */
  readonly seq: number
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly messageId: string | null
  readonly subject: string | null
  readonly attempts: number
  readonly receivedAt: string
}

export type StoredRejectedEvent = {
  readonly connection: string
  readonly raw: JsonObject
  readonly subject: string | null
}

/** `isAnew`: as if nothing had been done for it. Else its turn goes on with its journal. */
export type Resubmission = { readonly isAnew: boolean }

export type PastEffect = { readonly label: string; readonly state: string }

export interface ReceiptStore {
  find(inboxId: string): Promise<Receipt | undefined>
  books(): Promise<readonly BooksLine[]>
  list(state: 'dead' | 'refused' | 'ignored', page: Page): Promise<readonly EndedMessage[]>
  /** Queues the turn of a dead message again, or the message anew, and writes down by whom; false: nothing to queue. */
  resubmit(inboxId: string, by: string, how?: Resubmission): Promise<boolean>
  /** What was done for a message, or may have been: anew, it may happen again. */
  mayRepeat(inboxId: string): Promise<readonly PastEffect[]>
  /** What was kept of an unparsable event, to be read by a newer release. */
  findRemains(inboxId: string): Promise<StoredRejectedEvent | undefined>
  /** The event has become a message of its own; what was kept of it no longer counts. */
  markRedriven(inboxId: string, by: string): Promise<void>
}
