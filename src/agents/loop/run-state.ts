// The state of a run. Mutable on purpose, private to the loop, gone with the run.
import type { Envelope } from '../../contract/gateway-events.ts'
import type { Fields } from '../../lib/json-value.ts'
import { type Budget, budgetDimension, createBudgets, type SharedBudgets } from './budget.ts'
import { noUsage } from './conversation-result.ts'
import { combineObservers, type LoopEventName, type LoopObserver, type LoopRecord } from './events.ts'
import type { LoopOptions, ResumePoint } from './options.ts'
import type { ToolAudit, ToolEvent, ToolExecution } from './tool-records.ts'

/** Why a run stopped other than naturally. Of several in one turn the stronger wins. */
export type Stop = {
  readonly status:
    | 'budget_exceeded'
    | 'stalled'
    | 'approval_required'
    | 'runtime_tool_pending'
    | 'interrupted'
    | 'failed'
    | 'transcript_lock_contention'
  readonly fields: Fields
}

const strength: readonly Stop['status'][] = [
  'budget_exceeded',
  'stalled',
  'approval_required',
  'runtime_tool_pending',
  'interrupted',
  'transcript_lock_contention',
  'failed',
]

export type RunState = {
  readonly messages: Envelope[]
  /** How many of them were there before this run. */
  readonly given: number
  readonly executions: ToolExecution[]
  readonly audits: ToolAudit[]
  readonly toolEvents: ToolEvent[]
  readonly records: LoopRecord[]
  readonly diagnostics: Fields[]
  /** What the model itself wrote, by `callIdAndParametersKey`, for its own eyes: the transcript holds the redacted form. */
  readonly rawParameters: Map<string, Fields>
  readonly budgets: ReadonlyMap<string, Budget>
  readonly within: SharedBudgets | undefined
  /** Used by agents that this run asked. */
  tokensElsewhere: number
  readonly startedAt: number
  /** What the wall clock budget had used before this run. */
  readonly secondsBefore: number
  usage: Readonly<Record<string, unknown>>
  requestMetadata: Fields
  metadata: Fields
  structured: { readonly parsed: unknown; readonly diagnostics?: Fields } | undefined
  turn: number
  /** Where the current turn's lines begin. */
  turnStart: number
  isComplete: boolean
  stop: Stop | undefined
  /** Calls of a batch that was paused, in their order; the first is the one it paused at. */
  waiting: { name: string; parameters: Fields; id?: string }[]
  /** The call a resumed run begins with: announced before the pause, and not again. */
  announced: string | undefined
  readonly emit: LoopObserver
}

export function createRunState(messages: readonly Envelope[], options: LoopOptions): RunState {
  const { resumeFrom } = options
  const maxTurns = Math.max(1, options.maxTurns ?? 1)
  const limits = options.budgets ?? []
  const hasTurns = limits.some((limit) => limit.name === 'turns')
  const budgets = createBudgets(hasTurns ? limits : [{ name: 'turns', ceiling: maxTurns }, ...limits])
  for (const [name, current] of Object.entries(resumeFrom?.budgets ?? {})) budgets.get(name)?.setCurrent(current)
  return {
    messages: [...messages],
    given: messages.length,
    executions: [],
    audits: [],
    toolEvents: [],
    records: [],
    diagnostics: [],
    rawParameters: new Map(),
    budgets,
    within: options.within,
    tokensElsewhere: countTokensBeforeResume(resumeFrom),
    startedAt: options.monotonicMs(),
    secondsBefore: budgets.get('wall_clock_seconds')?.current() ?? 0,
    usage: resumeFrom?.usage ?? noUsage,
    requestMetadata: {},
    metadata: {},
    structured: undefined,
    turn: resumeFrom?.turn ?? 0,
    turnStart: messages.length,
    isComplete: false,
    stop: undefined,
    waiting: [...(resumeFrom?.waitingCalls ?? [])],
    announced: resumeFrom?.waitingCalls[0]?.id,
    emit: combineObservers(options.observers ?? []),
  }
}

/** What a paused run had used beyond its own usage. */
function countTokensBeforeResume(resumeFrom: ResumePoint | undefined): number {
  return Math.max(0, (resumeFrom?.budgets['tokens'] ?? 0) - Number(resumeFrom?.usage['total_tokens'] ?? 0))
}

/** Some providers count their calls anew in every answer: the id alone would give an earlier call the later arguments. */
export function callIdAndParametersKey(metadata: Fields): string {
  return `${metadata['tool_call_id']} ${metadata['parameters_sha256']}`
}

/** It waits for a person or a client and can go on. */
export function isPaused({ stop }: RunState): boolean {
  return stop?.status === 'approval_required' || stop?.status === 'runtime_tool_pending'
}

export function toResumePoint(state: RunState): ResumePoint {
  const used = [...state.budgets.values()].map((budget) => [budget.name, budget.current()] as const)
  return { turn: state.turn, usage: state.usage, budgets: Object.fromEntries(used), waitingCalls: state.waiting }
}

export function stopRun(state: RunState, stop: Stop): void {
  const before = state.stop === undefined ? -1 : strength.indexOf(state.stop.status)
  if (strength.indexOf(stop.status) >= before) state.stop = stop
}

/** Counts one more; true: the ceiling is reached, the run stops and says so. */
export function spendAndStopIfExceeded(state: RunState, name: string): boolean {
  const budget = state.budgets.get(name)
  budget?.increment()
  const above = state.within?.spend(name, 1)
  return stopIfBudgetExceeded(state, budget) || stopIfBudgetExceeded(state, above)
}

export function stopIfBudgetExceeded(state: RunState, budget: Budget | undefined): boolean {
  if (budget === undefined || !budget.isExceeded()) return false
  const { name, ceiling } = budget
  state.emit('budget_exceeded', { budget: name, dimension: budgetDimension(name), current: budget.current(), ceiling })
  stopRun(state, { status: 'budget_exceeded', fields: { budget: name } })
  return true
}

/** An event that observers see and the result keeps. */
export function recordLoopEvent(state: RunState, type: LoopEventName, metadata: Fields): void {
  state.records.push({ type, metadata })
  state.emit(type, metadata)
}
