// ctx.step: an effect that happens once, journaled. Started is committed before it, finished after it.

import type { StepContext, StepOptions } from '../contract/remote-agent.ts'
import type { StoreWithRetry } from '../contract/store-result.ts'
import type { JournalStore, RecordedStep, StepAddress, StepEnd, StepState } from '../db/journal.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { asFields, sortedJson } from '../lib/index.ts'
import type { Json } from '../lib/json-value.ts'
import type { AgentContext } from './context.ts'

export type StepDeps = {
  readonly journal: JournalStore
  readonly turn: Pick<StepAddress, 'conversationId' | 'epoch' | 'turnId' | 'journalTurn'>
  /** What this turn has done so far, in this try and before. */
  readonly log: StepLog
  readonly assertHeld: () => void
  /** Waits until the lease is safely ours; rejects when it is lost. */
  readonly untilHeld: () => Promise<void>
  /** Waits for a database that is away: what a step came to is not thrown away. */
  readonly store: StoreWithRetry
  readonly isStopping: () => boolean
  readonly signal: AbortSignal
  /** `onSend` is told right before the first byte of a request leaves. */
  readonly fetch: (onSend: () => void) => typeof fetch
  readonly hash: (text: string) => Promise<string>
  /** The run was stopped: marks it here too, and says how the step ends. */
  readonly onStopped: (by: string) => GatewayError
  /** What the work of a step threw, unless that says how the turn stands. */
  readonly onThrown?: (error: unknown, label: string) => void
  readonly failpoint?: (name: string) => void | Promise<void>
}

export type Steps = Pick<AgentContext, 'step' | 'isFinished'> & {
  /**
   * The run is over: no step begins any more, and those under way come to their end, unless the turn is broken off. Without it a
   * branch that the agent did not wait for would act after the turn has said what it did.
   */
  readonly close: () => Promise<void>
}

/** Whether the run goes on, and what of it is under way. */
type Running = { isOver: boolean; readonly steps: Set<Promise<unknown>> }

/**
 * Steps are told apart by their name and arguments; steps alike in both by how often they came before: the order of a
 * resumed try is the order of the run. What an earlier try of the same turn finished is read back.
 */
export function createJournaledSteps(deps: StepDeps): Steps {
  const uses = new Map<string, number>()
  const running: Running = { isOver: false, steps: new Set() }
  const countStepUses = (name: string, { args }: StepOptions): number => uses.get(stepIdentity(name, args)) ?? 0
  return {
    async isFinished(name, options = {}) {
      return deps.log.isFinished(await stepName(deps, name, countStepUses(name, options) + 1, options))
    },
    async step(name, work, options = {}) {
      // Counted before anything is awaited: steps alike get their numbers in the order they were asked for.
      const use = countStepUses(name, options) + 1
      uses.set(stepIdentity(name, options.args), use)
      const address = { ...deps.turn, step: await stepName(deps, name, use, options) }
      throwIfStopping(deps)
      const known = deps.log.reach(address.step)
      // The journal holds what this very step returned; its type is the caller's.
      if (known?.state === 'finished') return sortedJson(known.result) as Awaited<ReturnType<typeof work>>
      if (running.isOver) throw runIsOverError()
      if (options.effect === false) return runStepWithoutEffect(deps, address, work)
      const mayHaveActed = known !== undefined && known.state !== 'undone'
      const label = options.label ?? name
      const effect = runJournaledEffect(deps, address, work, { ...options, label, mayHaveActed, running })
      running.steps.add(effect)
      // The caller of the step hears of its failure.
      const forgetRunningStep = (): void => void running.steps.delete(effect)
      effect.then(forgetRunningStep, forgetRunningStep)
      return effect as ReturnType<typeof work>
    },
    async close() {
      running.isOver = true
      const { signal } = deps
      if (signal.aborted || running.steps.size === 0) return
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await Promise.race([Promise.allSettled(running.steps), aborted])
    },
  }
}

type Work = Parameters<AgentContext['step']>[1]
type EffectOptions = StepOptions & {
  readonly label: string
  /** An earlier try began it: that this one does nothing does not undo it. */
  readonly mayHaveActed: boolean
  readonly running: Running
}

