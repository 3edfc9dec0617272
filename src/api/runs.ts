// Runs: listed, shown, followed, stopped. Only operators read them, so nothing is left out.

import type { Context } from 'hono'
import * as z from 'zod'
import { readRunResult, runResultSchemaId, runStatuses } from '../agents/loop/run-result.ts'
import type { Run, RunEvent } from '../db/runs.ts'
import { cancelRun, findRuns, findWaitingRun, listRunEvents, listRuns } from '../db/runs.ts'
import type { Gateway } from '../gateway.ts'
import { GatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { actorName, auditCallerAction, getAdmittedCaller } from './admin-access.ts'
import { exampleId, type ResourceCommands } from './command.ts'
import type { AppDeps } from './deps.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  fieldsSchema,
  idPageQuerySchema,
  instantSchema,
  nextId,
  type OperationRequest,
  wholeNumberSchema,
} from './resource.ts'

/** Open streams of this process; each asks the database a few times a second. */
const maxWatchers = 100
const watchers = { count: 0 }
/** No run has a longer name, so one that is cut names no run. */
const maxIdLength = 1024
const maxOwnIdLength = 256
const listedStatuses = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'interrupted',
  'approval_required',
  'runtime_tool_pending',
  'budget_exceeded',
  'stalled',
  'incomplete',
] as const

const truncatedRunIdSchema = (max: number) => z.string().transform((id) => id.slice(0, max + 1))
const anyRun = {
  id: truncatedRunIdSchema(maxIdLength).meta({ description: 'The id of a run, or the id its client gave it' }),
}

const runLineSchema = z
  .object({
    id: z.uuid(),
    runId: z.string().meta({ description: 'What its client calls it' }),
    agent: z.string(),
    connection: z.string(),
    conversationId: z.string(),
    sessionId: z.string().nullable(),
    owner: z.string().nullable(),
    status: z.string(),
    stopReason: z.string().nullable(),
    attempt: z.number().int(),
    resumes: z.string().nullable().meta({ description: 'The run it went on with, after a pause' }),
    createdAt: instantSchema,
    endedAt: instantSchema.nullable(),
    cancelRequestedAt: instantSchema.nullable(),
    cancelledBy: z.string().nullable(),
  })
  .meta({ id: 'RunLine', description: 'A run in a list' })

const runSchema = z
  .object({
    schema: z.literal(runResultSchemaId),
    version: z.literal(1),
    run_id: z.string(),
    status: z.enum(runStatuses),
    outputs: fieldsSchema,
    artifact_refs: z.array(fieldsSchema),
    evidence_refs: z.array(fieldsSchema),
    logs: z.array(fieldsSchema),
    replay: fieldsSchema,
    provenance: fieldsSchema,
    timestamps: fieldsSchema,
    error: fieldsSchema,
    cancellation: fieldsSchema,
    metadata: fieldsSchema,
    id: z.uuid(),
    agent: z.string(),
    connection: z.string(),
    owner: z.string().nullable(),
    session_id: z.string().nullable(),
    conversation_id: z.string(),
    attempt: z.number().int(),
    resumes: z.string().nullable().meta({ description: 'The run it went on with, after a pause' }),
    last_seq: z.number().int().nullable(),
  })
  .meta({ id: 'Run', description: `${runResultSchemaId}, and beside it what only this gateway knows` })

/** An event stands beside its number as the agent runtime wrote it. */
const runEventSchema = z
  .looseObject({
    seq: z.number().int(),
    attempt: z.number().int(),
    createdAt: instantSchema,
    type: z.string().optional(),
  })
  .meta({ id: 'RunEvent' })

const cancelledSchema = z
  .object({
    ok: z.boolean().meta({ description: 'Whether there was anything to stop' }),
    id: z.uuid(),
    outcome: z.enum(['stopping', 'cancelled', 'over']),
    status: z.string(),
  })
  .meta({ id: 'CancelledRun' })
export type CancelledRun = z.infer<typeof cancelledSchema>

async function cancelRunAsOperator({ deps, context, params: { id } }: OperationRequest<'/:id', typeof anyRun>) {
  const outcome = await requestRunCancel(deps, context, { id }, () => findRunById(deps, id))
  if (outcome === undefined) throw runNotFoundError()
  return outcome
}

