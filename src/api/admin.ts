// The admin routes: the ledger, dead letters, deliveries, runs, explain; and those that also show people what is theirs. On this
// machine only, with a token.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { GatewayError, type Page } from '../contract/index.ts'
import { actorName, admitCaller, getAdmittedCaller, recordAct, recordRefusedCallers } from './admin-access.ts'
import { agentView } from './agents.ts'
import { addApprovalRoutes } from './approvals.ts'
import { addAdminAttachmentRoutes } from './attachments.ts'
import { addAuditRoutes, addRejectedRoute } from './audit.ts'
import { addConnectionRoutes, addOperationRoutes } from './connections.ts'
import { addSecretRoutes, addTokenRoutes } from './credentials.ts'
import type { AppDeps } from './deps.ts'
import { withoutErrorTexts } from './explain/explain.ts'
import { addPairingRoutes } from './pairings.ts'
import { addEraseRoute, addGrantRoutes, addPrincipalRoutes } from './people.ts'
import { idParam, limitParam, nextPageMark, readJsonRequest, wholeNumberParam } from './request-input.ts'
import { addRunRoutes } from './runs.ts'
import { addSessionRoutes, addSessionTakeoverRoutes } from './sessions.ts'
import { addToolRequestRoutes } from './tool-requests.ts'

// Many failed calls can be retried at once: after an outage of a platform there are too many to name one by one.

export const retryBody = {
  schema: z.strictObject({
    state: z.enum(['unknown', 'refused', 'dead']),
    since: z.iso.datetime({ offset: true }).meta({ description: 'Those that ended then or later' }),
    connection: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ description: 'Only of this one, as parley stats names it' }),
    limit: z.number().int().min(1).max(500).default(100).meta({ description: 'How many at most, the oldest first' }),
    dry_run: z.boolean().default(false).meta({ description: 'Only counts; nothing is sent' }),
  }),
  maxBytes: 2048,
  remedy:
    'send {"state": "unknown", "since": "2026-01-31T08:00:00Z"}, and connection, limit (1 to 500) or dry_run if you like',
} as const

export const retriedSchema = z.object({
  matching: z.number().int().meta({ description: 'How many there were before, counted up to 10,000' }),
  retried: z.number().int().meta({ description: 'How many are sent again; ask once more for the rest' }),
})

function addRetryRoute(app: Hono, { deliveries, wake }: Pick<AppDeps, 'deliveries' | 'wake'>): void {
  app.post('/admin/deliveries/retry', async (context) => {
    const { limit, dry_run, ...asked } = await readJsonRequest(context, retryBody)
    const failed = { ...asked, connection: asked.connection ?? null }
    const matching = await deliveries.countFailed(failed)
    let retried = 0
    // Each in a commit of its own, as one by one: an operator who is interrupted asks again, and finds the rest.
    for (const id of dry_run ? [] : await deliveries.findFailed(failed, limit))
      if (await deliveries.retry(id, actorName(context))) retried += 1
    if (retried > 0) wake()
    return context.json({ matching, retried })
  })
}

/** `bounced`: delivered, and a server on the way said that it came back or is late. */
/** Messages that ended without an answer: the route of each state, and the field its list stands in. */
export const endedMessageLists = [
  { state: 'dead', path: '/admin/dead-letters', name: 'deadLetters' },
  { state: 'refused', path: '/admin/refused', name: 'refused' },
  { state: 'ignored', path: '/admin/ignored', name: 'ignored' },
] as const

const failedStates = ['unknown', 'refused', 'dead', 'bounced'] as const
const deliveryStates: readonly string[] = [...failedStates, 'queued', 'sending', 'retry', 'delivered', 'cancelled']

const nothingToDoRemedies: Readonly<Record<string, string>> = {
  'message.resubmit':
    'nothing to do: it does not exist, it is not in a failed state, or a message of its turn is gone or was run anew; then anew=true runs this one alone',
}

/** Each below a path of its own. */
const resourceRoutes: readonly ((app: Hono, deps: AppDeps) => void)[] = [
  addRetryRoute,
  addRunRoutes,
  addTokenRoutes,
  addAuditRoutes,
  addRejectedRoute,
  addApprovalRoutes,
  addToolRequestRoutes,
  addSessionRoutes,
  addAdminAttachmentRoutes,
  addPairingRoutes,
  addGrantRoutes,
  addConnectionRoutes,
  addPrincipalRoutes,
  addSessionTakeoverRoutes,
  addEraseRoute,
  addOperationRoutes,
  addSecretRoutes,
]

