// The port of human take-over: an operator takes a conversation over, speaks in it, gives it back (`lanes.mode`).
import type { Envelope, JsonObject, NormalizedResponse, QueuedCall } from '../contract/index.ts'

/** Where a session is held; what waits there is answered once its lane is `active` again. */
export type SessionRoom = {
  readonly conversationId: string
  readonly connection: string
  readonly agent: string
  readonly replyTo: JsonObject
  readonly mode: 'active' | 'paused' | 'operator'
  /** False: the conversation has gone on to another session, or this one is over. */
  readonly isCurrent: boolean
}

/** One thing said by a person: a line of the transcript, and the calls that bring it there. */
export type OperatorMessage = {
  readonly turnId: string
  readonly traceId: string
  readonly envelope: Envelope
  readonly response: NormalizedResponse
  readonly calls: readonly QueuedCall[]
  /** Said only in the first mode; what is said moves the lane to the second. */
  readonly from: SessionRoom['mode']
  readonly to: SessionRoom['mode']
}

export interface SessionReader {
  place(sessionId: string): Promise<SessionRoom | undefined>
  /** False: the lane is in another mode, or the session is no longer its conversation's. */
  speak(sessionId: string, spoken: OperatorMessage): Promise<boolean>
}
