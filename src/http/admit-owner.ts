// Who asks for what is theirs over the API: a caller that may talk to agents, as the run route would know them, or the holder of a
// token that was made for looking at what is theirs.
import type { Context, Next } from 'hono'
import { readTokenCaller, setAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { identifyApiCaller } from './identified.ts'

export type OwnerDeps = Parameters<typeof identifyApiCaller>[0] & Pick<AppDeps, 'adminToken' | 'tokens'>

export async function admitOwner(deps: OwnerDeps, context: Context, next: Next): Promise<Response | undefined> {
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