const cancelFacts = {
  method: 'post',
  summary: 'Stops a run',
  params: anyRun,
  returns: 'What became of it',
  output: cancelledSchema,
  problems: [404, 409],
  handle: cancelRunAsOperator,
} as const

export const runs = defineResource({
  name: 'runs',
  tag: 'Operator: runs',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/runs',
      id: 'listRuns',
      summary: 'Lists runs, newest first',
      scopes: ['admin', 'read'],
      query: idPageQuerySchema().extend({
        status: z.enum(listedStatuses).optional().meta({ description: 'Only these' }),
      }),
      output: z.object({ runs: z.array(runLineSchema), next: nextId }),
      async handle({ deps, query: { limit, before = null, status = null } }) {
        const found = await listRuns(deps.gateway.db, { limit, before, status })
        return { runs: found, next: createNextPageMark(found, limit, (run) => run.id) }
      },
    }),
    get: defineOperation({
      method: 'get',
      path: '/admin/runs/:id',
      id: 'getRun',
      summary: 'Shows a run',
      scopes: ['admin', 'read'],
      params: anyRun,
      output: z.object({ run: runSchema }),
      problems: [404, 409],
      handle: async ({ deps, params }) => ({ run: runView(await requireRun(deps, params.id)) }),
    }),
    events: defineOperation({
      method: 'get',
      path: '/admin/runs/:id/events',
      id: 'followRun',
      summary: 'The log of a run, as a page or as a stream',
      params: anyRun,
      query: z.object({
        limit: wholeNumberSchema(1, 500).default(50),
        after: z.string().optional().meta({ description: 'The number of the last event seen' }),
      }),
      headers: { accept: 'text/event-stream for a stream', 'last-event-id': 'The last event seen' },
      returns: 'Events; next is always where to go on from',
      output: z.object({ events: z.array(runEventSchema), next: z.number().int(), isOver: z.boolean() }),
      mediaType: 'text/event-stream',
      problems: [404, 409, 503],
      async handle({ deps, context, params, query: { limit, after } }) {
        const run = await requireRun(deps, params.id)
        const wantsStream = (context.req.header('accept') ?? '').includes('text/event-stream')
        if (wantsStream) return answerEventStream(deps, context, run)
        const from = readEventCursor(after)
        const rows = await listRunEvents(deps.gateway.db, run.id, from, limit)
        const events = rows.map(({ event, ...row }) => ({ ...row, ...event }))
        return { events, next: rows.at(-1)?.seq ?? from, isOver: isRunOver(run) && rows.length < limit }
      },
    }),
    cancel: defineOperation({ ...cancelFacts, path: '/admin/runs/:id/cancel', id: 'cancelAnyRun' }),
    stop: defineOperation({ ...cancelFacts, path: '/admin/runs/:id/stop', id: 'stopAnyRun' }),
    cancelOwn: defineOperation({
      method: 'post',
      path: '/api/v1/agent/runs/:id/cancel',
      id: 'cancelRun',
      summary: 'Stops a run of your own',
      audience: 'owner',
      tag: 'What is yours',
      params: { id: truncatedRunIdSchema(maxOwnIdLength).meta({ description: 'The runId it was sent with' }) },
      returns: 'Whether it stops, was paused and is over, or had ended before',
      output: cancelledSchema,
      example: { ok: true, id: '0198f0d2-5f1e-7c3a-9a3b-000000000001', outcome: 'stopping', status: 'running' },
      problems: [404],
      async handle({ deps, context, params: { id } }) {
        const caller = getAdmittedCaller(context)
        const owner = caller.kind === 'owner' ? caller.principal : undefined
        const findOwnRun = async () => {
          const [run, other] = await findRuns(deps.gateway.db, id, owner)
          // Ids are the caller's own choice: the same one in two threads names two runs, and the newer is meant.
          return other !== undefined && other.id === id ? other : run
        }
        const outcome = await requestRunCancel(deps, context, { id, owner }, findOwnRun)
        if (outcome === undefined)
          throw new GatewayError('not_found', 'no such run of yours; give the runId it was sent with')
        return outcome
      },
    }),
  },
})

const runWord = { id: 'Id of a run, as the list shows it, or the id its client gave it' }