/** It changes nothing outside, so that it began need not be known: one row with its result. */
async function runStepWithoutEffect<T extends Json>(deps: StepDeps, address: StepAddress, work: Work): Promise<T> {
  await deps.failpoint?.('before:effect')
  await deps.untilHeld()
  const startedAt = performance.now()
  const end = await runStepWork(deps, createStepContext(deps, address, trackStepRequests(deps.fetch)), work)
  const tookMs = performance.now() - startedAt
  if ('thrown' in end) {
    const state = isErrorWithoutEffect(end.thrown) ? 'undone' : 'failed'
    await storeStepEnd(deps, address, { state, error: errorName(end.thrown) }, tookMs)
    throw end.thrown
  }
  await deps.failpoint?.('after:effect')
  await requireStepWritten(storeStepEnd(deps, address, { state: 'finished', result: end.result }, tookMs))
  await deps.failpoint?.('after:step')
  return end.result as T
}

async function runJournaledEffect<T extends Json>(
  deps: StepDeps,
  address: StepAddress,
  work: Work,
  { label, idempotent = false, mayHaveActed, running }: EffectOptions,
): Promise<T> {
  const state = await beginJournaledStep(deps, address, { isIdempotent: idempotent, label })
  switch (state.kind) {
    case 'run':
      if (running.isOver) {
        await storeStepEnd(deps, address, { state: mayHaveActed ? 'failed' : 'undone', error: 'run_is_over' })
        throw runIsOverError()
      }
      return runStep(deps, address, work, { label, isIdempotent: idempotent, mayHaveActed })
    case 'finished':
      return sortedJson(state.result) as T
    case 'unknown':
      throw deps.log.ends(unknownStepOutcomeError(label, state.error))
    case 'stopped':
      throw deps.onStopped(state.by)
    case 'lease_lost':
      throw new GatewayError('lease_lost', '[agent] the lane has moved on to another holder; this turn stops here')
  }
}

/** Nothing has happened yet: while the database is away, or the lease is not renewed, the step waits. */
function beginJournaledStep(
  deps: StepDeps,
  address: StepAddress,
  how: Parameters<JournalStore['begin']>[1],
): Promise<StepState> {
  return deps.store(undefined, async () => {
    await deps.untilHeld()
    throwIfStopping(deps)
    return deps.journal.begin(address, how)
  })
}

function throwIfStopping({ isStopping }: StepDeps): void {
  if (isStopping()) throw new GatewayError('stopping', '[agent] stopped between two steps; the next holder goes on')
}

async function runStep<T extends Json>(
  deps: StepDeps,
  address: StepAddress,
  work: Work,
  { label, isIdempotent, mayHaveActed }: Pick<EffectOptions, 'label' | 'mayHaveActed'> & { isIdempotent: boolean },
): Promise<T> {
  const logStep = (state: 'started' | StepEnd['state'], result: Json = null): void =>
    deps.log.note(address.step, { label, state, result })
  logStep('started')
  await deps.failpoint?.('before:effect')
  await deps.untilHeld()
  const sends = trackStepRequests(deps.fetch)
  const end = await runStepWork(deps, createStepContext(deps, address, sends), work)
  if ('thrown' in end) {
    const isSafe = isErrorWithoutEffect(end.thrown) || sends.isUnsent()
    const state = isSafe && !mayHaveActed ? 'undone' : 'failed'
    await storeStepEnd(deps, address, { state, error: errorName(end.thrown) })
    deps.onThrown?.(end.thrown, label)
    logStep(state)
    throw isSafe || isIdempotent ? end.thrown : deps.log.ends(end.thrown)
  }
  await deps.failpoint?.('after:effect')
  await requireStepWritten(storeStepEnd(deps, address, { state: 'finished', result: end.result }))
  logStep('finished', end.result)
  await deps.failpoint?.('after:step')
  return end.result as T
}

/** What was thrown comes back as a value, unless the turn broke the work off: the journal must go on saying that it was begun. */
async function runStepWork(
  deps: StepDeps,
  context: StepContext,
  work: Work,
): Promise<{ readonly result: Json } | { readonly thrown: unknown }> {
  try {
    // The journal keeps no order of keys. What was just made must equal what a replay reads, also as text: a later step whose
    // arguments are made of it would be another step after a crash, and its effect would be made twice.
    return { result: sortedJson(await work(context)) }
  } catch (error) {
    if (deps.signal.aborted) throw error
    return { thrown: error }
  }
}

