// What belongs to whoever calls the API: their sessions, what their paused runs wait for, and the stop of a run. The same code
// as behind the operator's routes, for one owner (ruling 43).
import type { Context, Hono } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { addApprovalRoutes } from './admin-approvals.ts'
import { addSessionRoutes } from './admin-sessions.ts'
import { keptCaller } from './admin-token.ts'
import { addToolRequestRoutes } from './admin-tool-requests.ts'
import { admitOwner } from './admit-owner.ts'
import type { AppDeps } from './deps.ts'
import { actorIn, noteAct } from './note-act.ts'

export const ownBase = '/api/v1/agent'
const doors = ['sessions/*', 'approvals/*', 'tool-requests/*', 'runs/:id/cancel']
const maxIdLength = 256

export function addOwnRoutes(app: Hono, deps: AppDeps): void {
  for (const door of doors) app.use(`${ownBase}/${door}`, (context, next) => admitOwner(deps, context, next))
  addSessionRoutes(app, deps, ownBase)
  addApprovalRoutes(app, deps, ownBase)
  addToolRequestRoutes(app, deps, ownBase)
  app.post(`${ownBase}/runs/:id/cancel`, (context) => cancelRun(deps, context))
}

async function cancelRun(deps: AppDeps, context: Context): Promise<Response> {
  const id = context.req.param('id') ?? ''
  const caller = keptCaller(context)
  const owner = caller.kind === 'owner' ? caller.principal : undefined
  const [run, other] = id.length > maxIdLength ? [] : await deps.gateway.runs.find(id, owner)
  if (run === undefined)
    throw new GatewayError('not_found', 'no such run of yours, or it has not begun; give the runId it was sent with')
  // Ids are the caller's own choice: the same one in two threads names two runs, and the newer is meant.
  const meant = other !== undefined && other.id === id ? other : run
  const outcome = await deps.gateway.runs.cancel(meant.id, actorIn(context))
  deps.wake()
  const { kind, status } = outcome ?? { kind: 'over' as const, status: meant.status }
  if (kind === 'over')
    await noteAct(deps, context, { action: 'run.cancel', outcome: 'refused', code: 'over', objectId: meant.id })
  return context.json({ ok: kind !== 'over', id: meant.id, outcome: kind, status })
}
