// Operations on tasks that exist: get, list, cancel.
import type { Task, TaskQuery } from '../../../src/contract/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import { type ListRequest, readListRequest, readTaskRequest } from '../protocol/requests.ts'
import { renderTask, type TaskView } from '../render.ts'
import {
  type A2aDeps,
  type A2aRequest,
  findTask,
  invalidParams,
  type Operation,
  readOwnTask,
  resultOutcome,
  taskCaller,
  taskNotFound,
  valueOrFault,
} from './call.ts'
import { inlinePartFiles, inlineSnapshotFiles } from './inline-files.ts'

export const getTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  const snapshot = await readOwnTask(deps, call, request.id)
  if (isA2aFault(snapshot)) return snapshot
  const { historyLength } = request
  const shown = await inlineSnapshotFiles(inlinePartFiles(deps.files), snapshot)
  return resultOutcome(renderTask(shown, { historyLength, includeArtifacts: true, accepted: [] }))
}

export const cancelTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  const found = await findTask(deps, call, request.id)
  if (isA2aFault(found)) return found
  const outcome = await deps.tasks.cancel(request.id, taskCaller(call))
  if (outcome === undefined) return taskNotFound()
  const snapshot = await readOwnTask(deps, call, request.id)
  if (isA2aFault(snapshot)) return snapshot
  // 1.0 says both that cancelling is idempotent and that it is not; 0.3 says that it is not.
  const isRepeat = snapshot.task.state === 'cancelled' && call.dialect === '1.0'
  if (outcome === 'over' && !isRepeat)
    return createFault('task_not_cancelable', 'the task is over and cannot be cancelled')
  return resultOutcome(renderTask(snapshot, { includeArtifacts: true, accepted: [] }))
}

export const listTasks: Operation = async (deps, call, params) => {
  const request = valueOrFault(readListRequest(params))
  if (isA2aFault(request)) return request
  const { pageSize } = request
  // Callers without a credential have only the tasks whose id they know, and no list.
  if (call.caller.kind === 'anonymous') return resultOutcome({ tasks: [], nextPageToken: '', pageSize, totalSize: 0 })
  const about = listQueryKey(call, request)
  const after = await readPageToken(deps, request, about)
  if (after !== undefined && isA2aFault(after)) return after
  const { contextId, state, since } = request
  const query: TaskQuery = {
    ...(call.named === undefined ? {} : { agent: call.named }),
    ...(contextId === undefined ? {} : { contextId }),
    ...(state === undefined ? {} : { state }),
    ...(since === undefined ? {} : { since }),
    ...(after === undefined ? {} : { after }),
    limit: pageSize,
  }
  const page = await deps.tasks.list(query, taskCaller(call))
  const last = page.tasks.at(-1)
  const nextPageToken = page.hasMore && last !== undefined ? await deps.pages.write(last, about) : ''
  const view = { historyLength: request.historyLength ?? 0, includeArtifacts: request.includeArtifacts, accepted: [] }
  const tasks = await Promise.all(page.tasks.map((task) => renderListedTask(deps, call, task, view)))
  return resultOutcome({ tasks, nextPageToken, pageSize, totalSize: page.total })
}

/** A token belongs to who asked and to what was asked; the size of a page may change on the way. */
function listQueryKey({ caller, named }: A2aRequest, { contextId, state, since }: ListRequest): readonly unknown[] {
  return [caller.subject, named ?? null, contextId ?? null, state ?? null, since ?? null]
}

async function readPageToken(
  { pages }: A2aDeps,
  { pageToken }: ListRequest,
  about: readonly unknown[],
): Promise<TaskQuery['after'] | Fault | undefined> {
  if (pageToken === undefined) return undefined
  const after = await pages.read(pageToken, about)
  const description = 'is not a token of this list; begin again without one'
  return after ?? invalidParams([{ field: 'pageToken', description }])
}

/** Rows hold where a task stands; what was said is read only for those who ask. */
async function renderListedTask(deps: A2aDeps, call: A2aRequest, task: Task, view: TaskView): Promise<object> {
  if (!view.includeArtifacts && view.historyLength === 0) return renderTask({ task, messages: [], outputs: [] }, view)
  const snapshot = await deps.tasks.read(task.id, taskCaller(call))
  if (snapshot === undefined) return renderTask({ task, messages: [], outputs: [] }, view)
  return renderTask(await inlineSnapshotFiles(inlinePartFiles(deps.files), { ...snapshot, task }), view)
}
