// Who asks for what is theirs over the API: a caller that may talk to agents, as the run route would know them, or the holder of a
// token that was made for looking at what is theirs.
import type { Context, Next } from 'hono'
import { callerOf, keepCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'
import { identified } from './identified.ts'

export type OwnerDeps = Parameters<typeof identified>[0] & Pick<AppDeps, 'adminToken' | 'tokens'>

export async function admitOwner(deps: OwnerDeps, context: Context, next: Next): Promise<Response | undefined> {
  const known = context.req.header('authorization') === undefined ? undefined : await callerOf(deps, context)
  if (known?.kind === 'owner') {
    keepCaller(context, known)
    await next()
    return undefined
  }
  const found = await identified(deps, context)
  if (found instanceof Response) return found
  keepCaller(context, { kind: 'owner', label: found.subject, principal: found.principal, workspace: undefined })
  await next()
  return undefined
}
