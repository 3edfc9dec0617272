// The agent loop: turn after turn until the model is done, a person says stop, or a budget is spent. It holds nothing between
// runs; what must survive a crash is journaled by the model and the tools it is given.

import type { Envelope } from '../../contract/gateway-events.ts'
import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import type { Fields } from '../../lib/json-value.ts'
import { moveCallsBesideResults, normalizeMessages, removeOrphanToolLines, textEnvelope } from '../messages.ts'
import type { ModelRequest, ModelTurn } from '../models/model.ts'
import { declarationForModel } from '../tools/parameters.ts'
import { type Budget, createSharedBudgets } from './budget.ts'
import { addUsage, type ConversationResult, normalizeResult } from './conversation-result.ts'
import { applyPendingInterrupt, markRunCancelled, stopIfCancelled } from './interrupts.ts'
import type { LoopOptions } from './options.ts'
import {
  callIdAndParametersKey,
  createRunState,
  isPaused,
  type RunState,
  recordLoopEvent,
  spendAndStopIfExceeded,
  stopIfBudgetExceeded,
  stopRun,
  toResumePoint,
} from './run-state.ts'
import { runToolBatch } from './tool-batch.ts'

/** Broken invariants of the gateway: the turn decides about them, not the run. */
const spineCodes: ReadonlySet<string> = new Set([
  'lease_lost',
  'stopping',
  'storage_unavailable',
  'provider_unavailable',
  'turn_deadline',
])

export async function runLoop(input: readonly unknown[], options: LoopOptions): Promise<ConversationResult> {
  refuseStructuredOutputWithTools(options)
  const state = createRunState(normalizeMessages(input), options)
  reportRejectedToolDeclarations(state, options)
  options.onBudgets?.(createSharedBudgets(state, options.budgets ?? [], () => void updateTimeBudget(state, options)))
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
      if (stopIfOutOfTime(state, options) || (await stopIfCancelled(state, options))) return
      goesOn = await takeModelTurn(state, options)
    }
  } catch (error) {
    if (isGatewayError(error, 'run_cancelled')) return markRunCancelled(state, options)
    if (isGatewayError(error) && spineCodes.has(error.code)) throw error
    options.onException?.(error)
    failRun(state, thrownToFailure(error))
  }
}

/** Asked before a turn begins; a turn that runs is bounded by its own deadline. */
function stopIfOutOfTime(state: RunState, options: LoopOptions): boolean {
  return (
    stopIfBudgetExceeded(state, updateTimeBudget(state, options)) || stopIfBudgetExceeded(state, state.within?.spent())
  )
}

function updateTimeBudget(state: RunState, { monotonicMs }: LoopOptions): Budget | undefined {
  const budget = state.budgets.get('wall_clock_seconds')
  budget?.setCurrent(state.secondsBefore + Math.floor((monotonicMs() - state.startedAt) / 1000))
  return budget
}

function thrownToFailure(error: unknown): { type: string; message: string; code?: string } {
  if (isGatewayError(error)) return { type: error.code, message: error.message, code: error.code }
  if (!(error instanceof Error)) return { type: 'error', message: String(error) }
  return { type: error.name, message: error.message }
}

function refuseStructuredOutputWithTools({ structuredOutput, tools, onDelta }: LoopOptions): void {
  const isMixed = (tools?.declarations.size ?? 0) > 0 || onDelta !== undefined
  if (structuredOutput === undefined || !isMixed) return
  throw new GatewayError(
    'config_invalid',
    'invalid_agent_structured_output_request: structured output goes with neither tools nor streaming',
  )
}

