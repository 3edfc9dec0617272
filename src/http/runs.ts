// The operator's view of runs: listed, shown, followed, stopped. Only operators read them, so nothing is left out.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import type { Run } from '../db/runs.ts'
import { requestRunCancel } from './cancel-run.ts'
import type { AppDeps } from './deps.ts'
import { isRunOver, streamRunEvents } from './follow-run.ts'
import { idPattern, limitParam, nextPageMark } from './query.ts'
import { runView } from './run-view.ts'

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
