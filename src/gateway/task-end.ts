// What the end of a turn means for its task, and the lines it leaves in a log that clients watch.
import {
  isKnownPart,
  type JsonObject,
  type NormalizedResponse,
  type QueuedCall,
  type TaskState,
} from '../contract/index.ts'
import type { NewRunEvent, OpenTurn } from '../db/turn-rows.ts'
import type { TaskRecord } from '../tasks/task-store.ts'
import type { GatewayDeps } from './deps.ts'

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
  return policyState(reply) ?? byReply[reply?.status ?? 'completed']
}

function policyState(reply: NormalizedResponse | undefined): TaskState | undefined {
  if (reply === undefined || reply.status === 'completed') return undefined
  const policies = reply.parts.flatMap((part) =>
    isKnownPart(part) && part.kind === 'policy' ? [part.policy.kind] : [],
  )
  return policies.map((kind) => byPolicy[kind]).find((state) => state !== undefined)
}

/** Calls that are delivered by being written down: their events stand behind everything the run said before. */
export function appendedEvents(calls: readonly QueuedCall[], state: TaskState | null): readonly NewRunEvent[] {
  return calls
    .filter((call) => call.isAppended === true)
    .map(({ clientId, call, primary, purpose }) => {
      const isLast = primary || purpose === 'apology'
      return {
        key: clientId,
        event: { ...callEvent(call), ...(isLast && state !== null ? { task_state: state } : {}) },
      }
    })
}

/** Channels that append write their calls so. */
function callEvent(call: JsonObject): JsonObject {
  return call['event'] as JsonObject
}

type Watched = Pick<GatewayDeps, 'watchers'>
type OfTurn = { readonly turn: OpenTurn }

/** Something of a task was stored: clients that watch it here look at once, or have it from the commit. */
export function tellTask({ watchers }: Watched, { turn }: OfTurn, task?: TaskRecord | null): void {
  if (turn.taskId !== null) watchers.tell(turn.taskId, task ?? undefined)
}

/** It goes on: callers that wait for its end are not woken. */
export function tellProgress({ watchers }: Watched, { turn }: OfTurn): void {
  if (turn.taskId !== null) watchers.tellProgress(turn.taskId)
}

export function isAwaited({ watchers }: Watched, { turn }: OfTurn): boolean {
  return turn.taskId !== null && watchers.isAwaited(turn.taskId)
}
