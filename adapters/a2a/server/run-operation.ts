// Runs an operation and writes its response, the same for both bindings. A failure is logged, and the caller gets only its reference.

import type { RejectReason, ServeContext, Task } from '../../../src/contract/index.ts'
import { type Fields, isGatewayError } from '../../../src/lib/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import type { A2aCaller } from '../protocol/objects.ts'
import { type Dialect, knownExtensions, type OperationName, operations } from '../protocol/operations.ts'
import { getCamelOrSnakeField, type ListRequest, readListRequest, readTaskRequest } from '../protocol/requests.ts'
import { createPushConfig, deletePushConfig, getPushConfig, listPushConfigs } from '../push.ts'
import { renderTask, type TaskView } from '../render.ts'
import { hasOperationScope, readExtensions, rejectionFaultName, verifyCaller } from '../verify.ts'
import {
  type A2aDeps,
  type A2aRequest,
  findTask,
  invalidParamsFault,
  type Operation,
  type Outcome,
  pickCallerSubject,
  readOwnTask,
  type TaskQuery,
  taskNotFoundFault,
  toResultOutcome,
  valueOrFault,
} from './call.ts'
import { createPartFileInliner, inlineSnapshotFiles } from './inline-files.ts'
import { faultResponse, type ResponseFormat, resultResponse, streamResponse } from './responses.ts'
import { sendMessage } from './send-message.ts'
import { streamMessage, subscribeToTask } from './stream.ts'

export async function answerOperation(
  deps: A2aDeps,
  entering: Omit<CallEntry, 'signal'>,
  tongue: ResponseFormat,
  { name, params }: { readonly name: OperationName; readonly params: Fields },
): Promise<Response> {
  const reader = new AbortController()
  const signal = AbortSignal.any([entering.request.signal, reader.signal])
  const entered = admitCall(deps, { ...entering, signal }, name, params)
  if (isA2aFault(entered)) return faultResponse(tongue, entered)
  const { call, headers } = entered
  const outcome = await runOperation(deps, call, name, params)
  if (isA2aFault(outcome)) return faultResponse(tongue, outcome, headers)
  if (outcome.kind === 'result') return resultResponse(tongue, name, outcome.body, headers)
  const ended = Promise.withResolvers<void>()
  entering.context.keepOpen(ended.promise)
  const { heartbeatMs, streamMs: lifeMs } = deps.settings
  const endReading = (): void => {
    reader.abort()
    ended.resolve()
  }
  const reportStreamFailure = (error: unknown): Fault => reportFailure(entering.context, error)
  return streamResponse(
    tongue,
    outcome,
    { heartbeatMs, lifeMs, onEnd: endReading, onFailure: reportStreamFailure },
    headers,
  )
}

/** What the caller is told about something that broke. */
export function reportFailure(context: ServeContext, error: unknown): Fault {
  const reference = context.fail(error)
  if (isGatewayError(error) && error.retryable)
    return createFault('unavailable', `the gateway cannot do this right now; try again (reference ${reference})`, {
      headers: { 'retry-after': '2' },
    })
  return createFault('internal_error', `internal error (reference ${reference})`, { metadata: { reference } })
}

const getExtendedCard: Operation = async ({ callers, cards, settings }, { caller, named, origin, dialect }) => {
  const missing = createFault('extended_card_not_configured', 'no extended card is configured here')
  if (settings.extendedCard === false)
    // 0.3 has one word for both.
    return dialect === '0.3' ? missing : createFault('unsupported_operation', 'this agent has no extended card')
  if (settings.extendedCard === true) return missing
  // Being on this machine is a credential too.
  if (caller.kind === 'anonymous')
    return createFault('unauthenticated', 'the extended card is for callers who show a credential', {
      headers: { 'www-authenticate': callers.challenge('missing_credential') },
    })
  const card = await cards.extended({ agent: named }, { origin, isLocal: caller.kind === 'local' }, dialect)
  return card === undefined ? missing : toResultOutcome(card)
}

// Operations on tasks that exist: get, list, cancel.

const getTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  const snapshot = await readOwnTask(deps, call, request.id)
  if (isA2aFault(snapshot)) return snapshot
  const { historyLength } = request
  const shown = await inlineSnapshotFiles(createPartFileInliner(deps.files), snapshot)
  return toResultOutcome(renderTask(shown, { historyLength, includeArtifacts: true, accepted: [] }))
}

const cancelTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  const found = await findTask(deps, call, request.id)
  if (isA2aFault(found)) return found
  const outcome = await deps.tasks.cancel(request.id, pickCallerSubject(call))
  if (outcome === undefined) return taskNotFoundFault()
  const snapshot = await readOwnTask(deps, call, request.id)
  if (isA2aFault(snapshot)) return snapshot
  // 1.0 says both that cancelling is idempotent and that it is not; 0.3 says that it is not.
  const isRepeat = snapshot.task.state === 'cancelled' && call.dialect === '1.0'
  if (outcome === 'over' && !isRepeat)
    return createFault('task_not_cancelable', 'the task is over and cannot be cancelled')
  return toResultOutcome(renderTask(snapshot, { includeArtifacts: true, accepted: [] }))
}

const listTasks: Operation = async (deps, call, params) => {
  const request = valueOrFault(readListRequest(params))
  if (isA2aFault(request)) return request
  const { pageSize } = request
  // Callers without a credential have only the tasks whose id they know, and no list.
  if (call.caller.kind === 'anonymous') return toResultOutcome({ tasks: [], nextPageToken: '', pageSize, totalSize: 0 })
  const about = pageTokenBindingValues(call, request)
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
  const page = await deps.tasks.list(query, pickCallerSubject(call))
  const last = page.tasks.at(-1)
  const nextPageToken = page.hasMore && last !== undefined ? await deps.pages.write(last, about) : ''
  const view = { historyLength: request.historyLength ?? 0, includeArtifacts: request.includeArtifacts, accepted: [] }
  const tasks = await Promise.all(page.tasks.map((task) => renderListedTask(deps, call, task, view)))
  return toResultOutcome({ tasks, nextPageToken, pageSize, totalSize: page.total })
}

/** A token belongs to who asked and to what was asked; the size of a page may change on the way. */
function pageTokenBindingValues(
  { caller, named }: A2aRequest,
  { contextId, state, since }: ListRequest,
): readonly unknown[] {
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
  return after ?? invalidParamsFault([{ field: 'pageToken', description }])
}

/** Rows hold where a task stands; what was said is read only for those who ask. */
async function renderListedTask(deps: A2aDeps, call: A2aRequest, task: Task, view: TaskView): Promise<object> {
  if (!view.includeArtifacts && view.historyLength === 0) return renderTask({ task, messages: [], outputs: [] }, view)
  const snapshot = await deps.tasks.read(task.id, pickCallerSubject(call))
  if (snapshot === undefined) return renderTask({ task, messages: [], outputs: [] }, view)
  return renderTask(await inlineSnapshotFiles(createPartFileInliner(deps.files), { ...snapshot, task }), view)
}

const table: Readonly<Record<OperationName, Operation>> = {
  send: sendMessage,
  stream: streamMessage,
  get: getTask,
  list: listTasks,
  cancel: cancelTask,
  subscribe: subscribeToTask,
  pushCreate: createPushConfig,
  pushGet: getPushConfig,
  pushList: listPushConfigs,
  pushDelete: deletePushConfig,
  extendedCard: getExtendedCard,
}

function runOperation(deps: A2aDeps, call: A2aRequest, name: OperationName, params: Fields): Promise<Outcome> {
  return table[name](deps, call, params)
}

// Every operation passes these checks before it runs: who calls, whom, and in which version.

/** Who calls, if they may call at all. `mount`: the agent that the path names. */
export async function identifyCaller(
  deps: A2aDeps,
  request: Request,
  context: ServeContext,
  mount: string | undefined,
): Promise<A2aCaller | Fault> {
  const { settings } = deps
  const headers = Object.fromEntries(request.headers)
  const verdict = await verifyCaller(
    deps.callers,
    { headers, from: context.from },
    {
      agent: mount ?? defaultAgentSlug(deps),
      isNamed: mount !== undefined,
      urls: tokenAudiences(deps, mount),
      anonymous: settings.anonymous,
      keyHeader: settings.apiKeyHeader,
    },
  )
  return verdict.kind === 'rejected' ? rejectA2aCaller(context, verdict.reason, verdict.challenge) : verdict.caller
}

