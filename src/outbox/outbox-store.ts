// The port of hop 8: send lanes are claimed, calls started, settled and released, every write fenced.
import type { JsonObject, QueuedCall, RateLimit } from '../contract/index.ts'

export type SendHold = {
  readonly tenant: string
  readonly connection: string
  readonly orderKey: string
  readonly epoch: number
}

export type OpenCall = {
  readonly id: string
  readonly turnId: string | null
  readonly conversationId: string | null
  readonly primary: boolean
  readonly purpose: string
  readonly call: JsonObject
  readonly clientId: string
  readonly state: 'queued' | 'sending' | 'retry' | 'unknown'
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
}

/** A lane's next calls, as far as this release can read them. */
export type HeldSendLane = SendHold & { readonly calls: readonly OpenCall[] }

export type StartResult =
  | { readonly kind: 'started' }
  /** A limit says: not before this many milliseconds from now. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  | { readonly kind: 'lease_lost' }

/** How a call's try ends. `retry` and an open `unknown` come back when their time has come. */
export type Settlement = {
  readonly state: 'delivered' | 'refused' | 'dead' | 'unknown' | 'retry'
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
}

export interface OutboxStore {
  /** Free lanes, apart from those whose next call only a newer release can read (ruling 26). */
  claim(limit: number): Promise<readonly HeldSendLane[]>
  start(
    hold: SendHold,
    call: OpenCall,
    limits: { readonly connection?: RateLimit; readonly conversation?: RateLimit },
    /** What the conversation shares its limit with; without it: nothing. */
    place?: string,
  ): Promise<StartResult>
  /** False: the lease was lost and nothing was written. */
  settle(hold: SendHold, call: OpenCall, settlement: Settlement): Promise<boolean>
  release(hold: SendHold, delayMs: number): Promise<boolean>
  repair(hold: SendHold): Promise<boolean>
}
