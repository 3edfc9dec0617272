// Ambient context, what was said in a room and not to the agent: how it is remembered, and what a turn is given of it.
import type { Envelope } from '../contract/gateway-events.ts'

export type AmbientMessage = {
  /** Null: it is not remembered. For an edit: what takes the place of what is remembered. */
  readonly memory: AmbientRecord | null
}

export type AmbientRecord = {
  readonly room: string
  /** The room's main line, where that is no thread itself. */
  readonly mainLine: string | null
  /** For an edit: the receipt of what it edits. */
  readonly original: string | null
  readonly principal: string
  readonly minutes: number
  readonly bytes: number
  readonly envelope: Envelope
}

/** What of a room's talk a turn begins with: of its own conversation, or of the main line it was asked from. */
export type AmbientRecall = {
  readonly room: string
  /** Null: what was said in this very conversation. */
  readonly mainLine: string | null
  /** 0: what was said so far is left behind. */
  readonly messages: number
  readonly bytes: number
}
