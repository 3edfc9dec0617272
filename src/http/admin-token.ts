// Who asks: an operator, with the first token or one that was made, or a person whose token shows what is theirs.
import type { Context } from 'hono'
import { GatewayError, type WorkspaceScope } from '../contract/index.ts'
import { equalInConstantTime } from '../verification/index.ts'
import { holderOf } from './admin-tokens.ts'
import type { AppDeps } from './deps.ts'

export type Caller =
  | { readonly kind: 'operator'; readonly label: string }
  | {
      readonly kind: 'owner'
      readonly label: string
      readonly principal: string
      readonly workspace: WorkspaceScope
    }

/** Undefined: no token, or one that is not valid. */
export async function callerOf(
  deps: Pick<AppDeps, 'adminToken' | 'tokens'>,
  context: Context,
): Promise<Caller | undefined> {
  const given = /^Bearer (.+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''
  if (equalInConstantTime(given, deps.adminToken.reveal())) return { kind: 'operator', label: 'first token' }
  const holder = await holderOf(deps, given)
  if (holder === undefined) return undefined
  const { label, scopes, principal, workspace } = holder
  // A principal narrows whatever the scopes say.
  if (principal !== null) return { kind: 'owner', label, principal, workspace }
  return scopes.includes('admin') ? { kind: 'operator', label } : undefined
}

export async function holdsAdminToken(
  deps: Pick<AppDeps, 'adminToken' | 'tokens'>,
  context: Context,
): Promise<boolean> {
  return (await callerOf(deps, context))?.kind === 'operator'
}

const callerKey = 'caller'

export function keepCaller(context: Context, caller: Caller): void {
  context.set(callerKey, caller)
}

/** Behind the check of the operator's routes there is always one. */
export function keptCaller(context: Context): Caller {
  const caller = context.get(callerKey) as Caller | undefined
  if (caller === undefined) throw new GatewayError('unauthorized', 'send Authorization: Bearer with a valid token')
  return caller
}
