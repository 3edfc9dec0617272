// What a turn has done so far, in this try and in those before: whether it may be split, and what its apology says.

import type { RecordedStep } from '../db/journal.ts'
import { asFields } from './fields.ts'

export type StepLog = {
  /** What an earlier try wrote down under this name. This try has come as far as that now. */
  readonly reach: (step: string) => RecordedStep | undefined
  /** An earlier try has come further: what this one has not yet asked for was begun without whatever is new. */
  readonly isCatchingUp: () => boolean
  readonly isFinished: (step: string) => boolean
  readonly note: (step: string, now: Pick<RecordedStep, 'state' | 'result'> & { readonly label: string }) => void
  /** A tool call or a step was begun, whatever became of it. */
  readonly hasEffect: () => boolean
  /** Says of an error that every later try would meet it again, and gives it back. */
  readonly ends: <E>(error: E) => E
  /** Whether an error is such a one, or was made of one. */
  readonly isFinal: (error: unknown) => boolean
  readonly account: () => EffectAccount
}

/** In the labels of tools and steps, in the order they were begun. */
export type EffectAccount = { readonly done: readonly string[]; readonly unknown: readonly string[] }

export const nothingDone: EffectAccount = { done: [], unknown: [] }

export function createStepLog(past: readonly RecordedStep[] = []): StepLog {
  const recorded = new Map(past.map((row) => [row.step, row]))
  const effects = new Map<string, Effect>()
  for (const row of past)
    if (row.isEffect) effects.set(row.step, { label: row.label ?? row.step, fate: stepOutcome(row) })
  const ahead = new Set(past.filter(({ state }) => state !== 'undone').map(({ step }) => step))
  const final = new Set<unknown>()
  const labelled = (wanted: Fate): readonly string[] =>
    countLabels([...effects.values()].filter(({ fate }) => fate === wanted).map(({ label }) => label))
  return {
    reach(step) {
      ahead.delete(step)
      return recorded.get(step)
    },
    isCatchingUp: () => ahead.size > 0,
    isFinished: (step) => recorded.get(step)?.state === 'finished',
    note: (step, { label, ...now }) => void effects.set(step, { label, fate: stepOutcome(now) }),
    hasEffect: () => effects.size > 0,
    ends(error) {
      final.add(error)
      return error
    },
    isFinal: (error) => errorCauses(error).some((cause) => final.has(cause)),
    account: () => ({ done: labelled('done'), unknown: labelled('unknown') }),
  }
}

type Fate = 'done' | 'unknown' | 'not done'
type Effect = { readonly label: string; readonly fate: Fate }

/** A tool that finished may have said itself that it failed, or that it cannot tell. */
function stepOutcome({ state, result }: Pick<RecordedStep, 'state' | 'result'>): Fate {
  if (state === 'undone') return 'not done'
  if (state !== 'finished') return 'unknown'
  const { success, metadata } = asFields(result)
  if (success !== false) return 'done'
  return asFields(metadata)['outcome'] === 'unknown' ? 'unknown' : 'not done'
}

/** An agent may wrap what it caught. */
function errorCauses(error: unknown): readonly unknown[] {
  const found: unknown[] = []
  for (let cause = error; cause !== undefined && found.length < 8; ) {
    found.push(cause)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return found
}

/** The same twice is said once, with how often. */
function countLabels(labels: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
  return [...counts].map(([label, count]) => (count === 1 ? label : `${label} (${count} times)`))
}
