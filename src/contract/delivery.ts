// A call on its way into the outbox, written by the turn that made it, in the same commit as its transcript.
import type { JsonObject } from '../lib/json-value.ts'

/**
 * Why a call is made: the answer, an extra message, an apology for a dead turn, a notice about a failed part, opening a live
 * message, saying the final text of one once more after a take-over, a question's outcome, telling a person who was let in,
 * telling a caller how their task stands, or what the rules of a protocol answer an inbound event with.
 */
export type CallPurpose =
  | 'reply'
  | 'message'
  | 'apology'
  | 'notice'
  | 'live'
  | 'assertion'
  | 'outcome'
  | 'welcome'
  | 'push'
  | 'protocol'

const maxOrderKeyBytes = 2_000

/** Order keys are in an index, which takes no long ones. */
export function isOrderKey(text: string): boolean {
  // NUL would be taken out on the way, and the key were another one.
  return text !== '' && !text.includes('\u0000') && new TextEncoder().encode(text).length <= maxOrderKeyBytes
}

/** The order key of a lane that an adapter named: never the one of a conversation. */
export function recipientOrderKey(orderKey: string): string {
  return `to:${orderKey}`
}

/** What a call asks people to decide. Once nothing of it is open, it is not sent, or says `otherwise` instead. */
export type CallQuestion = {
  /** Ids of the pending actions. */
  readonly asks: readonly string[]
  /** The same call without the question; null where it says nothing else. */
  readonly otherwise: JsonObject | null
  /** `otherwise` has no words of the reply: it only ends a message that was growing. */
  readonly isPlaceholder?: boolean
  /** Once it was shown and is decided, it is edited: into its outcome, below the words of `otherwise`. */
  readonly isEditable?: boolean
}

export type QueuedCall = {
  readonly id: string
  readonly ordinal: number
  /** Calls with the same order key go out one after the other. */
  readonly orderKey: string
  readonly primary: boolean
  readonly purpose: CallPurpose
  readonly call: JsonObject
  /** Deterministic, so that a vendor that accepts client ids sees the same one on every try. */
  readonly clientId: string
  readonly notBefore: string | null
  readonly expiresAt: string | null
  /** Not before so long after its commit. */
  readonly delayMs?: number
  /** Client id of the live message that it finishes, if that was delivered. */
  readonly liveReference?: string
  readonly question?: CallQuestion
  /** Delivered by the commit that writes it: an append to a log of our own. */
  readonly isAppended?: boolean
}
