// How a run ended, as its row keeps it: counts and names, never what was said.
import { addUsage, type ConversationResult } from '../agent/loop/result.ts'
import type { StopCause } from '../agent/run-stop.ts'
import type { JsonObject } from '../contract/index.ts'
import type { RunEnd, TurnEnd } from '../db/turn-rows.ts'

/** The end of an agent that is a plain function: it returned, and nothing was counted. */
export const naturalEnd: RunEnd = { status: 'completed', stopReason: 'natural', usage: {}, budgets: {}, summary: {} }

export function stoppedEnd(cause: StopCause): RunEnd {
  const status = cause === 'interrupt' ? 'interrupted' : 'cancelled'
  return { ...naturalEnd, status, stopReason: status }
}

/** Undefined: it waits for nothing. */
export function pausedEnd({ actions, requests }: Pick<TurnEnd, 'actions' | 'requests'>): RunEnd | undefined {
  if (actions.length === 0 && requests.length === 0) return undefined
  const status = actions.length > 0 ? 'approval_required' : 'runtime_tool_pending'
  return { ...naturalEnd, status, stopReason: status }
}

export function runEnd(result: ConversationResult, cause: StopCause | undefined): RunEnd {
  const { status, stop_reason } = result.run_outcome
  const ended =
    status === 'interrupted' && cause !== undefined ? stoppedEnd(cause) : { status, stopReason: stop_reason }
  return {
    status: ended.status,
    stopReason: ended.stopReason,
    usage: cloneAsJsonObject(result.usage),
    budgets: cloneAsJsonObject(result['budgets'] ?? {}),
    summary: cloneAsJsonObject({
      turn_count: result.turn_count,
      tool_observability: result.tool_observability,
      ...providerFacts(result),
      ...(result.failure === undefined ? {} : { failure_type: result.failure['type'] }),
    }),
  }
}

/** With what the agents used that it asked. */
export function withUsage(end: RunEnd, elsewhere: readonly JsonObject[]): RunEnd {
  return { ...end, usage: elsewhere.reduce((sum, used) => cloneAsJsonObject(addUsage(sum, used)), end.usage) }
}

/** Opaque to us; kept so that a provider can be asked about it. */
function providerFacts({ request_metadata }: ConversationResult): JsonObject {
  const known = ['provider', 'model', 'answered_by', 'provider_response_id'].map(
    (key) => [key, request_metadata[key]] as const,
  )
  return Object.fromEntries(known.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function cloneAsJsonObject(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value))
}
