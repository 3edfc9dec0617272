// Hop 7's loop: turn after turn until the model is done, a person says stop, or a budget is spent.
// It holds nothing between runs; what must survive a crash is journaled by the model and the tools it is given.
import { GatewayError, isGatewayError } from '../../contract/index.ts'
import { normalizeMessages } from '../messages/normalize.ts'
import type { Budget } from './budget.ts'
import { endRun, failRun } from './end-run.ts'
import { markRunCancelled, stopIfCancelled } from './interrupts.ts'
import type { LoopOptions } from './options.ts'
import type { ConversationResult } from './result.ts'
import { createRunState, markBudgetExceeded, type RunState, stopRun } from './run-state.ts'
import { shareBudgets } from './share-budgets.ts'
import { takeModelTurn } from './take-model-turn.ts'

/** Broken invariants of the gateway: the turn decides about them, not the run. */
const spineCodes: ReadonlySet<string> = new Set([
  'lease_lost',
  'stopping',
  'storage_unavailable',
  'provider_unavailable',
  'turn_deadline',
])

export async function runLoop(input: readonly unknown[], options: LoopOptions): Promise<ConversationResult> {
  refuseContradictions(options)
  const state = createRunState(normalizeMessages(input), options)
  reportDeclarations(state, options)
  options.onBudgets?.(shareBudgets(state, options, () => void countTime(state, options)))
  const refusal = await options.runControl?.start()
  if (refusal !== undefined) {
    // The run belongs to another process: it is neither finished nor persisted by us.
    failRun(state, { type: 'run_control', ...refusal })
    return endRun(state, {})
  }
  const token = await acquireTranscriptLock(options)
  if (token === null) {
    state.emit('transcript_lock_contention', { session_id: options.sessionId })
    stopRun(state, { status: 'transcript_lock_contention', fields: {} })
    return endRun(state, { ...(options.runControl === undefined ? {} : { runControl: options.runControl }) })
  }
  try {
    await runTurns(state, options)
    return await endRun(state, options)
  } finally {
    if (token !== undefined) await options.lock?.release(options.sessionId, token).catch(() => {})
  }
}

async function runTurns(state: RunState, options: LoopOptions): Promise<void> {
  try {
    for (let goesOn = true; goesOn && !state.isComplete && state.stop === undefined; ) {
      if (isOutOfTime(state, options) || (await stopIfCancelled(state, options))) return
      goesOn = await takeModelTurn(state, options)
    }
  } catch (error) {
    if (isGatewayError(error, 'run_cancelled')) return markRunCancelled(state, options)
    if (isGatewayError(error) && spineCodes.has(error.code)) throw error
    options.onException?.(error)
    failRun(state, describeThrown(error))
  }
}

/** Asked before a turn begins; a turn that runs is bounded by its own deadline. */
function isOutOfTime(state: RunState, options: LoopOptions): boolean {
  return markBudgetExceeded(state, countTime(state, options)) || markBudgetExceeded(state, state.within?.spent())
}

function countTime(state: RunState, { monotonicMs }: LoopOptions): Budget | undefined {
  const budget = state.budgets.get('wall_clock_seconds')
  budget?.setCurrent(state.secondsBefore + Math.floor((monotonicMs() - state.startedAt) / 1000))
  return budget
}

function describeThrown(error: unknown): { type: string; message: string; code?: string } {
  if (isGatewayError(error)) return { type: error.code, message: error.message, code: error.code }
  if (!(error instanceof Error)) return { type: 'error', message: String(error) }
  return { type: error.name, message: error.message }
}

function refuseContradictions({ structuredOutput, tools, onDelta }: LoopOptions): void {
  const isMixed = (tools?.declarations.size ?? 0) > 0 || onDelta !== undefined
  if (structuredOutput === undefined || !isMixed) return
  throw new GatewayError(
    'config_invalid',
    'invalid_agent_structured_output_request: structured output goes with neither tools nor streaming',
  )
}

function reportDeclarations(state: RunState, { tools }: LoopOptions): void {
  if (tools === undefined || tools.rejected.length === 0) return
  const rejected = { rejected: tools.rejected, rejected_count: tools.rejected.length }
  state.emit('tool_declarations_rejected', { ...rejected, accepted_count: tools.declarations.size })
  if (tools.declarations.size === 0)
    state.emit('tool_mediation_disabled', { reason: 'all_declarations_rejected', ...rejected })
}

async function acquireTranscriptLock({
  lock,
  sessionId,
  lockTtlSeconds = 300,
}: LoopOptions): Promise<string | null | undefined> {
  if (lock === undefined) return undefined
  const token = await lock.acquire(sessionId, Math.max(1, lockTtlSeconds))
  return token === '' ? null : token
}
