// How a run ended, as its row and its task's log keep it: counts and names, never what was said.
import { addUsage, type ConversationResult } from '../agents/loop/conversation-result.ts'
import type { StopCause } from '../agents/loop/interrupts.ts'
import type { QueuedCall } from '../contract/delivery.ts'
import { isKnownPart, type NormalizedResponse, type TaskState } from '../contract/index.ts'
import type { NewRunEvent, RunEnd, TurnEnd } from '../db/turn-rows.ts'
import type { JsonObject } from '../lib/index.ts'

/** The end of an agent that is a plain function: it returned, and nothing was counted. */
export const naturalEnd: RunEnd = { status: 'completed', stopReason: 'natural', usage: {}, budgets: {}, summary: {} }

export function runEndFromStopCause(cause: StopCause): RunEnd {
  const status = cause === 'interrupt' ? 'interrupted' : 'cancelled'
  return { ...naturalEnd, status, stopReason: status }
}

/** Undefined: it waits for nothing. */
export function toPausedEnd({ actions, requests }: Pick<TurnEnd, 'actions' | 'requests'>): RunEnd | undefined {
  if (actions.length === 0 && requests.length === 0) return undefined
  const status = actions.length > 0 ? 'approval_required' : 'runtime_tool_pending'
  return { ...naturalEnd, status, stopReason: status }
}

export function runEndFromLoopResult(result: ConversationResult, cause: StopCause | undefined): RunEnd {
  const { status, stop_reason } = result.run_outcome
  const ended =
    status === 'interrupted' && cause !== undefined ? runEndFromStopCause(cause) : { status, stopReason: stop_reason }
  return {
    status: ended.status,
    stopReason: ended.stopReason,
    usage: cloneAsJsonObject(result.usage),
    budgets: cloneAsJsonObject(result['budgets'] ?? {}),
    summary: cloneAsJsonObject({
      turn_count: result.turn_count,
      tool_observability: result.tool_observability,
      ...pickProviderMetadata(result),
      ...(result.failure === undefined ? {} : { failure_type: result.failure['type'] }),
    }),
  }
}

/** With what the agents used that it asked. */
export function addAgentCallUsage(end: RunEnd, remoteCaller: readonly JsonObject[]): RunEnd {
  return { ...end, usage: remoteCaller.reduce((sum, used) => cloneAsJsonObject(addUsage(sum, used)), end.usage) }
}

/** Opaque to us; kept so that a provider can be asked about it. */
function pickProviderMetadata({ request_metadata }: ConversationResult): JsonObject {
  const known = ['provider', 'model', 'answered_by', 'provider_response_id'].map(
    (key) => [key, request_metadata[key]] as const,
  )
  return Object.fromEntries(known.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

function cloneAsJsonObject(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value))
}

const byRun: Readonly<Record<string, TaskState>> = {
  approval_required: 'input_required',
  runtime_tool_pending: 'input_required',
  cancelled: 'cancelled',
  interrupted: 'cancelled',
  failed: 'failed',
}
const byReply: Readonly<Record<NormalizedResponse['status'], TaskState>> = {
  completed: 'completed',
  input_required: 'input_required',
  refused: 'rejected',
  failed: 'failed',
  cancelled: 'cancelled',
}
/** Policies that the asker can satisfy outside this gateway; the others are a no. */
const byPolicy: Readonly<Record<string, TaskState>> = {
  consent_required: 'input_required',
  payment_required: 'input_required',
  unauthorized: 'auth_required',
  forbidden: 'rejected',
  unavailable_for_legal_reasons: 'rejected',
}

export function taskStateAfterRun(reply: NormalizedResponse | undefined, runStatus: string): TaskState {
  const paused = byRun[runStatus]
  if (paused !== undefined) return paused
  if (reply === undefined || reply.status === 'completed') return 'completed'
  for (const part of reply.parts) {
    const state = isKnownPart(part) && part.kind === 'policy' ? byPolicy[part.policy.kind] : undefined
    if (state !== undefined) return state
  }
  return byReply[reply.status]
}

/** Calls that are delivered by being written down: their events stand behind everything the run said before. */
export function listAppendedEvents(calls: readonly QueuedCall[], state: TaskState | null): readonly NewRunEvent[] {
  return calls
    .filter((call) => call.isAppended === true)
    .map(({ clientId, call, primary, purpose }) => {
      const isLast = primary || purpose === 'apology'
      return {
        key: clientId,
        event: { ...readCallEvent(call), ...(isLast && state !== null ? { task_state: state } : {}) },
      }
    })
}

/** Channels that append write their calls so. */
function readCallEvent(call: JsonObject): JsonObject {
  return call['event'] as JsonObject
}
