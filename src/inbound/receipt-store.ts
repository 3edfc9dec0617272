// The port of receipts: what became of a message, the books, and what to do about the dead.
import type { NormalizedResponse } from '../contract/index.ts'

export type Receipt = {
  readonly id: string
  readonly state: string
  readonly reason: string | null
  readonly turnId: string | null
  readonly runId: string | null
  readonly response: NormalizedResponse | null
}

/** received = answered + merged + refused + dead + inFlight; ignored arrivals stand outside. */
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
}

export type DeadMessage = {
  readonly id: string
  readonly connection: string
  readonly reason: string | null
  readonly messageId: string | null
  readonly subject: string | null
  readonly attempts: number
  readonly receivedAt: string
}

export interface ReceiptStore {
  find(inboxId: string): Promise<Receipt | undefined>
  books(): Promise<readonly BooksLine[]>
  listDead(limit: number): Promise<readonly DeadMessage[]>
  /** Queues a dead message again with a clean record; false when there is nothing to queue. */
  resubmit(inboxId: string): Promise<boolean>
}
