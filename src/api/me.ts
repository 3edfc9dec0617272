// The /me routes: what belongs to the caller of the API, their sessions, what their paused runs wait for, and the stop of a run.
// The same code as behind the admin routes, for one owner.
import type { Context, Hono, Next } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { getAdmittedCaller, readTokenCaller, setAdmittedCaller } from './admin-access.ts'
import { addApprovalRoutes } from './approvals.ts'
import type { AppDeps } from './deps.ts'
import { identifyApiCaller } from './identify-caller.ts'
import { requestRunCancel } from './runs.ts'
import { addSessionRoutes } from './sessions.ts'
import { addToolRequestRoutes } from './tool-requests.ts'

export const ownBase = '/api/v1/agent'
const ownPaths = ['sessions/*', 'approvals/*', 'tool-requests/*', 'runs/:id/cancel']
/** No run has a longer name, so one that is cut names no run. */
const maxIdLength = 256

export function addMeRoutes(app: Hono, deps: AppDeps): void {
  for (const door of ownPaths) app.use(`${ownBase}/${door}`, (context, next) => admitOwner(deps, context, next))
  addSessionRoutes(app, deps, ownBase)
  addApprovalRoutes(app, deps, ownBase)
  addToolRequestRoutes(app, deps, ownBase)
  app.post(`${ownBase}/runs/:id/cancel`, (context) => cancelOwnRun(deps, context))
}

async function cancelOwnRun(deps: AppDeps, context: Context): Promise<Response> {
  const id = (context.req.param('id') ?? '').slice(0, maxIdLength + 1)
  const caller = getAdmittedCaller(context)
  const owner = caller.kind === 'owner' ? caller.principal : undefined
  const findOwnRun = async () => {
    const [run, other] = await deps.gateway.runs.find(id, owner)
    // Ids are the caller's own choice: the same one in two threads names two runs, and the newer is meant.
    return other !== undefined && other.id === id ? other : run
  }
  const outcome = await requestRunCancel(deps, context, { id, owner }, findOwnRun)
  if (outcome === undefined)
    throw new GatewayError('not_found', 'no such run of yours; give the runId it was sent with')
  return context.json(outcome)
}

// A caller is one that may talk to agents, as the run route would know them, or the holder of a token that was made for looking
// at what is theirs.

export type OwnerDeps = Parameters<typeof identifyApiCaller>[0] & Pick<AppDeps, 'adminToken' | 'tokens'>

async function admitOwner(deps: OwnerDeps, context: Context, next: Next): Promise<Response | undefined> {
  const known = context.req.header('authorization') === undefined ? undefined : await readTokenCaller(deps, context)
  if (known?.kind === 'owner') {
    setAdmittedCaller(context, known)
    await next()
    return undefined
  }
  const found = await identifyApiCaller(deps, context)
  if (found instanceof Response) return found
  setAdmittedCaller(context, { kind: 'owner', label: found.subject, principal: found.principal, workspace: undefined })
  await next()
  return undefined
}
