// How a reply is shown while it grows (docs/decisions/0015, 0018).
import type { JsonObject } from './json.ts'

/**
 * A live message: opened by an outbox row, whose vendor id is the reference of every frame; frames are shown at most once and
 * outside the outbox; the reply's first call, rendered with `hasLive`, is an edit of it when it is delivered.
 */
export interface LiveVerbs {
  /** Least time between two frames of one message. */
  readonly everyMs: number
  /** The call that opens it with the words so far. Undefined: not in this place. */
  open(to: JsonObject, text: string): JsonObject | undefined
  /**
   * Words that are no message yet and vanish by themselves. Where they can be shown nothing is opened: frames carry this
   * reference, and the reply is a message like any other. `turnId` is the same for every attempt. Undefined: not in this place.
   */
  preview?(to: JsonObject, turnId: string): LivePreview | undefined
  frame(frame: LiveFrame): Promise<FrameOutcome>
}

export type LivePreview = {
  readonly reference: string
  readonly everyMs: number
  /** Shown again after so long without a new word, before it vanishes. */
  readonly refreshMs: number
}

export type LiveFrame = {
  readonly reference: string
  readonly to: JsonObject
  /** All words so far, Markdown as the model writes it. */
  readonly text: string
  /** What the last frame that was shown, or the opening, showed. After a take-over that is unknown: then it is no beginning of `text`. */
  readonly shown: string
  readonly signal: AbortSignal
}

/** `over`: no more frames for this message; the final reply still comes. `unavailable`: a preview cannot be shown, a live message may. */
export type FrameOutcome =
  | { readonly kind: 'shown' }
  | { readonly kind: 'later'; readonly afterMs: number }
  | { readonly kind: 'over' | 'unavailable'; readonly reason: string }
