// /api/v1/tasks: tasks that a caller creates under an id of their own and comes back to. A thin layer: a task is a message of its
// caller to an agent, its run is that agent's run, and what is shown of it is what is stored.
import type { Context } from 'hono'
import { type InboundMessage, isFinalState, type Task, type TaskSnapshot } from '../contract/index.ts'
import { isTokenForOtherAgent } from '../identity/principals.ts'
import { GatewayError } from '../lib/errors.ts'
import { parseBoundedJson, readBody } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { ApiCaller } from './api-callers.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, errorAnswer, taskRefusedAnswer, taskTakenAnswer, tooLarge } from './http-answers.ts'
import {
  apiNotFoundError,
  getApiCaller,
  type identifyApiCaller,
  rejectApiCaller,
  toCallerRequest,
} from './identify-caller.ts'
import { defineOperation, defineResource, isJsonType } from './resource.ts'
import { executionTarget, orderFittingTargets, readTaskInput, type TaskOrder } from './task-input.ts'
import { taskResult } from './task-result.ts'
import {
  cancelledTaskSchema,
  cancelTaskSchema,
  type ExecutionTarget,
  targetsQuery,
  targetsSchema,
  taskInputSchema,
  taskResultSchema,
  taskRunQuery,
} from './task-schemas.ts'

/** What tells these tasks from those of other protocols on the same connection. */
const dialect = 'agents-api/task/v1'
const maxWaitMs = 50_000

type Deps = Pick<AppDeps, 'agents' | 'gateway' | 'maxBodyBytes' | 'watchMs'> & Parameters<typeof identifyApiCaller>[0]

async function runTask(deps: Deps, context: Context): Promise<Response> {
  const screened = deps.callers.screen(toCallerRequest(deps, context))
  if (screened !== undefined) return rejectApiCaller(deps, context, screened)
  const body = await readTaskBody(context, deps.maxBodyBytes)
  if (body.kind === 'too_large')
    return answerToResponse(errorAnswer(tooLarge.status, tooLarge.code, `send at most ${deps.maxBodyBytes} bytes`))
  const wish = readTaskInput(body.kind === 'read' ? body.value : undefined, () =>
    crypto.randomUUID().replaceAll('-', ''),
  )
  // Who asks is judged before what is asked: a stranger learns nothing about either.
  const introduced = await deps.callers.introduce(
    toCallerRequest(deps, context),
    buildRunRequestFromTask('problem' in wish ? undefined : wish),
  )
  if (introduced.kind === 'rejected') return rejectApiCaller(deps, context, introduced)
  if (introduced.kind === 'absent') throw apiNotFoundError()
  if (body.kind === 'other_type')
    throw new GatewayError('unsupported_media_type', 'send the task as Content-Type: application/json')
  if ('problem' in wish) return answerToResponse(taskRefusedAnswer('agents_task_invalid_input', wish.problem))
  if (introduced.kind === 'unreadable')
    return answerToResponse(
      taskRefusedAnswer(
        'agents_task_invalid_input',
        introduced.remedy ?? `the task cannot be read: ${introduced.reason}`,
      ),
    )
  const { at, arrived } = introduced
  const mayUse = executionTargetsOfConnection(deps, at).filter(({ id }) => hasNoTokenForOtherAgent(arrived, id))
  const [target] = orderFittingTargets(mayUse, wish.placement)
  if (target === undefined)
    return answerToResponse(
      taskRefusedAnswer('agents_task_no_handler', 'no target fits; look with list-execution-targets'),
    )
  const by = { subject: arrived.subject ?? null }
  const [acceptance] = await deps.gateway.take(
    at,
    [toTaskMessage(arrived, wish, target)],
    deps.gateway.enter(context.req.header('traceparent')),
  )
  const taskId = await at.tasks.ofMessageId(taskMessageId(wish.runId), by)
  const found = taskId === undefined ? undefined : await at.tasks.read(taskId, by)
  if (acceptance?.kind !== 'accepted') return answerToResponse(taskNotAcceptedAnswer(acceptance, found))
  if (found === undefined) return answerToResponse(taskRunNotFoundAnswer())
  return respondWithTaskResult(deps, context, at, found)
}

