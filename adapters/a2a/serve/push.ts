// Push notification configurations: where a client wants to be told about a task. `deliver/push.ts` sends.
import type { PushConfig } from '../../../src/contract/index.ts'
import { pushTargetProblem } from '../verify/push-target.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { defaultConfigId } from '../wire/legacy/requests.ts'
import type { A2aPushConfig } from '../wire/objects.ts'
import { readPushConfig, readPushList, readPushRequest } from '../wire/requests.ts'
import { type A2aDeps, byOf, type Call, invalidParams, noSuchTask, type Operation, readOr, result } from './call.ts'
import { findTask } from './find-task.ts'

/** The fault of a connection that sends no notifications; undefined: it does. */
export function pushIsOff({ settings }: Pick<A2aDeps, 'settings'>): Fault | undefined {
  return settings.push === false ? fault('push_not_supported', 'this agent sends no push notifications') : undefined
}

/** `at`: how the request calls the configuration. */
export function pushProblem({ settings }: A2aDeps, url: string, at = ''): Fault | undefined {
  const problem = settings.push === false ? undefined : pushTargetProblem(url, settings.push.allow)
  return problem === undefined ? undefined : invalidParams([{ field: `${at}url`, description: problem }])
}

export const createPush: Operation = async (deps, call, params) => {
  const config = readOr(readPushConfig(params))
  if (isFault(config)) return config
  const refusal = pushIsOff(deps) ?? pushProblem(deps, config.url)
  if (refusal !== undefined) return refusal
  const task = await findTask(deps, call, config.taskId)
  if (isFault(task)) return task
  const saved = await savePush(deps, call, config)
  return isFault(saved) ? saved : result(pushTo(saved))
}

/** `isInline`: it came with the message that asks for the task. */
export async function savePush(
  deps: A2aDeps,
  call: Call,
  config: A2aPushConfig,
  isInline = false,
): Promise<PushConfig | Fault> {
  const { taskId, url, token, authentication } = config
  const row: PushConfig = {
    taskId,
    id: config.id ?? deps.newId(),
    url,
    token: token ?? null,
    scheme: authentication?.scheme ?? null,
    credentials: authentication?.credentials ?? null,
    dialect: call.dialect,
  }
  const outcome = await deps.tasks.push.save(row, byOf(call), isInline)
  if (outcome === undefined) return noSuchTask()
  if (outcome === 'saved') return row
  const description = 'is one too many: the task has as many configurations as it may; delete one'
  return invalidParams([{ field: 'id', description }])
}

/** What is asked about receivers of a task, once it is readable, they are told at all, and the task is the caller's. */
async function asked<Request extends { readonly taskId: string }>(
  deps: A2aDeps,
  call: Call,
  request: Request | Fault,
): Promise<Request | Fault> {
  if (isFault(request)) return request
  const refusal = pushIsOff(deps)
  if (refusal !== undefined) return refusal
  const task = await findTask(deps, call, request.taskId)
  return isFault(task) ? task : request
}

export const getPush: Operation = async (deps, call, params) => {
  const request = await asked(deps, call, readOr(readPushRequest(params)))
  if (isFault(request)) return request
  const { id, taskId } = request
  const found = await deps.tasks.push.find(taskId, id, byOf(call))
  // 0.3 asks for the only one there is by the task's own id.
  const isDefault = call.dialect === '0.3' && id === taskId
  const config = found ?? (isDefault ? await deps.tasks.push.find(taskId, defaultConfigId, byOf(call)) : undefined)
  return config === undefined
    ? fault('task_not_found', 'the task has no such push notification configuration')
    : result(pushTo(config))
}

export const listPush: Operation = async (deps, call, params) => {
  const request = await asked(deps, call, readOr(readPushList(params)))
  if (isFault(request)) return request
  const configs = await deps.tasks.push.list(request.taskId, byOf(call))
  return configs === undefined ? noSuchTask() : result({ configs: configs.map(pushTo) })
}

/** Deleting one that is gone succeeds. */
export const deletePush: Operation = async (deps, call, params) => {
  const request = await asked(deps, call, readOr(readPushRequest(params)))
  if (isFault(request)) return request
  await deps.tasks.push.remove(request.taskId, request.id, byOf(call))
  return result({})
}

/** Reading one back shows how its receiver is told, and nothing that proves us to that receiver. */
function pushTo({ taskId, id, url, scheme }: PushConfig): A2aPushConfig {
  return { taskId, id, url, ...(scheme === null ? {} : { authentication: { scheme } }) }
}
