// Access to what belongs to the caller of the API: their sessions, what their paused runs wait for, and the stop of a run. The
// operations are those of operators, for one owner.
import type { Context, Next } from 'hono'
import { readTokenCaller, setAdmittedCaller } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { identifyApiCaller } from './identify-caller.ts'

export type OwnerDeps = Parameters<typeof identifyApiCaller>[0] & Pick<AppDeps, 'adminToken' | 'tokens'>

/** One that may talk to agents, as the run route would know them, or the holder of a token made for looking at what is theirs. */
export async function admitOwnerOrCaller(deps: OwnerDeps, context: Context, next: Next): Promise<Response | undefined> {
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