/** A caller that can wait says so (RFC 7240): then the answer is the end of it, if it comes in time. */
async function respondWithTaskResult(
  deps: Deps,
  context: Context,
  at: ApiCaller['at'],
  found: TaskSnapshot,
): Promise<Response> {
  const seconds = Number(/(?:^|[,;\s])wait=(\d{1,3})/.exec(context.req.header('prefer') ?? '')?.[1] ?? 0)
  const waitMs = Math.min(seconds * 1000, maxWaitMs, deps.watchMs)
  const by = { subject: found.task.owner }
  const now =
    waitMs === 0
      ? found
      : ((await at.tasks.settled(found.task.id, by, { timeoutMs: waitMs }, context.req.raw.signal)) ?? found)
  return answerToResponse(taskTakenAnswer(taskResult(now), isFinalState(now.task.state)))
}

function taskNotAcceptedAnswer(
  acceptance: { readonly kind: string; readonly reason?: string } | undefined,
  found: TaskSnapshot | undefined,
) {
  const isAgain = acceptance?.kind === 'duplicate' || acceptance?.reason === 'id_taken'
  if (!isAgain)
    return taskRefusedAnswer(
      'agents_task_invalid_input',
      `the task was not taken: ${acceptance?.reason ?? 'unreadable'}`,
    )
  const result = found === undefined ? {} : { result: taskResult(found) }
  return taskRefusedAnswer(
    'agents_task_run_already_started',
    'this run_id was used before; read it with get-task-run, or use another',
    result,
  )
}

function taskRunNotFoundAnswer() {
  return taskRefusedAnswer(
    'agents_task_run_not_found',
    'no such task run of yours; give the run_id it was started with',
  )
}

/** Read as a run of the same thread would be, so that who speaks and what they may attach is judged by the same code. */
function buildRunRequestFromTask(wish: TaskOrder | undefined): JsonObject {
  const { runId, sessionId, words, attachments } = wish ?? {
    runId: 'none',
    sessionId: 'none',
    words: 'none',
    attachments: [],
  }
  const files = attachments.map(({ mime_type: mimeType, url = null, data = null, name = null }) => ({
    type: 'binary',
    mimeType,
    url,
    data,
    filename: name,
  }))
  const content = [...(words === '' ? [] : [{ type: 'text', text: words }]), ...files]
  return { threadId: sessionId, runId, messages: [{ id: taskMessageId(runId), role: 'user', content }] }
}

function taskMessageId(runId: string): string {
  return `task:${runId}`
}

function toTaskMessage(arrived: InboundMessage, wish: TaskOrder, target: ExecutionTarget): InboundMessage {
  const { taskId, runId, sessionId, payload } = wish
  return {
    ...arrived,
    agent: target.id,
    isAddressed: true,
    // One run id is one run, whatever else is said differently the second time.
    semanticId: JSON.stringify(['task', runId]),
    isIdForAllAgents: true,
    mustReplyIndividually: 'task',
    isExclusive: false,
    task: {
      contextId: sessionId,
      payload,
      dialect,
      metadata: { run_id: runId, session_id: sessionId, task_id: taskId, metadata: payload['metadata'] ?? {} },
    },
  }
}

function executionTargetsOfConnection(
  { agents }: Deps,
  { isShared, connection }: ApiCaller['at'],
): readonly ExecutionTarget[] {
  return agents.filter(({ slug }) => isShared || slug === connection.agent).map(executionTarget)
}

function hasNoTokenForOtherAgent({ message }: InboundMessage, agent: string): boolean {
  return !(message.sender.identities ?? []).some((evidence) => isTokenForOtherAgent(evidence, agent))
}

async function findTaskRun(
  { at, subject }: ApiCaller,
  { run_id: runId, session_id: sessionId }: { readonly run_id: string; readonly session_id?: string | undefined },
): Promise<TaskSnapshot | undefined> {
  const id = await at.tasks.ofMessageId(taskMessageId(runId), { subject })
  const found = id === undefined ? undefined : await at.tasks.read(id, { subject })
  const isAskedRun = (task: Task): boolean =>
    task.dialect === dialect && (sessionId === undefined || task.contextId === sessionId)
  return found !== undefined && isAskedRun(found.task) ? found : undefined
}

// What is wrong with the body of a request is told once it is known who asks.

