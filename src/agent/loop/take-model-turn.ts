// One turn: the model is asked, what it wants done is done, and whether to go on is decided. Natural completion comes
// first, budgets after it.
import { type Envelope, type Fields, GatewayError } from '../../contract/index.ts'
import { textLine } from '../messages/create.ts'
import { normalizeMessages } from '../messages/normalize.ts'
import { besideResults, pruneOrphans } from '../messages/pairs.ts'
import { modelDeclaration } from '../tools/model-schema.ts'
import { failRun } from './end-run.ts'
import { hearInterrupts, stopIfCancelled } from './interrupts.ts'
import { runToolBatch } from './mediate-batch.ts'
import type { ModelRequest, ModelTurn } from './model.ts'
import type { LoopOptions } from './options.ts'
import { addUsage } from './result.ts'
import { callKey, markBudgetExceeded, type RunState, recordEvent, spendBudget, stopRun } from './run-state.ts'

/** False: the run ends here. */
export async function takeModelTurn(state: RunState, options: LoopOptions): Promise<boolean> {
  const isResumed = state.waiting.length > 0
  if (!isResumed) state.turn += 1
  const context = { ...options.context, turn: state.turn }
  const turn = isResumed ? waitingTurn(state) : await askModel(state, options, context)
  if (turn === undefined) return false
  const wish = await runRequestedCalls(state, options, turn, context)
  if (isRunFinished(state)) return false
  const hasHeard = await hearInterrupts(state, options, context)
  if (isRunFinished(state)) return false
  // What came in meanwhile is in the transcript now: a run that ended here would leave it unanswered.
  const isHeldOpen = hasHeard || wish === 'must'
  const goesOn = isHeldOpen || ((await options.shouldContinue?.({ ...turn }, context)) ?? wish === 'may')
  return goesOn && !isOutOfTokens(state) && !spendBudget(state, 'turns')
}

/** Asked before the model is asked again; a turn that ends by itself needs no more tokens. */
function isOutOfTokens(state: RunState): boolean {
  const budget = state.budgets.get('tokens')
  budget?.setCurrent(Number(state.usage['total_tokens'] ?? 0) + state.tokensElsewhere)
  return markBudgetExceeded(state, budget)
}

/** What a turn wants next: another one for sure, another one unless a completion policy or a person objects, or none. */
type Wish = 'must' | 'may' | 'none'

function isRunFinished(state: RunState): boolean {
  return state.isComplete || state.stop !== undefined
}

/** The calls a paused run left behind, as if the model had just asked for them. */
function waitingTurn(state: RunState): ModelTurn {
  return { tool_calls: state.waiting }
}

async function askModel(state: RunState, options: LoopOptions, context: Fields): Promise<ModelTurn | undefined> {
  const maxTurns = state.budgets.get('turns')?.ceiling ?? 1
  state.emit('turn_started', { turn: state.turn, max_turns: maxTurns, message_count: state.messages.length })
  state.turnStart = state.messages.length
  const turn = await keptModelTurn(state, options, context)
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
async function keptModelTurn(state: RunState, options: LoopOptions, context: Fields): Promise<ModelTurn> {
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
    messages: besideResults(pruneOrphans(restoreRawParameters(state, view?.messages ?? state.messages)).messages),
    tools: [...(options.tools?.declarations.values() ?? [])].map(modelDeclaration),
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
    const raw = message.type === 'tool_call' && state.rawParameters.get(callKey(message.metadata))
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
  adoptTurnOutput(state, turn)
  // A paused call gets its result also when its tools are gone meanwhile.
  const hasTools = tools !== undefined && (tools.declarations.size > 0 || state.announced !== undefined)
  if (!hasTools || !Array.isArray(calls)) return addContinuations(state, turn) ? 'may' : 'none'
  await runToolBatch(state, options, tools, calls, context)
  const hasMore = addContinuations(state, turn)
  const stalled = options.spinGuard?.stalled()
  if (stalled !== undefined) {
    state.emit('loop_stalled', { ...stalled, turn: state.turn })
    stopRun(state, { status: 'stalled', fields: { stalled: { ...stalled, turn: state.turn } } })
  }
  if (isRunFinished(state) || calls.length > 0 || hasMore) return 'may'
  return isHeldOpen(state, options) ? 'must' : 'none'
}

/** A run that wants to end before what its rules demand gets one more turn, within its budget. */
function isHeldOpen(state: RunState, options: LoopOptions): boolean {
  const blocked = options.completionGate?.(state.messages)
  if (blocked === undefined) {
    state.isComplete = true
    return false
  }
  const text = `COMPLETION BLOCKED: ${String(blocked['message'] ?? 'required tools have not been used yet.')}`
  state.messages.push(textLine('user', text, { type: 'tool_call_gate_completion_blocked', hidden: true }))
  recordEvent(state, 'tool_call_gate_completion_blocked', { ...blocked, turn: state.turn })
  return true
}

/** Text is kept always; a model that returns no transcript does not lose the one there is. */
function adoptTurnOutput(state: RunState, turn: ModelTurn): void {
  if (turn.messages !== undefined) state.messages.splice(0, state.messages.length, ...normalizeMessages(turn.messages))
  const { content } = turn
  if (typeof content === 'string' && content !== '' && !isAlreadySaid(state, content))
    state.messages.push(textLine('assistant', content))
}

function isAlreadySaid(state: RunState, content: string): boolean {
  const last = state.messages.at(-1)
  return last?.role === 'assistant' && last.content === content && state.messages.length > state.turnStart
}

function addContinuations(state: RunState, turn: ModelTurn): boolean {
  const more = normalizeMessages(turn.continuation_messages ?? [])
  for (const message of more) {
    state.messages.push(message)
    recordEvent(state, 'continuation_message_added', { turn: state.turn, role: message.role })
  }
  return more.length > 0
}
