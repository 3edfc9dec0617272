// The port of the journal: every effect of a turn is a step row, started before it and finished after it (ruling 16).
import type { Json } from '../contract/index.ts'

export type StepAddress = {
  readonly conversationId: string
  readonly epoch: number
  readonly turnId: string
  /** The turn this one was split or resubmitted from: its finished steps count for us too, and those before it. */
  readonly parentTurn: string | null
  readonly step: string
  readonly argsHash: string
  /** No arguments were declared: in a loop nothing but its position tells one use from the next. */
  readonly isNameOnly: boolean
}

export type StepState =
  /** Ours to run now; the start is committed. `keyTurn`: the turn that tried it first, under its own key. */
  | { readonly kind: 'run'; readonly keyTurn?: string }
  | { readonly kind: 'finished'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: string }
  /** Somebody started it and never finished; it may or may not have happened. */
  | { readonly kind: 'unknown' }
  /** Somebody stopped the run before this step began. */
  | { readonly kind: 'stopped'; readonly by: string }
  | { readonly kind: 'lease_lost' }

export type StepEnd =
  | { readonly state: 'finished'; readonly result: Json }
  /** It threw: what it did until then was done, so it is not tried again. */
  | { readonly state: 'failed'; readonly error: string }
  /** It says itself that nothing happened: a later attempt runs it again (ruling 15). */
  | { readonly state: 'undone'; readonly error: string }

/** A step of a call to an agent elsewhere, by its name. */
export type RemoteStep = { readonly step: string; readonly state: string; readonly result: Json | null }

export interface JournalStore {
  begin(address: StepAddress, options: { readonly isIdempotent: boolean }): Promise<StepState>
  /** False: the lease was lost and nothing was written. */
  finish(address: StepAddress, end: StepEnd): Promise<boolean>
  /** What a turn, or the one it was split from, began with agents elsewhere. */
  remoteSteps(turnId: string, parentTurn: string | null): Promise<readonly RemoteStep[]>
}
