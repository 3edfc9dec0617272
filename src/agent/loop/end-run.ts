// The end of a run: its result, whatever it came to, told to those that store and watch it.
import type { Envelope, Fields } from '../../contract/index.ts'
import type { LoopOptions } from './options.ts'
import { type ConversationResult, normalizeResult } from './result.ts'
import { isPaused, type RunState, resumePoint, stopRun } from './run-state.ts'

/** `message` may come from a provider: it is for the log and the operator, never for a chat. */
export function failRun(state: RunState, cause: { type: string; message: string } & Fields): void {
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

export async function endRun(
  state: RunState,
  options: Pick<LoopOptions, 'runControl' | 'persist' | 'onPause'>,
): Promise<ConversationResult> {
  const result = buildResult(state)
  const refusal = await options.runControl?.finish(result.run_outcome.status)
  if (refusal !== undefined) {
    failRun(state, { type: 'run_control', ...refusal })
    return buildResult(state)
  }
  if (isPaused(state)) options.onPause?.(resumePoint(state))
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
    final_content: finalContent(state.messages.slice(Math.max(state.turnStart, state.given))),
    turn_count: state.turn,
    completed: state.stop === undefined,
    tool_execution_results: state.executions,
    tool_audit_events: state.audits,
    tool_events: state.toolEvents,
    events: state.records,
    usage: state.usage,
    budgets: usedBudgets(state),
    request_metadata: state.requestMetadata,
    ...(Object.keys(state.metadata).length === 0 ? {} : { metadata: state.metadata }),
    ...(state.diagnostics.length === 0 ? {} : { provider_diagnostics: state.diagnostics }),
    ...(structured === undefined ? {} : { structured_output: structured.parsed }),
    ...(structured?.diagnostics === undefined ? {} : { structured_output_diagnostics: structured.diagnostics }),
    ...(state.stop === undefined ? {} : { status: state.stop.status, ...state.stop.fields }),
  })
}

function usedBudgets({ budgets }: RunState): Fields {
  const used = [...budgets.values()].map(
    (budget) => [budget.name, { current: budget.current(), limit: budget.ceiling }] as const,
  )
  return Object.fromEntries(used)
}

/** The last words of the last turn: narration of earlier turns and notes to the model are no answer. */
function finalContent(messages: readonly Envelope[]): string {
  const said = messages.findLast(
    ({ type, role, metadata }) => type === 'text' && role === 'assistant' && !metadata['hidden'],
  )
  return typeof said?.content === 'string' ? said.content : ''
}
