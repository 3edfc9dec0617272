// The port of the transcript: read by window, so that a long conversation costs no more than a short one.
import type { Envelope, Json } from '../contract/index.ts'

export interface TranscriptStore {
  /** The first `head` lines and the last `tail` lines, oldest first, none twice. Ambient ones beside them: the last `around`. */
  window(sessionId: string, lines: TranscriptLines): Promise<readonly Envelope[]>
  /** The state that the agent shares with a person's program; undefined: there is none. */
  sharedState(sessionId: string): Promise<Json | undefined>
}

export type TranscriptLines = {
  readonly head: number
  readonly tail: number
  readonly around: number
  /** Only lines before this one. */
  readonly until?: number
}
