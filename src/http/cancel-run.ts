// The stop of a run, for its owner and for an operator: one that goes on or is paused, and one that still waits for its turn.
import type { Context } from 'hono'
import type { Run } from '../db/runs.ts'
import type { AppDeps } from './deps.ts'
import { actorName, recordAct } from './note-act.ts'
import type { CancelledRun } from './shapes/waits.ts'

type Deps = Pick<AppDeps, 'audit' | 'gateway' | 'wake'>

/** `owner`: only theirs. */
export type RunCancelRequest = { readonly id: string; readonly owner?: string | undefined }

/** `find`: the run, once it has begun. Undefined: there is none, begun or waiting. */
export async function requestRunCancel(
  deps: Deps,
  context: Context,
  { id, owner }: RunCancelRequest,
  find: () => Promise<Run | undefined>,
): Promise<CancelledRun | undefined> {
  const begun = await find()
  const waiting = begun === undefined ? await cancelQueuedRun(deps, context, { id, owner }) : undefined
  if (waiting !== undefined) return waiting
  // It may have begun while one looked for it in the queue.
  const run = begun ?? (await find())
  if (run === undefined) return undefined
  const outcome = await deps.gateway.runs.cancel(run.id, actorName(context))
  // A lane that no process holds is due at once.
  deps.wake()
  const { kind, status } = outcome ?? { kind: 'over' as const, status: run.status }
  if (kind === 'over')
    await recordAct(deps, context, { action: 'run.cancel', outcome: 'refused', code: 'over', objectId: run.id })
  return { ok: kind !== 'over', id: run.id, outcome: kind, status }
}

/** What has not begun goes by its task, which is over from here on: a turn that opens all the same finds it so. */
async function cancelQueuedRun(
  deps: Deps,
  context: Context,
  { id, owner }: RunCancelRequest,
): Promise<CancelledRun | undefined> {
  const waiting = await deps.gateway.runs.waiting(id, owner)
  const at = deps.gateway.connections.find(({ key }) => key === waiting?.connection)
  if (waiting === undefined || at === undefined) return undefined
  const { taskId, subject } = waiting
  if ((await at.tasks.cancel(taskId, { subject })) !== 'cancelled') return undefined
  await recordAct(deps, context, { action: 'run.cancel', outcome: 'cancelled', objectId: taskId })
  return { ok: true, id: taskId, outcome: 'cancelled', status: 'cancelled' }
}