export const runsCommands = () =>
  ({
    description: 'What agents are at, what they did, and how to stop them.',
    examples: ['parley runs list --status running', `parley runs cancel ${exampleId}`],
    commands: {
      list: {
        name: 'list',
        description: 'List runs, newest first.',
        examples: ['parley runs list', 'parley runs list --status running --json'],
        rows: 'runs',
        columns: {
          ID: 'id',
          AGENT: 'agent',
          STATUS: 'status',
          CONNECTION: 'connection',
          OWNER: 'owner',
          STARTED: 'createdAt',
          ENDED: 'endedAt',
        },
        empty: 'No runs.',
      },
      get: {
        name: 'show',
        description: 'Show one run: how it stands, what it used, who stopped it.',
        examples: [`parley runs show ${exampleId}`],
        about: runWord,
        text: ({ run }) => JSON.stringify(run, null, 2).split('\n'),
      },
      cancel: {
        name: 'cancel',
        description: 'Stop a run: its step in flight ends, nothing new begins. One that is paused is over at once.',
        examples: [`parley runs cancel ${exampleId}`],
        about: runWord,
        text: ({ outcome, status }) =>
          ({
            stopping: 'Stopping; it ends before its next step.',
            cancelled: 'Cancelled.',
            over: `It was already over: ${status}.`,
          })[outcome],
      },
    },
  }) as const satisfies ResourceCommands<typeof runs>

function answerEventStream(deps: AppDeps, context: Context, run: Run): Response {
  if (watchers.count >= maxWatchers)
    throw new GatewayError(
      'too_many_watchers',
      `${maxWatchers} runs are being watched here; ask again, or without a stream`,
    )
  const after = readEventCursor(context.req.header('last-event-id') ?? context.req.query('after'))
  watchers.count += 1
  const { body, closed } = streamRunEvents(deps.gateway, run, after)
  deps.keepOpen?.(closed)
  void closed.finally(() => {
    watchers.count -= 1
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  })
}

async function requireRun(deps: AppDeps, id: string): Promise<Run> {
  const run = await findRunById(deps, id)
  if (run === undefined) throw runNotFoundError()
  return run
}

async function findRunById({ gateway }: AppDeps, id: string): Promise<Run | undefined> {
  const [run, other] = await findRuns(gateway.db, id)
  if (run !== undefined && other !== undefined && run.id !== id)
    throw new GatewayError('conflict', 'several runs are called this; give the id, as GET /admin/runs shows it')
  return run
}

function runNotFoundError(): GatewayError {
  return new GatewayError('not_found', 'no such run; list them with GET /admin/runs')
}

/** The last event that was seen; -1: none yet. */
function readEventCursor(text: string | undefined): number {
  if (text === undefined || text === '' || text === '-1') return -1
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new GatewayError('bad_request', 'after, or Last-Event-ID, must be the number of an event, as the list shows it')
}

// A run is stopped by its owner or an operator, while it goes on, while it is paused, and while it still waits for its turn.

type Deps = Pick<AppDeps, 'db' | 'gateway' | 'wake'>

/** `owner`: only theirs. */
export type RunCancelRequest = { readonly id: string; readonly owner?: string | undefined }

/** `find`: the run, once it has begun. Undefined: there is none, begun or waiting. */
async function requestRunCancel(
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
  const outcome = await cancelRun(deps.gateway.db, run.id, actorName(context))
  // A lane that no process holds is due at once.
  deps.wake()
  const { kind, status } = outcome ?? { kind: 'over' as const, status: run.status }
  if (kind === 'over')
    await auditCallerAction(deps, context, { action: 'run.cancel', outcome: 'refused', code: 'over', objectId: run.id })
  return { ok: kind !== 'over', id: run.id, outcome: kind, status }
}

/** What has not begun goes by its task, which is over from here on: a turn that opens all the same finds it so. */
async function cancelQueuedRun(
  deps: Deps,
  context: Context,
  { id, owner }: RunCancelRequest,
): Promise<CancelledRun | undefined> {
  const waiting = await findWaitingRun(deps.gateway.db, id, owner)
  const at = deps.gateway.connections.find(({ key }) => key === waiting?.connection)
  if (waiting === undefined || at === undefined) return undefined
  const { taskId, subject } = waiting
  if ((await at.tasks.cancel(taskId, { subject })) !== 'cancelled') return undefined
  await auditCallerAction(deps, context, { action: 'run.cancel', outcome: 'cancelled', objectId: taskId })
  return { ok: true, id: taskId, outcome: 'cancelled', status: 'cancelled' }
}

