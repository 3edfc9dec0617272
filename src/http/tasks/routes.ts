// /api/v1/tasks: work that a caller asks for under an id of their own and comes back to. A thin layer: a task
// is a message of its caller to an agent, its run is that agent's run, and what is shown of it is what is stored.
import type { Context, Hono } from 'hono'
import type { ArrivedMessage, JsonObject, Task, TaskSnapshot } from '../../contract/index.ts'
import { GatewayError, isFinalState } from '../../contract/index.ts'
import { isForOtherAgent } from '../../identity/principal/bearer-principal.ts'
import type { ApiCaller } from '../api-callers.ts'
import type { AppDeps } from '../deps.ts'
import { callerRequest, identified, noApi, turnedAway } from '../identified.ts'
import { jsonBody } from '../json-body.ts'
import { queryIn } from '../openapi/operation.ts'
import { cancelTaskSchema, type ExecutionTarget, targetsQuery, taskRunQuery } from '../shapes/tasks.ts'
import { errorAnswer, respond, taskRefused, taskTaken, tooLarge } from '../status.ts'
import { executionTarget, fittingTargets } from './choose-target.ts'
import { readTaskBody } from './read-task-body.ts'
import { taskResult } from './task-result.ts'
import { readTaskWish, type TaskWish } from './task-wish.ts'

/** What tells these tasks from those of other protocols on the same connection. */
const dialect = 'agents-api/task/v1'
const maxWaitMs = 50_000

export const cancelTaskBody = {
  schema: cancelTaskSchema,
  maxBytes: 4096,
  remedy: 'send {"run_id": "…"} as JSON',
} as const

type Deps = Pick<AppDeps, 'agents' | 'gateway' | 'maxBodyBytes' | 'watchMs'> & Parameters<typeof identified>[0]

export function addTaskRoutes(app: Hono, deps: Deps): void {
  app.post('/api/v1/tasks/run-task', (context) => runTask(deps, context))
  app.get('/api/v1/tasks/list-execution-targets', async (context) => {
    const caller = await identified(deps, context)
    if (caller instanceof Response) return caller
    const { preferred_target, allowed_targets, resource_class, required_capabilities } = queryIn(context, {
      query: targetsQuery,
    })
    const targets = fittingTargets(targetsAt(deps, caller.at), {
      preferred: preferred_target,
      allowed: allowed_targets ?? [],
      resourceClass: resource_class ?? 'generic',
      capabilities: required_capabilities ?? [],
    })
    return context.json({ targets })
  })
  app.get('/api/v1/tasks/get-task-run', async (context) => {
    const caller = await identified(deps, context)
    if (caller instanceof Response) return caller
    const found = await findRun(caller, queryIn(context, { query: taskRunQuery }))
    return found === undefined ? respond(noRun()) : context.json(taskResult(found))
  })
  app.post('/api/v1/tasks/cancel-task-run', async (context) => {
    const caller = await identified(deps, context)
    if (caller instanceof Response) return caller
    const wanted = await jsonBody(context, cancelTaskBody)
    const found = await findRun(caller, wanted)
    if (found === undefined) return respond(noRun())
    const outcome = await caller.at.tasks.cancel(found.task.id, caller)
    const now = (await caller.at.tasks.read(found.task.id, caller)) ?? found
    return context.json({ cancelled: outcome === 'cancelled', result: taskResult(now) })
  })
}

async function runTask(deps: Deps, context: Context): Promise<Response> {
  const screened = deps.callers.screen(callerRequest(deps, context))
  if (screened !== undefined) return turnedAway(deps, context, screened)
  const body = await readTaskBody(context, deps.maxBodyBytes)
  if (body.kind === 'too_large')
    return respond(errorAnswer(tooLarge.status, tooLarge.code, `send at most ${deps.maxBodyBytes} bytes`))
  const wish = readTaskWish(body.kind === 'read' ? body.value : undefined, () =>
    crypto.randomUUID().replaceAll('-', ''),
  )
  // Who asks is judged before what is asked: a stranger learns nothing about either.
  const introduced = await deps.callers.introduce(
    callerRequest(deps, context),
    runRequest('problem' in wish ? undefined : wish),
  )
  if (introduced.kind === 'rejected') return turnedAway(deps, context, introduced)
  if (introduced.kind === 'absent') throw noApi()
  if (body.kind === 'other_type')
    throw new GatewayError('unsupported_media_type', 'send the task as Content-Type: application/json')
  if ('problem' in wish) return respond(taskRefused('agents_task_invalid_input', wish.problem))
  if (introduced.kind === 'unreadable')
    return respond(
      taskRefused('agents_task_invalid_input', introduced.remedy ?? `the task cannot be read: ${introduced.reason}`),
    )
  const { at, arrived } = introduced
  const mayUse = targetsAt(deps, at).filter(({ id }) => mayAsk(arrived, id))
  const [target] = fittingTargets(mayUse, wish.placement)
  if (target === undefined)
    return respond(taskRefused('agents_task_no_handler', 'no target fits; look with list-execution-targets'))
  const by = { subject: arrived.subject ?? null }
  const [acceptance] = await deps.gateway.take(
    at,
    [asTask(arrived, wish, target)],
    deps.gateway.enter(context.req.header('traceparent')),
  )
  const taskId = await at.tasks.ofMessageId(messageIdOf(wish.runId), by)
  const found = taskId === undefined ? undefined : await at.tasks.read(taskId, by)
  if (acceptance?.kind !== 'accepted') return respond(notTaken(acceptance, found))
  if (found === undefined) return respond(noRun())
  return answered(deps, context, at, found)
}

