// The port of the journal: every effect of a turn is a step row, started before it and finished after it.
import type { Json } from '../contract/index.ts'

export type StepAddress = {
  readonly conversationId: string
  readonly epoch: number
  readonly turnId: string
  /** Whose journal it is: the turn itself, or the dead one that it goes on with. */
  readonly journalTurn: string
  readonly step: string
}

export type StepFacts = {
  readonly isIdempotent: boolean
  /** What people are told it is. */
  readonly label: string
}

export type StepState =
  /** Ours to run now; the start is committed. */
  | { readonly kind: 'run' }
  | { readonly kind: 'finished'; readonly result: Json }
  /** Begun before and not finished, or failed there: it may or may not have happened. */
  | { readonly kind: 'unknown'; readonly error: string | null }
  /** The run was stopped before this step began. */
  | { readonly kind: 'stopped'; readonly by: string }
  | { readonly kind: 'lease_lost' }

export type StepEnd =
  | { readonly state: 'finished'; readonly result: Json }
  /** It threw: what it did until then was done, so it is not tried again unless it is idempotent. */
  | { readonly state: 'failed'; readonly error: string }
  /** Nothing happened: a later attempt runs it again. */
  | { readonly state: 'undone'; readonly error: string }

export type RecordedStep = {
  readonly step: string
  readonly label: string | null
  /** It may have changed something outside; false: a look-up, or a model's answer. */
  readonly isEffect: boolean
  readonly state: 'started' | 'finished' | 'failed' | 'undone'
  readonly result: Json
  readonly error: string | null
}

/** What a turn that is taken up again knows of its earlier tries. */
export type TurnPast = {
  readonly journalTurn: string
  readonly steps: readonly RecordedStep[]
  /** Which lines of its session it was shown; null: none. */
  readonly view: TurnView | null
  /** Lines of its session were erased since. */
  readonly isErased: boolean
}

/** By reference: the lines of the session before `until`, the first `head` and the last `tail` of them, and the ambient context. */
export type TurnView = {
  readonly head: number
  readonly tail: number
  readonly around: number
  readonly until: number
}

/** A step of a call to a remote agent, by its name. */
export type RemoteStep = { readonly step: string; readonly state: string; readonly result: Json | null }

export interface JournalStore {
  begin(address: StepAddress, facts: StepFacts): Promise<StepState>
  /** False: the lease was lost and nothing was written. */
  finish(address: StepAddress, end: StepEnd): Promise<boolean>
  /** A step without effect, which needs no start. False: the lease was lost and nothing was written. */
  record(address: StepAddress, end: StepEnd, tookMs: number): Promise<boolean>
  past(turnId: string): Promise<TurnPast>
  /** What a turn began with remote agents. */
  remoteSteps(journalTurn: string): Promise<readonly RemoteStep[]>
}