function reportRejectedToolDeclarations(state: RunState, { tools }: LoopOptions): void {
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

// A run ends with a result, whatever it came to; stores and observers are told.

/** `message` may come from a provider: it is for the log and the operator, never for a chat. */
function failRun(state: RunState, cause: { type: string; message: string } & Fields): void {
  const message = cause.message === '' ? 'Provider turn failed.' : cause.message
  stopRun(state, { status: 'failed', fields: { failure: { ...cause, message, turn_count: state.turn } } })
  state.emit('failed', {
    turn: state.turn,
    error: message,
    type: cause.type,
    status: 'failed',
    stop_reason: 'provider_error',
  })
}

async function endRun(
  state: RunState,
  options: Pick<LoopOptions, 'runControl' | 'persist' | 'onPause'>,
): Promise<ConversationResult> {
  const result = buildResult(state)
  const refusal = await options.runControl?.finish(result.run_outcome.status)
  if (refusal !== undefined) {
    failRun(state, { type: 'run_control', ...refusal })
    return buildResult(state)
  }
  if (isPaused(state)) options.onPause?.(toResumePoint(state))
  // A host's own persister may fail without harm to the run; ours is the commit of the turn.
  await persistResult(options.persist, result)
  if (state.stop?.status !== 'failed' && state.stop?.status !== 'transcript_lock_contention') {
    const facts = { message_count: state.messages.length, tool_results: state.executions.length }
    // Every end but a failure is told by this event; how it ended is in it, so that no reader takes a stop for an answer.
    const { status, stop_reason } = result.run_outcome
    state.emit('completed', { turn: state.turn, ...facts, status, stop_reason })
  }
  return result
}

async function persistResult(persist: LoopOptions['persist'], result: ConversationResult): Promise<void> {
  try {
    await persist?.(result)
  } catch {
    // A persister that keeps a copy does not decide about the run.
  }
}

function buildResult(state: RunState): ConversationResult {
  const structured = state.structured
  return normalizeResult({
    messages: state.messages,
    final_content: findFinalText(state.messages.slice(Math.max(state.turnStart, state.given))),
    turn_count: state.turn,
    completed: state.stop === undefined,
    tool_execution_results: state.executions,
    tool_audit_events: state.audits,
    tool_events: state.toolEvents,
    events: state.records,
    usage: state.usage,
    budgets: budgetsToJson(state),
    request_metadata: state.requestMetadata,
    ...(Object.keys(state.metadata).length === 0 ? {} : { metadata: state.metadata }),
    ...(state.diagnostics.length === 0 ? {} : { provider_diagnostics: state.diagnostics }),
    ...(structured === undefined ? {} : { structured_output: structured.parsed }),
    ...(structured?.diagnostics === undefined ? {} : { structured_output_diagnostics: structured.diagnostics }),
    ...(state.stop === undefined ? {} : { status: state.stop.status, ...state.stop.fields }),
  })
}

function budgetsToJson({ budgets }: RunState): Fields {
  const used = [...budgets.values()].map(
    (budget) => [budget.name, { current: budget.current(), limit: budget.ceiling }] as const,
  )
  return Object.fromEntries(used)
}

/** The last words of the last turn: narration of earlier turns and notes to the model are no answer. */
function findFinalText(messages: readonly Envelope[]): string {
  const said = messages.findLast(
    ({ type, role, metadata }) => type === 'text' && role === 'assistant' && !metadata['hidden'],
  )
  return typeof said?.content === 'string' ? said.content : ''
}

// One model turn: the model is asked, its tool calls are run, and whether to go on is decided. Natural completion comes
// first, budgets after it.

/** False: the run ends here. */
async function takeModelTurn(state: RunState, options: LoopOptions): Promise<boolean> {
  const isResumed = state.waiting.length > 0
  if (!isResumed) state.turn += 1
  const context = { ...options.context, turn: state.turn }
  const turn = isResumed ? createTurnFromWaitingCalls(state) : await askModel(state, options, context)
  if (turn === undefined) return false
  const wish = await runRequestedCalls(state, options, turn, context)
  if (isRunFinished(state)) return false
  const hasHeard = await applyPendingInterrupt(state, options, context)
  if (isRunFinished(state)) return false
  // What came in meanwhile is in the transcript now: a run that ended here would leave it unanswered.
  const isHeldOpen = hasHeard || wish === 'must'
  const goesOn = isHeldOpen || ((await options.shouldContinue?.({ ...turn }, context)) ?? wish === 'may')
  return goesOn && !stopIfOutOfTokens(state) && !spendAndStopIfExceeded(state, 'turns')
}

/** Asked before the model is asked again; a turn that ends by itself needs no more tokens. */
function stopIfOutOfTokens(state: RunState): boolean {
  const budget = state.budgets.get('tokens')
  budget?.setCurrent(Number(state.usage['total_tokens'] ?? 0) + state.tokensElsewhere)
  return stopIfBudgetExceeded(state, budget)
}

/** What a turn wants next: another one for sure, another one unless a completion policy or a person objects, or none. */
type Wish = 'must' | 'may' | 'none'

function isRunFinished(state: RunState): boolean {
  return state.isComplete || state.stop !== undefined
}

/** The calls a paused run left behind, as if the model had just asked for them. */
function createTurnFromWaitingCalls(state: RunState): ModelTurn {
  return { tool_calls: state.waiting }
}

async function askModel(state: RunState, options: LoopOptions, context: Fields): Promise<ModelTurn | undefined> {
  const maxTurns = state.budgets.get('turns')?.ceiling ?? 1
  state.emit('turn_started', { turn: state.turn, max_turns: maxTurns, message_count: state.messages.length })
  state.turnStart = state.messages.length
  const turn = await askModelOrReplay(state, options, context)
  if (typeof turn !== 'object' || turn === null || Array.isArray(turn))
    throw new GatewayError('agent_failed', 'invalid_agent_conversation_loop: turn runner must return an array')
  // What a turn cost is counted, also when the run has ended meanwhile.
  recordTurnUsage(state, turn)
  if (turn.failure !== undefined) {
    failRun(state, { ...turn.failure, type: turn.failure.type || 'provider_turn_failure' })
    return undefined
  }
  return (await stopIfCancelled(state, options)) ? undefined : turn
}

/** The request, and with it any summary of what was said, is made only for a turn that the model is really asked for. */
async function askModelOrReplay(state: RunState, options: LoopOptions, context: Fields): Promise<ModelTurn> {
  const { keepTurn, model } = options
  if (keepTurn === undefined) return model(await modelRequest(state, options, context))
  return keepTurn(state.turn, async ({ offered, ...means }) => {
    const request = await modelRequest(state, options, context)
    const tools = request.tools.filter(({ name }) => offered?.includes(name) ?? true)
    return { answer: await model({ ...request, ...means, tools }), offered: tools.map(({ name }) => name) }
  })
}

async function modelRequest(state: RunState, options: LoopOptions, context: Fields): Promise<ModelRequest> {
  const view = await options.compact?.(state.messages)
  state.records.push(...(view?.events ?? []))
  const budgets = [...state.budgets.values()].map(
    (budget) => [budget.name, { current: budget.current(), limit: budget.ceiling }] as const,
  )
  return {
    // A call whose result never came, or came after other words, would be refused by every provider.
    messages: moveCallsBesideResults(
      removeOrphanToolLines(restoreRawParameters(state, view?.messages ?? state.messages)).messages,
    ),
    tools: [...(options.tools?.declarations.values() ?? [])].map(declarationForModel),
    ...(options.system === undefined ? {} : { system: options.system }),
    model: options.modelSettings ?? {},
    context,
    budgets: Object.fromEntries(budgets),
    runId: options.runId,
    sessionId: options.sessionId,
    turn: state.turn,
    ...(options.structuredOutput === undefined ? {} : { structuredOutput: options.structuredOutput }),
    signal: options.signal ?? new AbortController().signal,
    ...(options.onDelta === undefined ? {} : { onDelta: options.onDelta }),
  }
}

/** The model sees its own arguments as it wrote them; no other reader does. */
function restoreRawParameters(state: RunState, messages: readonly Envelope[]): readonly Envelope[] {
  return messages.map((message) => {
    const raw = message.type === 'tool_call' && state.rawParameters.get(callIdAndParametersKey(message.metadata))
    return raw ? { ...message, payload: { ...message.payload, parameters: raw } } : message
  })
}

function recordTurnUsage(state: RunState, turn: ModelTurn): void {
  const before = Number(state.usage['total_tokens'] ?? 0)
  state.usage = addUsage(state.usage, turn.usage ?? {})
  state.within?.spend('tokens', Number(state.usage['total_tokens'] ?? 0) - before)
  if (turn.request_metadata !== undefined) state.requestMetadata = turn.request_metadata
  state.metadata = { ...state.metadata, ...turn.metadata }
  if (turn.provider_diagnostics !== undefined) state.diagnostics.push(turn.provider_diagnostics)
  state.records.push(...(turn.events ?? []))
  if (turn.structured_output !== undefined) {
    if (!('parsed' in turn.structured_output))
      throw new GatewayError('agent_failed', 'invalid_agent_structured_output: parsed is missing')
    state.structured = turn.structured_output
  }
}

async function runRequestedCalls(
  state: RunState,
  options: LoopOptions,
  turn: ModelTurn,
  context: Fields,
): Promise<Wish> {
  const { tools } = options
  const calls = turn.tool_calls
  appendTurnOutput(state, turn)
  // A paused call gets its result also when its tools are gone meanwhile.
  const hasTools = tools !== undefined && (tools.declarations.size > 0 || state.announced !== undefined)
  if (!hasTools || !Array.isArray(calls)) return appendContinuationMessages(state, turn) ? 'may' : 'none'
  await runToolBatch(state, options, tools, calls, context)
  const hasMore = appendContinuationMessages(state, turn)
  const stalled = options.spinGuard?.stalled()
  if (stalled !== undefined) {
    state.emit('loop_stalled', { ...stalled, turn: state.turn })
    stopRun(state, { status: 'stalled', fields: { stalled: { ...stalled, turn: state.turn } } })
  }
  if (isRunFinished(state) || calls.length > 0 || hasMore) return 'may'
  return blockCompletionIfGated(state, options) ? 'must' : 'none'
}

/** A run that wants to end before what its rules demand gets one more turn, within its budget. */
function blockCompletionIfGated(state: RunState, options: LoopOptions): boolean {
  const blocked = options.completionGate?.(state.messages)
  if (blocked === undefined) {
    state.isComplete = true
    return false
  }
  const text = `COMPLETION BLOCKED: ${String(blocked['message'] ?? 'required tools have not been used yet.')}`
  state.messages.push(textEnvelope('user', text, { type: 'tool_call_gate_completion_blocked', hidden: true }))
  recordLoopEvent(state, 'tool_call_gate_completion_blocked', { ...blocked, turn: state.turn })
  return true
}

/** Text is kept always; a model that returns no transcript does not lose the one there is. */
function appendTurnOutput(state: RunState, turn: ModelTurn): void {
  if (turn.messages !== undefined) state.messages.splice(0, state.messages.length, ...normalizeMessages(turn.messages))
  const { content } = turn
  if (typeof content === 'string' && content !== '' && !isTextAlreadyInTranscript(state, content))
    state.messages.push(textEnvelope('assistant', content))
}

function isTextAlreadyInTranscript(state: RunState, content: string): boolean {
  const last = state.messages.at(-1)
  return last?.role === 'assistant' && last.content === content && state.messages.length > state.turnStart
}

function appendContinuationMessages(state: RunState, turn: ModelTurn): boolean {
  const more = normalizeMessages(turn.continuation_messages ?? [])
  for (const message of more) {
    state.messages.push(message)
    recordLoopEvent(state, 'continuation_message_added', { turn: state.turn, role: message.role })
  }
  return more.length > 0
}
