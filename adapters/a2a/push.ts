// Push notification configurations: where a client wants to be told about a task. `deliver.ts` sends them.
import type { PushConfig } from '../../src/contract/index.ts'
import { checkTarget } from '../../src/lib/index.ts'
import { createFault, type Fault, isA2aFault } from './protocol/faults.ts'
import { defaultConfigId } from './protocol/legacy.ts'
import type { A2aPushConfig } from './protocol/objects.ts'
import { readPushConfigRequest, readPushListRequest, readTaskAndPushConfigIds } from './protocol/requests.ts'
import {
  type A2aDeps,
  type A2aRequest,
  findTask,
  invalidParamsFault,
  type Operation,
  pickCallerSubject,
  taskNotFoundFault,
  toResultOutcome,
  valueOrFault,
} from './server/call.ts'

/** The fault of a connection that sends no notifications; undefined: it does. */
export function checkPushEnabled({ settings }: Pick<A2aDeps, 'settings'>): Fault | undefined {
  return settings.push === false
    ? createFault('push_not_supported', 'this agent sends no push notifications')
    : undefined
}

/** `at`: how the request calls the configuration. */
export function checkPushUrl({ settings }: A2aDeps, url: string, at = ''): Fault | undefined {
  const problem = settings.push === false ? undefined : pushTargetProblem(url, settings.push.allow)
  return problem === undefined ? undefined : invalidParamsFault([{ field: `${at}url`, description: problem }])
}

export const createPushConfig: Operation = async (deps, call, params) => {
  const config = valueOrFault(readPushConfigRequest(params))
  if (isA2aFault(config)) return config
  const refusal = checkPushEnabled(deps) ?? checkPushUrl(deps, config.url)
  if (refusal !== undefined) return refusal
  const task = await findTask(deps, call, config.taskId)
  if (isA2aFault(task)) return task
  const saved = await savePushConfig(deps, call, config)
  return isA2aFault(saved) ? saved : toResultOutcome(toPushConfig(saved))
}

/** `isInline`: it came with the message that asks for the task. */
export async function savePushConfig(
  deps: A2aDeps,
  call: A2aRequest,
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
  const outcome = await deps.tasks.push.save(row, pickCallerSubject(call), isInline)
  if (outcome === undefined) return taskNotFoundFault()
  if (outcome === 'saved') return row
  const description = 'is one too many: the task has as many configurations as it may; delete one'
  return invalidParamsFault([{ field: 'id', description }])
}

/** What is asked about receivers of a task, once it is readable, they are told at all, and the task is the caller's. */
async function checkPushTaskAccess<Request extends { readonly taskId: string }>(
  deps: A2aDeps,
  call: A2aRequest,
  request: Request | Fault,
): Promise<Request | Fault> {
  if (isA2aFault(request)) return request
  const refusal = checkPushEnabled(deps)
  if (refusal !== undefined) return refusal
  const task = await findTask(deps, call, request.taskId)
  return isA2aFault(task) ? task : request
}

export const getPushConfig: Operation = async (deps, call, params) => {
  const request = await checkPushTaskAccess(deps, call, valueOrFault(readTaskAndPushConfigIds(params)))
  if (isA2aFault(request)) return request
  const { id, taskId } = request
  const found = await deps.tasks.push.find(taskId, id, pickCallerSubject(call))
  // 0.3 asks for the only one there is by the task's own id.
  const isDefault = call.dialect === '0.3' && id === taskId
  const config =
    found ?? (isDefault ? await deps.tasks.push.find(taskId, defaultConfigId, pickCallerSubject(call)) : undefined)
  return config === undefined
    ? createFault('task_not_found', 'the task has no such push notification configuration')
    : toResultOutcome(toPushConfig(config))
}

export const listPushConfigs: Operation = async (deps, call, params) => {
  const request = await checkPushTaskAccess(deps, call, valueOrFault(readPushListRequest(params)))
  if (isA2aFault(request)) return request
  const configs = await deps.tasks.push.list(request.taskId, pickCallerSubject(call))
  return configs === undefined ? taskNotFoundFault() : toResultOutcome({ configs: configs.map(toPushConfig) })
}

/** Deleting one that is gone succeeds. */
export const deletePushConfig: Operation = async (deps, call, params) => {
  const request = await checkPushTaskAccess(deps, call, valueOrFault(readTaskAndPushConfigIds(params)))
  if (isA2aFault(request)) return request
  await deps.tasks.push.remove(request.taskId, request.id, pickCallerSubject(call))
  return toResultOutcome({})
}

/** Reading one back shows how its receiver is told, and nothing that proves us to that receiver. */
function toPushConfig({ taskId, id, url, scheme }: PushConfig): A2aPushConfig {
  return { taskId, id, url, ...(scheme === null ? {} : { authentication: { scheme } }) }
}

// An address is checked here as far as the address alone says. The sender checks again when it connects.

const problems: Readonly<Record<string, string>> = {
  bad_url: 'must be an absolute URL',
  scheme: 'must be an https URL',
  credentials: 'must not carry a user name or password',
  port: 'must use the port that goes with https',
  host: 'must not end with a dot',
  address: 'must not be a private, local or reserved address',
}

/** What is wrong with it; undefined: nothing. `allow`: origins and hosts that the operator wrote down. */
export function pushTargetProblem(url: string, allow: readonly string[]): string | undefined {
  if (/[\s\u0000-\u001f\u007f]/.test(url)) return 'must not contain blanks or control characters'
  if (!URL.canParse(url)) return problems['bad_url']
  const { origin, host, hostname } = new URL(url)
  const isAllowed = allow.some((entry) => entry === origin || entry === host || entry === hostname)
  const judged = checkTarget(url, {
    pins: true,
    ...(isAllowed ? { origins: [origin], isPublic: () => true } : {}),
  })
  return judged.ok ? undefined : (problems[judged.reason] ?? 'is not allowed')
}
