// The port of human take-over: an operator takes a conversation over, speaks in it, gives it back (`lanes.mode`).
import type { Envelope, JsonObject, NormalizedResponse, QueuedCall } from '../contract/index.ts'

/** Where a session is held; what waits there is answered once its lane is `active` again. */
export type SessionPlace = {
  readonly conversationId: string
  readonly connection: string
  readonly agent: string
  readonly replyTo: JsonObject
  readonly mode: 'active' | 'paused' | 'operator'
  /** False: the conversation has gone on to another session, or this one is over. */
  readonly isCurrent: boolean
}

/** One thing said by a person: a line of the transcript, and the calls that bring it there. */
export type Spoken = {
  readonly turnId: string
  readonly traceId: string
  readonly envelope: Envelope
  readonly response: NormalizedResponse
  readonly calls: readonly QueuedCall[]
  /** Said only in the first mode; what is said moves the lane to the second. */
  readonly from: SessionPlace['mode']
  readonly to: SessionPlace['mode']
}

export interface SessionDeskStore {
  place(sessionId: string): Promise<SessionPlace | undefined>
  /** False: the lane is in another mode, or the session is no longer its conversation's. */
  speak(sessionId: string, spoken: Spoken): Promise<boolean>
}