/** A caller that can wait says so (RFC 7240): then the answer is the end of it, if it comes in time. */
async function answered(deps: Deps, context: Context, at: ApiCaller['at'], found: TaskSnapshot): Promise<Response> {
  const seconds = Number(/(?:^|[,;\s])wait=(\d{1,3})/.exec(context.req.header('prefer') ?? '')?.[1] ?? 0)
  const waitMs = Math.min(seconds * 1000, maxWaitMs, deps.watchMs)
  const by = { subject: found.task.owner }
  const now =
    waitMs === 0
      ? found
      : ((await at.tasks.settled(found.task.id, by, { timeoutMs: waitMs }, context.req.raw.signal)) ?? found)
  return respond(taskTaken(taskResult(now), isFinalState(now.task.state)))
}

function notTaken(
  acceptance: { readonly kind: string; readonly reason?: string } | undefined,
  found: TaskSnapshot | undefined,
) {
  const isAgain = acceptance?.kind === 'duplicate' || acceptance?.reason === 'id_taken'
  if (!isAgain)
    return taskRefused('agents_task_invalid_input', `the task was not taken: ${acceptance?.reason ?? 'unreadable'}`)
  const result = found === undefined ? {} : { result: taskResult(found) }
  return taskRefused(
    'agents_task_run_already_started',
    'this run_id was used before; read it with get-task-run, or use another',
    result,
  )
}

function noRun() {
  return taskRefused('agents_task_run_not_found', 'no such task run of yours; give the run_id it was started with')
}

/** Read as a run of the same thread would be, so that who speaks and what they may attach is judged by the same code. */
function runRequest(wish: TaskWish | undefined): JsonObject {
  const { runId, sessionId, words, attachments } = wish ?? {
    runId: 'none',
    sessionId: 'none',
    words: 'none',
    attachments: [],
  }
  const files = attachments.map(({ mime_type: mimeType, url = null, data = null, name = null }) => ({
    ...{ type: 'binary', mimeType, url, data, filename: name },
  }))
  const content = [...(words === '' ? [] : [{ type: 'text', text: words }]), ...files]
  return { threadId: sessionId, runId, messages: [{ id: messageIdOf(runId), role: 'user', content }] }
}

function messageIdOf(runId: string): string {
  return `task:${runId}`
}

function asTask(arrived: ArrivedMessage, wish: TaskWish, target: ExecutionTarget): ArrivedMessage {
  const { taskId, runId, sessionId, payload } = wish
  return {
    ...arrived,
    agent: target.id,
    isAddressed: true,
    // One run id is one run, whatever else is said differently the second time.
    semanticId: JSON.stringify(['task', runId]),
    isIdForAllAgents: true,
    obligation: 'task',
    isExclusive: false,
    task: {
      contextId: sessionId,
      ...{ payload, dialect },
      metadata: { run_id: runId, session_id: sessionId, task_id: taskId, metadata: payload['metadata'] ?? {} },
    },
  }
}

function targetsAt({ agents }: Deps, { isShared, connection }: ApiCaller['at']): readonly ExecutionTarget[] {
  return agents.filter(({ slug }) => isShared || slug === connection.agent).map(executionTarget)
}

function mayAsk({ message }: ArrivedMessage, agent: string): boolean {
  return !(message.sender.identities ?? []).some((evidence) => isForOtherAgent(evidence, agent))
}

async function findRun(
  { at, subject }: ApiCaller,
  { run_id: runId, session_id: sessionId }: { readonly run_id: string; readonly session_id?: string | undefined },
): Promise<TaskSnapshot | undefined> {
  const id = await at.tasks.ofMessageId(messageIdOf(runId), { subject })
  const found = id === undefined ? undefined : await at.tasks.read(id, { subject })
  const isMeant = (task: Task): boolean =>
    task.dialect === dialect && (sessionId === undefined || task.contextId === sessionId)
  return found !== undefined && isMeant(found.task) ? found : undefined
}