/**
 * Under one epoch a step ends once: the same again changes nothing, and another epoch's row is not touched. `tookMs`: of a step
 * without effect, which was not begun before.
 */
function storeStepEnd(
  { journal, store }: StepDeps,
  address: StepAddress,
  end: StepEnd,
  tookMs?: number,
): Promise<boolean> {
  const { turnId: turn, conversationId: conversation, epoch } = address
  const what = { turn, conversation, epoch, reason: 'step', state: end.state }
  return store(what, () => (tookMs === undefined ? journal.finish(address, end) : journal.record(address, end, tookMs)))
}

async function requireStepWritten(writing: Promise<boolean>): Promise<void> {
  if (await writing) return
  throw new GatewayError('lease_lost', '[agent] the lane moved on while a step ran; its result was not recorded')
}

function createStepContext(
  { signal, assertHeld }: StepDeps,
  { journalTurn, step }: StepAddress,
  sends: Pick<StepContext, 'fetch' | 'isUnsent'>,
): StepContext {
  return { key: `${journalTurn}:${step}`, signal, assertHeld, ...sends }
}

/** Two failures say that nothing happened: an outage, which the turn waits out, and a stop that broke off a model's answer. */
function isErrorWithoutEffect(error: unknown): boolean {
  return isGatewayError(error, 'provider_unavailable') || isGatewayError(error, 'run_cancelled')
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : 'error'
}

function runIsOverError(): GatewayError {
  return new GatewayError('stopping', '[agent] its run is over; no step begins any more')
}

function unknownStepOutcomeError(label: string, error: string | null): GatewayError {
  const what = error === null ? 'was interrupted' : `failed before (${error})`
  return new GatewayError('tool_outcome_unknown', `[agent] step ${label} ${what}; it may or may not have happened`, {
    details: { step: label },
  })
}

/** A step's own requests: whether it made some, and none of them got as far as its first byte. */
function trackStepRequests(open: StepDeps['fetch']): Pick<StepContext, 'fetch' | 'isUnsent'> {
  let hasAsked = false
  let hasSent = false
  const fetch = open(() => {
    hasSent = true
  })
  return {
    fetch(input, init) {
      hasAsked = true
      return fetch(input, init)
    },
    isUnsent: () => hasAsked && !hasSent,
  }
}

function stepIdentity(name: string, args: Json | undefined): string {
  return JSON.stringify([name, args ?? null])
}

async function stepName(
  deps: Pick<StepDeps, 'hash'>,
  name: string,
  use: number,
  { args }: StepOptions,
): Promise<string> {
  const step = args === undefined ? name : `${name}:${(await deps.hash(stepIdentity(name, args))).slice(0, 16)}`
  return use === 1 ? step : `${step}#${use}`
}

// What a turn has done so far, in this try and in those before, says whether it may be split, and what its apology says.

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
    if (row.isEffect) effects.set(row.step, { label: row.label ?? row.step, outcome: readStepOutcome(row) })
  const ahead = new Set(past.filter(({ state }) => state !== 'undone').map(({ step }) => step))
  const final = new Set<unknown>()
  const listLabelsByOutcome = (wanted: StepOutcome): readonly string[] =>
    mergeRepeatedLabels([...effects.values()].filter(({ outcome }) => outcome === wanted).map(({ label }) => label))
  return {
    reach(step) {
      ahead.delete(step)
      return recorded.get(step)
    },
    isCatchingUp: () => ahead.size > 0,
    isFinished: (step) => recorded.get(step)?.state === 'finished',
    note: (step, { label, ...now }) => void effects.set(step, { label, outcome: readStepOutcome(now) }),
    hasEffect: () => effects.size > 0,
    ends(error) {
      final.add(error)
      return error
    },
    isFinal: (error) => errorCauses(error).some((cause) => final.has(cause)),
    account: () => ({ done: listLabelsByOutcome('done'), unknown: listLabelsByOutcome('unknown') }),
  }
}

type StepOutcome = 'done' | 'unknown' | 'not done'
type Effect = { readonly label: string; readonly outcome: StepOutcome }

/** A tool that finished may have said itself that it failed, or that it cannot tell. */
function readStepOutcome({ state, result }: Pick<RecordedStep, 'state' | 'result'>): StepOutcome {
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
function mergeRepeatedLabels(labels: readonly string[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
  return [...counts].map(([label, count]) => (count === 1 ? label : `${label} (${count} times)`))
}
