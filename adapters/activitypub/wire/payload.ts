// What verify hands to normalize: an activity that was proven, and what the channel knows already about those in it.
import type { ReadActivity, VerifiedActivity } from './activity.ts'

export type KnownFacts = {
  /** Agents of ours that the author has blocked. */
  readonly blocked: readonly string[]
  /** Agents that the note was for which is taken back, where that is kept. */
  readonly shared: readonly string[]
  /** What an activity that is undone was about, where only its address is given. */
  readonly undone: { readonly kind: 'Follow' | 'Block'; readonly agent: string } | undefined
}

export type ActivityPayload =
  | { readonly kind: 'activity'; readonly gated: VerifiedActivity; readonly facts: KnownFacts }
  /** A community passed it on, and its author's server does not bear it out. `gated` is what the community sent. */
  | { readonly kind: 'unproven'; readonly gated: VerifiedActivity; readonly reason: string }
  /** An actor is gone: their own server says so. */
  | { readonly kind: 'departed'; readonly activity: ReadActivity }

export const nothingKnown: KnownFacts = { blocked: [], shared: [], undone: undefined }
