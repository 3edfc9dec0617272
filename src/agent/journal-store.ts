// The port of the journal: every effect of a turn is a step row, started before it and finished after it (ruling 16).
import type { Json } from '../contract/index.ts'

export type StepAddress = {
  readonly conversationId: string
  readonly epoch: number
  readonly turnId: string
  /** The merged turn this one was split from: its finished steps count for us too. */
  readonly parentTurn: string | null
  readonly step: string
  readonly argsHash: string
}

export type StepState =
  /** Ours to run now; the start is committed. `keyTurn`: the merged turn that tried it before, under its own key. */
  | { readonly kind: 'run'; readonly keyTurn?: string }
  | { readonly kind: 'finished'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: string }
  /** Somebody started it and never finished; it may or may not have happened. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'lease_lost' }

export interface JournalStore {
  begin(address: StepAddress, options: { readonly isIdempotent: boolean }): Promise<StepState>
  /** False: the lease was lost and nothing was written. */
  finish(address: StepAddress, end: { readonly result: Json } | { readonly error: string }): Promise<boolean>
}