export type TaskBody =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'too_large' | 'other_type' }

async function readTaskBody(context: Context, maxBytes: number): Promise<TaskBody> {
  const bytes = await readBody(context.req.raw, maxBytes)
  if (bytes === undefined) return { kind: 'too_large' }
  if (!isJsonType(context.req.header('content-type'))) return { kind: 'other_type' }
  const parsed = parseBoundedJson(bytes)
  return { kind: 'read', value: parsed.ok ? parsed.value : undefined }
}

const example = {
  schema: 'agents-api/task-result/v1',
  run_id: 'run-7',
  session_id: 'orders',
  status: 'succeeded',
  executor_id: 'demo',
  execution_metrics: { wall_time_ms: 412 },
  artifact_refs: [],
  diagnostics: {},
  events: [],
  provenance: { gateway: 'parley' },
  output: { text: 'Done.' },
  started_at: '2026-01-31T08:00:00.000Z',
  updated_at: '2026-01-31T08:00:00.412Z',
  metadata: {},
}

export const tasks = defineResource({
  name: 'tasks',
  tag: 'Tasks',
  audience: 'caller',
  operations: {
    run: defineOperation({
      method: 'post',
      path: '/api/v1/tasks/run-task',
      id: 'runTask',
      summary: 'Hands a task to an agent',
      about:
        'Idempotent by run_id: sent twice it runs once, and the second answer is 409 agents_task_run_already_started with the result so far. Placement keys may also stand at the top level.',
      headers: { prefer: 'wait=20: answer when it is done, at most so many seconds later (RFC 7240)' },
      body: {
        schema: taskInputSchema,
        maxBytes: Number.POSITIVE_INFINITY,
        remedy: 'send a task',
        example: {
          task: { id: 'order-7', instructions: 'Say when it arrives.' },
          run_id: 'run-7',
          placement: { preferred_target: 'demo' },
        },
      },
      returns: 'It has ended',
      output: taskResultSchema,
      example,
      answers: {
        202: {
          what: 'It was taken',
          schema: taskResultSchema,
          example: { ...example, status: 'queued', output: null },
        },
      },
      problems: [409, 413, 422],
      // Who asks is judged before what is asked.
      respond: runTask,
    }),
    targets: defineOperation({
      method: 'get',
      path: '/api/v1/tasks/list-execution-targets',
      id: 'listExecutionTargets',
      summary: 'Who executes tasks: every agent',
      query: targetsQuery,
      returns: 'Those that fit, the preferred one first',
      output: targetsSchema,
      handle({ deps, context, query }) {
        const targets = orderFittingTargets(executionTargetsOfConnection(deps, getApiCaller(context).at), {
          preferred: query.preferred_target,
          allowed: query.allowed_targets ?? [],
          resourceClass: query.resource_class ?? 'generic',
          capabilities: query.required_capabilities ?? [],
        })
        return { targets }
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/api/v1/tasks/get-task-run',
      id: 'getTaskRun',
      summary: 'How a task run of your own stands',
      query: taskRunQuery,
      returns: 'Its result so far',
      output: taskResultSchema,
      example,
      problems: [404],
      async handle({ context, query }) {
        const found = await findTaskRun(getApiCaller(context), query)
        return found === undefined ? answerToResponse(taskRunNotFoundAnswer()) : taskResult(found)
      },
    }),
    cancel: defineOperation({
      method: 'post',
      path: '/api/v1/tasks/cancel-task-run',
      id: 'cancelTaskRun',
      summary: 'Stops a task run of your own',
      body: {
        schema: cancelTaskSchema,
        maxBytes: 4096,
        remedy: 'send {"run_id": "…"} as JSON',
        example: { run_id: 'run-7' },
      },
      returns: 'Whether there was anything to stop',
      output: cancelledTaskSchema,
      problems: [404],
      async handle({ context, body }) {
        const caller = getApiCaller(context)
        const found = await findTaskRun(caller, body)
        if (found === undefined) return answerToResponse(taskRunNotFoundAnswer())
        const outcome = await caller.at.tasks.cancel(found.task.id, caller)
        const now = (await caller.at.tasks.read(found.task.id, caller)) ?? found
        return { cancelled: outcome === 'cancelled', result: taskResult(now) }
      },
    }),
  },
})