export function addAdminRoutes(app: Hono, deps: AppDeps): void {
  app.use('/admin/*', (context, next) => recordRefusedCallers(deps, context, next))
  app.use('/admin/*', (context, next) => admitCaller(deps, context, next))
  app.get('/admin/stats', async (context) => context.json({ stats: await deps.receipts.books() }))
  app.get('/admin/agents', (context) =>
    context.json({ agents: deps.agents.map((agent) => agentView(agent, deps.gateway.connections)) }),
  )
  addExplainRoute(app, deps)
  for (const { state, path, name } of endedMessageLists) {
    app.get(path, async (context) => {
      const page = readSeqPage(context)
      return context.json(seqPageBody(name, await deps.receipts.list(state, page), page))
    })
  }
  app.get('/admin/dead-letters/:id/effects', async (context) => {
    if ((await deps.receipts.find(idParam(context))) === undefined)
      throw new GatewayError('not_found', 'no such message; list them with GET /admin/dead-letters')
    return context.json({ effects: await deps.receipts.mayRepeat(idParam(context)) })
  })
  app.post('/admin/dead-letters/:id/resubmit', async (context) => {
    const how = { isAnew: context.req.query('anew') === 'true' }
    return answerChange(
      deps,
      context,
      'message.resubmit',
      await deps.gateway.resubmit(idParam(context), actorName(context), how),
    )
  })
  app.get('/admin/deliveries', async (context) => {
    const page = readSeqPage(context)
    return context.json(seqPageBody('deliveries', await deps.deliveries.list(readDeliveryStates(context), page), page))
  })
  app.get('/admin/deliveries/:id', async (context) => {
    const delivery = await deps.deliveries.show(idParam(context))
    if (delivery === undefined)
      throw new GatewayError('not_found', 'no such delivery; list them with GET /admin/deliveries')
    return context.json({ delivery })
  })
  app.post('/admin/deliveries/:id/retry', async (context) =>
    answerChange(deps, context, 'delivery.retry', await deps.deliveries.retry(idParam(context), actorName(context))),
  )
  app.post('/admin/deliveries/:id/drop', async (context) =>
    answerChange(deps, context, 'delivery.drop', await deps.deliveries.drop(idParam(context), actorName(context))),
  )
  app.post('/admin/replay/:id', async (context) => {
    const asked = context.req.query('fixture')
    const fixture = asked === 'with_text' || asked === 'cleaned' ? asked : 'none'
    const replayed = await deps.replay(idParam(context), { fixture })
    await recordAct(deps, context, {
      action: 'message.replay',
      outcome: 'done',
      inboxId: idParam(context),
      detail: { fixture },
    })
    return context.json({ replay: replayed })
  })
  for (const add of resourceRoutes) add(app, deps)
}

async function answerChange(deps: AppDeps, context: Context, action: string, isDone: boolean): Promise<Response> {
  if (!isDone) {
    await recordAct(deps, context, { action, outcome: 'refused', code: 'nothing_to_do', objectId: idParam(context) })
    throw new GatewayError(
      'conflict',
      nothingToDoRemedies[action] ?? 'nothing to do: it does not exist, or it is not in a failed state',
    )
  }
  deps.wake()
  return context.json({ ok: true })
}

function readSeqPage(context: Context): Page {
  const { before, connection } = context.req.query()
  return {
    limit: limitParam(context),
    before: before === undefined ? null : wholeNumberParam('before', before, Number.MAX_SAFE_INTEGER),
    connection: connection ?? null,
  }
}

function seqPageBody(name: string, rows: readonly { readonly seq: number }[], { limit }: Page): object {
  return { [name]: rows, next: nextPageMark(rows, limit, (row) => row.seq) }
}

function readDeliveryStates(context: Context): readonly string[] {
  const states = context.req.query('state')?.split(',') ?? failedStates
  if (states.every((state) => deliveryStates.includes(state))) return states
  throw new GatewayError('bad_request', `state must be among ${deliveryStates.join(', ')}, several with commas`)
}

// GET /admin/explain/{id}: the whole life of one message, as facts and as a timeline.

const unknownIdRemedy =
  'nothing here goes by that id; give an inbox, turn or outbox id, a message id, the platform id (conversation:message), ' +
  'a delivery id or the id the platform gave to a reply'

function addExplainRoute(app: Hono, { explain }: Pick<AppDeps, 'explain'>): void {
  app.get('/admin/explain/:id', async (context) => {
    const explained = await explain(context.req.param('id'), context.req.query('connection'))
    switch (explained.kind) {
      case 'explained': {
        const caller = getAdmittedCaller(context)
        const seesTexts = caller.kind === 'operator' && caller.mayChange
        const { explanation } = explained
        return context.json({ explanation: seesTexts ? explanation : withoutErrorTexts(explanation) })
      }
      case 'ambiguous':
        return context.json({ candidates: explained.candidates })
      case 'unknown':
        throw new GatewayError('not_found', unknownIdRemedy)
    }
  })
}