/** What a token may be made out to. A caller chooses the name it asks for us by, so that only a configured one counts. */
function tokenAudiences({ publicUrl, settings }: A2aDeps, mount: string | undefined): readonly string[] {
  if (publicUrl === undefined) return []
  const hub = `${publicUrl}${settings.path}`
  return mount === undefined ? [hub] : [`${hub}/${mount}`, hub]
}

function defaultAgentSlug({ agents, connection }: Pick<A2aDeps, 'agents' | 'connection'>): string {
  return agents()[0]?.slug ?? connection.agent
}

const words = {
  unauthenticated: 'a valid credential is needed',
  forbidden: 'this credential is not for this',
  unavailable: 'the issuer of this credential cannot be asked right now; try again',
} as const

function rejectA2aCaller(context: ServeContext, reason: RejectReason, challenge: string): Fault {
  const reference = context.logRejection(reason)
  const name = rejectionFaultName(reason)
  const headers = name === 'unavailable' ? { 'retry-after': '5' } : { 'www-authenticate': challenge }
  return createFault(name, `${words[name]} (reference ${reference})`, { headers })
}

/** What the operation needs of a token; nothing where none had to be shown. */
function findScopeFault(deps: A2aDeps, { caller, context, mount }: CallEntry, name: OperationName): Fault | undefined {
  const { scope } = operations[name]
  if (hasOperationScope(caller, scope)) return undefined
  const [resource] = tokenAudiences(deps, mount)
  const at = { scope, ...(resource === undefined ? {} : { resource }) }
  return rejectA2aCaller(context, 'insufficient_scope', deps.callers.challenge('insufficient_scope', at))
}

type CallEntry = {
  readonly request: Request
  readonly context: ServeContext
  readonly caller: A2aCaller
  readonly mount: string | undefined
  readonly tenant: string | undefined
  readonly dialect: Dialect
  readonly origin: string
  readonly signal: AbortSignal
}

/** The call, and what the answer says about extensions. */
function admitCall(
  deps: A2aDeps,
  entering: CallEntry,
  name: OperationName,
  params: Fields,
): { readonly call: A2aRequest; readonly headers: Readonly<Record<string, string>> } | Fault {
  const { settings, agents } = deps
  const { request, context, caller, dialect, origin, signal } = entering
  const lacking = findScopeFault(deps, entering, name)
  if (lacking !== undefined) return lacking
  const required = settings.requiredExtensions.map(({ uri }) => uri)
  const known = [...Object.keys(knownExtensions), ...required]
  const extensions = readExtensions(request.headers, dialect, { known, required })
  if (isA2aFault(extensions)) return extensions
  const named = readTenantAgent(
    entering,
    params,
    agents().map(({ slug }) => slug),
  )
  if (named !== undefined && isA2aFault(named)) return named
  const lastEventId = request.headers.get('last-event-id') ?? undefined
  const call = {
    context,
    caller,
    origin,
    dialect,
    signal,
    extensions: extensions.active,
    named: named?.agent,
    agent: named?.agent ?? caller.bearer?.agent ?? defaultAgentSlug(deps),
    lastEventId: lastEventId !== undefined && /^[\w.:/+=-]{1,200}$/.test(lastEventId) ? lastEventId : undefined,
  }
  return { call, headers: extensions.headers }
}

/** A tenant is a second way to name an agent; where the two disagree, no agent is named. */
function readTenantAgent(
  { mount, tenant: inPath }: CallEntry,
  params: Fields,
  agents: readonly string[],
): { readonly agent: string } | Fault | undefined {
  const given = getCamelOrSnakeField(params, 'tenant')
  const inBody = given === undefined || given === null || given === '' ? undefined : given
  const invalidTenantFault = (description: string): Fault => invalidParamsFault([{ field: 'tenant', description }])
  if (inBody !== undefined && typeof inBody !== 'string') return invalidTenantFault('must be a string')
  if (inBody !== undefined && inPath !== undefined && inBody !== inPath)
    return invalidTenantFault('is another in the path')
  const tenant = inBody ?? inPath
  if (mount !== undefined)
    return tenant === undefined || tenant === mount ? { agent: mount } : invalidTenantFault('is not known here')
  if (tenant === undefined) return undefined
  return agents.includes(tenant) ? { agent: tenant } : invalidTenantFault('is not known here')
}
