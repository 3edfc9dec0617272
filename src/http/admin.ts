// The operator's routes: the books, the dead, the deliveries. On this machine only, with a token.
import type { Context, Hono, Next } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { holdsAdminToken } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { addExplainRoute } from './explain.ts'

const failedStates = ['unknown', 'refused', 'dead'] as const
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function addAdminRoutes(app: Hono, deps: AppDeps): void {
  app.use('/admin/*', (context, next) => requireOperator(deps, context, next))
  app.get('/admin/books', async (context) => context.json({ books: await deps.receipts.books() }))
  addExplainRoute(app, deps)
  for (const state of ['dead', 'refused', 'ignored'] as const) {
    app.get(`/admin/${state}`, async (context) =>
      context.json({ [state]: await deps.receipts.list(state, limitOf(context)) }),
    )
  }
  app.post('/admin/dead/:id/resubmit', async (context) =>
    done(deps, context, await deps.gateway.resubmit(idOf(context))),
  )
  app.get('/admin/deliveries', async (context) => {
    const states = context.req.query('state')?.split(',') ?? failedStates
    return context.json({ deliveries: await deps.deliveries.list(states, limitOf(context)) })
  })
  app.get('/admin/deliveries/:id', async (context) => {
    const delivery = await deps.deliveries.show(idOf(context))
    if (delivery === undefined)
      throw new GatewayError('not_found', 'no such delivery; list them with GET /admin/deliveries')
    return context.json({ delivery })
  })
  app.post('/admin/deliveries/:id/retry', async (context) =>
    done(deps, context, await deps.deliveries.retry(idOf(context))),
  )
  app.post('/admin/deliveries/:id/drop', async (context) =>
    done(deps, context, await deps.deliveries.drop(idOf(context))),
  )
}

async function requireOperator(deps: AppDeps, context: Context, next: Next): Promise<void> {
  if (!(deps.mayOperate ?? deps.isLoopback)(context))
    throw new GatewayError('not_found', 'the operator routes answer on the gateway machine only')
  if (!holdsAdminToken(deps, context)) {
    throw new GatewayError(
      'unauthorized',
      'send Authorization: Bearer with the admin token (PARLEY_ADMIN_TOKEN, or admin-token in the data folder)',
    )
  }
  await next()
}

function done(deps: AppDeps, context: Context, isDone: boolean): Response {
  if (!isDone) throw new GatewayError('conflict', 'nothing to do: it does not exist, or it is not in a failed state')
  deps.wake()
  return context.json({ ok: true })
}

function limitOf(context: Context): number {
  const asked = Number(context.req.query('limit') ?? 50)
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, 500) : 50
}

function idOf(context: Context): string {
  const id = context.req.param('id') ?? ''
  if (!idPattern.test(id)) throw new GatewayError('bad_request', 'the id must be a UUID as the lists show it')
  return id
}
