// The port of the transcript: read by window, so that a long conversation costs no more than a short one.
import type { Envelope } from '../contract/index.ts'

export interface TranscriptStore {
  /** The first `head` lines and the last `tail` lines, oldest first, none twice. Overheard ones beside them: the last `around`. */
  window(sessionId: string, lines: TranscriptLines): Promise<readonly Envelope[]>
}

export type TranscriptLines = {
  readonly head: number
  readonly tail: number
  readonly around: number
  /** Only lines before this one. */
  readonly until?: number
}
