// What belongs to the caller of the API: their sessions, what their paused runs wait for, and the stop of a run. The same code
// as behind the operator's routes, for one owner.
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { addApprovalRoutes } from './admin-approvals.ts'
import { addSessionRoutes } from './admin-sessions.ts'
import { keptCaller } from './admin-token.ts'
import { addToolRequestRoutes } from './admin-tool-requests.ts'
import { admitOwner } from './admit-owner.ts'
import { cancelRun } from './cancel-run.ts'
import type { AppDeps } from './deps.ts'

export const ownBase = '/api/v1/agent'
const doors = ['sessions/*', 'approvals/*', 'tool-requests/*', 'runs/:id/cancel']
/** No run has a longer name, so one that is cut names no run. */
const maxIdLength = 256

export function addOwnRoutes(app: Hono, deps: AppDeps): void {
  for (const door of doors) app.use(`${ownBase}/${door}`, (context, next) => admitOwner(deps, context, next))
  addSessionRoutes(app, deps, ownBase)
  addApprovalRoutes(app, deps, ownBase)
  addToolRequestRoutes(app, deps, ownBase)
  app.post(`${ownBase}/runs/:id/cancel`, (context) => cancelOwn(deps, context))
}

async function cancelOwn(deps: AppDeps, context: Context): Promise<Response> {
  const id = (context.req.param('id') ?? '').slice(0, maxIdLength + 1)
  const caller = keptCaller(context)
  const owner = caller.kind === 'owner' ? caller.principal : undefined
  const find = async () => {
    const [run, other] = await deps.gateway.runs.find(id, owner)
    // Ids are the caller's own choice: the same one in two threads names two runs, and the newer is meant.
    return other !== undefined && other.id === id ? other : run
  }
  const outcome = await cancelRun(deps, context, { id, owner }, find)
  if (outcome === undefined)
    throw new GatewayError('not_found', 'no such run of yours; give the runId it was sent with')
  return context.json(outcome)
}