// The event stream of a run: what is stored first, then what is stored while a client listens, from any replica. It only reads:
// a client that goes away stops the reading, and can go on at another replica from the last number it saw.

export type RunEventStream = {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the client has left, or there is nothing more to hear. */
  readonly closed: Promise<void>
}

const batchSize = 200
/** Events stored by this process wake at once; those of another are found by asking. */
const pollMs = 500
const heartbeatMs = 15_000

type Runs = Pick<Gateway, 'db' | 'waitForEvents'>

/** Paused runs are over: what comes of them is a run of its own. */
function isRunOver({ status }: Pick<Run, 'status'>): boolean {
  return status !== 'running'
}

function streamRunEvents(gateway: Runs, run: Run, after: number): RunEventStream {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const encoder = new TextEncoder()
  let seen = after
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    // Asked for when the listener has read what it was given: a slow one is not written ahead of.
    async pull(controller) {
      try {
        const { text, isLast, lastSeq } = await nextEventFrames(gateway, run.id, seen, () => isCancelled)
        seen = lastSeq
        if (isCancelled) return
        controller.enqueue(encoder.encode(text))
        if (!isLast) return
        controller.close()
        close()
      } catch (error) {
        close()
        throw error
      }
    },
    cancel() {
      isCancelled = true
      close()
    },
  })
  return { body, closed }
}

type Frames = { readonly text: string; readonly lastSeq: number; readonly isLast: boolean }

async function nextEventFrames(gateway: Runs, id: string, after: number, isGone: () => boolean): Promise<Frames> {
  for (let waitedMs = 0; waitedMs < heartbeatMs && !isGone(); waitedMs += pollMs) {
    // In this order: what ended the run was stored with its last events.
    const [run] = await findRuns(gateway.db, id)
    const events = await listRunEvents(gateway.db, id, after, batchSize)
    const lastSeq = events.at(-1)?.seq ?? after
    const isLast = (run === undefined || isRunOver(run)) && events.length < batchSize
    const end = isLast ? runEndFrame(run?.status ?? 'forgotten') : ''
    if (events.length > 0 || isLast) return { text: events.map(runEventFrame).join('') + end, lastSeq, isLast }
    await gateway.waitForEvents(pollMs)
  }
  return { text: ': still running\n\n', lastSeq: after, isLast: false }
}

/** JSON has no line breaks of its own, so one data line holds it. */
function runEventFrame({ seq, attempt, createdAt, event }: RunEvent): string {
  const name = typeof event['type'] === 'string' ? event['type'].replace(/[^\w.-]/g, '_') : 'event'
  return `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify({ seq, attempt, createdAt, ...event })}\n\n`
}

function runEndFrame(status: string): string {
  return `event: end\ndata: ${JSON.stringify({ status })}\n\n`
}

// One run as JSON: `agents-api/run-result/v1`, and beside it what only this gateway knows.

function runView(run: Run) {
  const { summary, usage, budgets, cancelRequestedAt, cancelledBy } = run
  const isStopping = run.status === 'running' && cancelRequestedAt !== null
  const result = readRunResult({
    run_id: run.runId,
    status: isStopping ? 'cancelling' : run.status,
    timestamps: { started_at: run.createdAt, ...(run.endedAt === null ? {} : { ended_at: run.endedAt }) },
    error: runError(run),
    cancellation:
      cancelRequestedAt === null ? {} : { requested_at: cancelRequestedAt, requested_by: cancelledBy ?? '' },
    metadata: { ...summary, usage, budgets, ...(run.stopReason === null ? {} : { stop_reason: run.stopReason }) },
  })
  return {
    ...result,
    id: run.id,
    agent: run.agent,
    connection: run.connection,
    owner: run.owner,
    session_id: run.sessionId,
    conversation_id: run.conversationId,
    attempt: run.attempt,
    resumes: run.resumes,
    last_seq: run.lastSeq,
  }
}

function runError({ status, stopReason, summary }: Run): JsonObject {
  return status === 'failed' ? { code: summary['failure_type'] ?? stopReason ?? 'failed' } : {}
}
