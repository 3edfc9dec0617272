// Operations on tasks that exist: get, list, cancel.
import type { Task, TaskQuery } from '../../../src/contract/index.ts'
import { type TaskView, taskTo } from '../render/task.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { type ListRequest, readTask, readTaskList } from '../wire/requests.ts'
import { type A2aDeps, byOf, type Call, invalidParams, noSuchTask, type Operation, readOr, result } from './call.ts'
import { findTask, readTaskOf } from './find-task.ts'
import { fillParts, fillSnapshot } from './stored-bytes.ts'

export const getTask: Operation = async (deps, call, params) => {
  const request = readOr(readTask(params))
  if (isFault(request)) return request
  const snapshot = await readTaskOf(deps, call, request.id)
  if (isFault(snapshot)) return snapshot
  const { historyLength } = request
  const shown = await fillSnapshot(fillParts(deps.files), snapshot)
  return result(taskTo(shown, { historyLength, includeArtifacts: true, accepted: [] }))
}

export const cancelTask: Operation = async (deps, call, params) => {
  const request = readOr(readTask(params))
  if (isFault(request)) return request
  const found = await findTask(deps, call, request.id)
  if (isFault(found)) return found
  const outcome = await deps.tasks.cancel(request.id, byOf(call))
  if (outcome === undefined) return noSuchTask()
  const snapshot = await readTaskOf(deps, call, request.id)
  if (isFault(snapshot)) return snapshot
  // 1.0 says both that cancelling is idempotent and that it is not; 0.3 says that it is not.
  const isRepeat = snapshot.task.state === 'cancelled' && call.dialect === '1.0'
  if (outcome === 'over' && !isRepeat) return fault('task_not_cancelable', 'the task is over and cannot be cancelled')
  return result(taskTo(snapshot, { includeArtifacts: true, accepted: [] }))
}

export const listTasks: Operation = async (deps, call, params) => {
  const request = readOr(readTaskList(params))
  if (isFault(request)) return request
  const { pageSize } = request
  // Callers without a credential have only the tasks whose id they know, and no list.
  if (call.caller.kind === 'anonymous') return result({ tasks: [], nextPageToken: '', pageSize, totalSize: 0 })
  const about = questionOf(call, request)
  const after = await pageAfter(deps, request, about)
  if (after !== undefined && isFault(after)) return after
  const { contextId, state, since } = request
  const query: TaskQuery = {
    ...(call.named === undefined ? {} : { agent: call.named }),
    ...(contextId === undefined ? {} : { contextId }),
    ...(state === undefined ? {} : { state }),
    ...(since === undefined ? {} : { since }),
    ...(after === undefined ? {} : { after }),
    limit: pageSize,
  }
  const page = await deps.tasks.list(query, byOf(call))
  const last = page.tasks.at(-1)
  const nextPageToken = page.hasMore && last !== undefined ? await deps.pages.write(last, about) : ''
  const view = { historyLength: request.historyLength ?? 0, includeArtifacts: request.includeArtifacts, accepted: [] }
  const tasks = await Promise.all(page.tasks.map((task) => shownInList(deps, call, task, view)))
  return result({ tasks, nextPageToken, pageSize, totalSize: page.total })
}

/** A token belongs to who asked and to what was asked; the size of a page may change on the way. */
function questionOf({ caller, named }: Call, { contextId, state, since }: ListRequest): readonly unknown[] {
  return [caller.subject, named ?? null, contextId ?? null, state ?? null, since ?? null]
}

async function pageAfter(
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
async function shownInList(deps: A2aDeps, call: Call, task: Task, view: TaskView): Promise<object> {
  if (!view.includeArtifacts && view.historyLength === 0) return taskTo({ task, messages: [], outputs: [] }, view)
  const snapshot = await deps.tasks.read(task.id, byOf(call))
  if (snapshot === undefined) return taskTo({ task, messages: [], outputs: [] }, view)
  return taskTo(await fillSnapshot(fillParts(deps.files), { ...snapshot, task }), view)
}
