// The operator's routes: the ledger, dead letters, deliveries, runs; and those that also show people what is theirs. On this
// machine only, with a token.
import type { Context, Hono } from 'hono'
import { GatewayError, type Page } from '../contract/index.ts'
import { addApprovalRoutes } from './admin-approvals.ts'
import { addAdminAttachmentRoutes } from './admin-attachments.ts'
import { addAuditRoutes } from './admin-audit.ts'
import { addConnectionRoutes } from './admin-connections.ts'
import { addGrantRoutes } from './admin-grants.ts'
import { addOperationRoutes } from './admin-operations.ts'
import { addPairingRoutes } from './admin-pairings.ts'
import { addPrincipalRoutes } from './admin-principals.ts'
import { addRejectedRoute } from './admin-rejected.ts'
import { addSecretRoutes } from './admin-secrets.ts'
import { addSessionRoutes } from './admin-sessions.ts'
import { addTokenRoutes } from './admin-tokens.ts'
import { addToolRequestRoutes } from './admin-tool-requests.ts'
import { admitCaller } from './admit-caller.ts'
import { agentView } from './agent-view.ts'
import type { AppDeps } from './deps.ts'
import { addExplainRoute } from './explain.ts'
import { addEraseRoute } from './forget.ts'
import { actorName, recordAct } from './note-act.ts'
import { idParam, limitParam, nextPageMark, wholeNumberParam } from './query.ts'
import { recordRefusedCallers } from './refused-callers.ts'
import { addRetryRoute } from './retry-deliveries.ts'
import { addRunRoutes } from './runs.ts'
import { addSessionTakeoverRoutes } from './session-desk.ts'

/** `bounced`: delivered, and a server on the way said that it came back or is late. */
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
  app.get('/admin/books', async (context) => context.json({ books: await deps.receipts.books() }))
  app.get('/admin/agents', (context) =>
    context.json({ agents: deps.agents.map((agent) => agentView(agent, deps.gateway.connections)) }),
  )
  addExplainRoute(app, deps)
  for (const state of ['dead', 'refused', 'ignored'] as const) {
    app.get(`/admin/${state}`, async (context) => {
      const page = readSeqPage(context)
      return context.json(seqPageBody(state, await deps.receipts.list(state, page), page))
    })
  }
  app.get('/admin/dead/:id/effects', async (context) => {
    if ((await deps.receipts.find(idParam(context))) === undefined)
      throw new GatewayError('not_found', 'no such message; list them with GET /admin/dead')
    return context.json({ effects: await deps.receipts.mayRepeat(idParam(context)) })
  })
  app.post('/admin/dead/:id/resubmit', async (context) => {
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
