// A call on its way into the outbox; written by the turn that made it, in the same commit as its transcript.
import type { JsonObject } from './json.ts'

/** Why a call is made: the answer, an extra message, an apology for a dead turn, or a notice about a failed part. */
export type CallPurpose = 'reply' | 'message' | 'apology' | 'notice'

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
}
