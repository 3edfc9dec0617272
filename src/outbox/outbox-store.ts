// The port of hop 8: send lanes are claimed, calls started, settled and released, every write fenced.
import type { JsonObject, QueuedCall, RateLimit } from '../contract/index.ts'

export type SendHold = {
  readonly tenant: string
  readonly connection: string
  readonly orderKey: string
  readonly epoch: number
}

/** The reason of a call that waited in a backup, and may have left before the backup was restored. */
export const restoredReason = 'restored'

export type OpenCall = {
  readonly id: string
  readonly turnId: string | null
  readonly conversationId: string | null
  readonly primary: boolean
  readonly purpose: string
  readonly call: JsonObject
  readonly clientId: string
  readonly state: 'queued' | 'sending' | 'retry' | 'unknown'
  /** Why it stands there, as its last settlement said. */
  readonly reason: string | null
  readonly attempt: number
  readonly maybeRepeat: boolean
  readonly waitMs: number
  readonly isExpired: boolean
  readonly ageMs: number
  readonly replyTo: JsonObject | null
  readonly hasLaterParts: boolean
  readonly traceId: string
  /** Client id of the live message it finishes. */
  readonly finishes: string | null
  /** Vendor id of that, where it was delivered. */
  readonly liveReference: string | null
  /** Its own vendor id, where it has arrived and is to be edited once more. */
  readonly vendorId: string | null
  readonly question: OpenQuestion | null
}

/** What a call asks people to decide. */
export type OpenQuestion = {
  /** The call without it; null where it says nothing else. */
  readonly otherwise: JsonObject | null
  /** `otherwise` has no words of the reply. */
  readonly isPlaceholder: boolean
  /** How it was decided, as of the claim; null: it is still open. */
  readonly outcomes: readonly QuestionOutcome[] | null
}

export type QuestionOutcome = {
  readonly status: string
  readonly summary: string
  /** Who decided, as they are called there. */
  readonly by?: string | null
}

/** A lane's next calls, as far as this release can read them. */
export type HeldSendLane = SendHold & { readonly calls: readonly OpenCall[] }

export type StartResult =
  | { readonly kind: 'started' }
  /** A limit says: not before this many milliseconds from now. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** What it asks was decided after the claim: it must not be sent as it is. */
  | { readonly kind: 'decided' }
  /** It was settled by another statement after the claim, and leaves the lane with that. */
  | { readonly kind: 'settled' }
  | { readonly kind: 'lease_lost' }

/** How a call's try ends. `retry` and an open `unknown` come back when their time has come. */
export type Settlement = {
  readonly state: 'delivered' | 'refused' | 'dead' | 'unknown' | 'retry' | 'cancelled'
  readonly isFinal: boolean
  readonly reason: string | null
  readonly vendorId: string | null
  /** What the conversation is called there from now on, too. */
  readonly name: string | null
  readonly retryInMs: number
  /** Persisted pause of the whole connection or of this order key. */
  readonly pause: { readonly scope: 'connection' | 'conversation'; readonly ms: number; readonly place?: string } | null
  readonly maybeRepeat: boolean
  /** Calls of the same reply that can no longer be sent are cancelled, with one notice in their place. */
  readonly cancelLater: boolean
  readonly notice: readonly QueuedCall[]
  /** State of the messages this reply answers, when a primary call ends without arriving. */
  readonly inboxReason: string | null
  /** A question that arrived after its decision stays open, to be edited into its outcome. */
  readonly maySayOutcome: boolean
}

/** `late`: it stays open, to be edited into the outcome of its question. `lease_lost`: nothing was written. */
export type SettleResult = 'settled' | 'late' | 'lease_lost'

export interface OutboxStore {
  /** Free lanes of other connections than `full`, apart from those whose next call only a newer release can read. */
  claim(limit: number, full?: readonly string[]): Promise<readonly HeldSendLane[]>
  start(
    hold: SendHold,
    call: OpenCall,
    limits: { readonly connection?: RateLimit; readonly conversation?: RateLimit },
    how?: {
      /** What the conversation shares its limit with; without it: nothing. */
      readonly place?: string | undefined
      /** It asks what was open when it was claimed: begun only if it still is. */
      readonly mustBeAsked?: boolean
      /** An earlier start of the same try may have been committed: it counts. */
      readonly isRepeat?: boolean
    },
  ): Promise<StartResult>
  /** `isRepeat`: an earlier try to settle it so may have been committed, and counts. */
  settle(hold: SendHold, call: OpenCall, settlement: Settlement, isRepeat?: boolean): Promise<SettleResult>
  release(hold: SendHold, delayMs: number): Promise<boolean>
  repair(hold: SendHold): Promise<boolean>
}
