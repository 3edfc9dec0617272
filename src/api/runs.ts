// Runs over HTTP: listed, shown, followed, stopped. Only operators read them, so nothing is left out.
import type { Context, Hono } from 'hono'
import { type RunResult, readRunResult } from '../agents/loop/run-result.ts'
import { GatewayError, type JsonObject } from '../contract/index.ts'
import type { Run, RunEvent } from '../db/runs.ts'
import type { Gateway } from '../gateway.ts'
import { actorName, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { idPattern, limitParam, nextPageMark } from './request-input.ts'
import type { CancelledRun } from './schemas.ts'

/** Open streams of this process; each asks the database a few times a second. */
const maxWatchers = 100
/** No run has a longer name, so one that is cut names no run. */
const maxIdLength = 1024
const knownRunStatuses =
  'running, completed, failed, cancelled, interrupted, approval_required, runtime_tool_pending, budget_exceeded, stalled, incomplete'

export function addRunRoutes(app: Hono, deps: AppDeps): void {
  const watchers = { count: 0 }
  app.get('/admin/runs', (context) => listRuns(deps, context))
  app.get('/admin/runs/:id', async (context) => context.json({ run: runView(await requireRun(deps, context)) }))
  app.get('/admin/runs/:id/events', async (context) => {
    const run = await requireRun(deps, context)
    const wantsStream = (context.req.header('accept') ?? '').includes('text/event-stream')
    return wantsStream ? answerEventStream(deps, context, run, watchers) : answerEventPage(deps, context, run)
  })
  for (const verb of ['cancel', 'stop']) {
    app.post(`/admin/runs/:id/${verb}`, async (context) => {
      const id = runIdParam(context)
      const outcome = await requestRunCancel(deps, context, { id }, () => findRunById(deps, id))
      if (outcome === undefined) throw runNotFound()
      return context.json(outcome)
    })
  }
}

async function listRuns({ gateway }: AppDeps, context: Context): Promise<Response> {
  const { before, status } = context.req.query()
  const size = limitParam(context)
  if (before !== undefined && !idPattern.test(before))
    throw new GatewayError('bad_request', 'before must be the next of the page before, the id of a run')
  if (status !== undefined && !knownRunStatuses.split(', ').includes(status))
    throw new GatewayError('bad_request', `status must be one of ${knownRunStatuses}`)
  const runs = await gateway.runs.list({ limit: size, before: before ?? null, status: status ?? null })
  return context.json({ runs, next: nextPageMark(runs, size, (run) => run.id) })
}

/** `next` is always where to go on from, also when there was nothing new. */
async function answerEventPage({ gateway }: AppDeps, context: Context, run: Run): Promise<Response> {
  const from = readEventCursor(context.req.query('after'))
  const size = limitParam(context)
  const rows = await gateway.runs.events(run.id, from, size)
  const events = rows.map(({ event, ...row }) => ({ ...row, ...event }))
  return context.json({ events, next: rows.at(-1)?.seq ?? from, isOver: isRunOver(run) && rows.length < size })
}

function answerEventStream(deps: AppDeps, context: Context, run: Run, watchers: { count: number }): Response {
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

function runIdParam(context: Context): string {
  return (context.req.param('id') ?? '').slice(0, maxIdLength + 1)
}

async function requireRun(deps: AppDeps, context: Context): Promise<Run> {
  const run = await findRunById(deps, runIdParam(context))
  if (run === undefined) throw runNotFound()
  return run
}

async function findRunById({ gateway }: AppDeps, id: string): Promise<Run | undefined> {
  const [run, other] = await gateway.runs.find(id)
  if (run !== undefined && other !== undefined && run.id !== id)
    throw new GatewayError('conflict', 'several runs are called this; give the id, as GET /admin/runs shows it')
  return run
}

function runNotFound(): GatewayError {
  return new GatewayError('not_found', 'no such run; list them with GET /admin/runs')
}

/** The last event that was seen; -1: none yet. */
function readEventCursor(text: string | undefined): number {
  if (text === undefined || text === '' || text === '-1') return -1
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new GatewayError('bad_request', 'after, or Last-Event-ID, must be the number of an event, as the list shows it')
}

// A run is stopped by its owner or an operator, while it goes on, while it is paused, and while it still waits for its turn.

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

type Runs = Pick<Gateway, 'runs' | 'waitForEvents'>

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
    const [run] = await gateway.runs.find(id)
    const events = await gateway.runs.events(id, after, batchSize)
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

export type RunView = RunResult & {
  readonly id: string
  readonly agent: string
  readonly connection: string
  readonly owner: string | null
  readonly session_id: string | null
  readonly conversation_id: string
  readonly attempt: number
  /** The run it went on with, after a pause. */
  readonly resumes: string | null
  readonly last_seq: number | null
}

function runView(run: Run): RunView {
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
