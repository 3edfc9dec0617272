// Which of the operator's routes a token opens. Whatever is not listed here is for a token that may do everything.
import type { Context, Next } from 'hono'
import { GatewayError } from '../contract/index.ts'
import { type AdmittedCaller, type Caller, readTokenCaller, setAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'

/** Routes that answer by owner: a token with a principal reaches these and no others. */
const ownerScoped = /^\/admin\/(?:sessions|approvals|tool-requests)(?:\/|$)/

/** Routes that change nothing and show nothing that a person said, or that a tool was given: what scope `read` opens. */
const withoutContent = [
  /^\/admin\/(?:audit|books|agents|dead|refused|rejected|ignored|deliveries|runs|sessions|tokens)$/,
  /^\/admin\/(?:grants|pairings|principals|principals\/links)$/,
  /^\/admin\/approvals\/summary$/,
  /^\/admin\/(?:explain|runs)\/[^/]+$/,
]

const socketHolder: Caller = { kind: 'operator', label: 'local socket', mayChange: true }

export async function admitCaller(deps: AppDeps, context: Context, next: Next): Promise<void> {
  const isLocal = deps.sourceOf(context) === 'local'
  if (!isLocal && deps.mayOperate?.(context) !== true)
    throw new GatewayError('not_found', 'the operator routes answer on the gateway machine only')
  // A caller who can open the socket can read the first token beside it. A token that is not valid is never taken for none.
  const needsToken = !isLocal || context.req.header('authorization') !== undefined
  const caller = needsToken ? await readTokenCaller(deps, context) : socketHolder
  setAdmittedCaller(context, requireTokenScope(caller, context.req))
  await next()
}

function requireTokenScope(
  caller: Caller | undefined,
  { method, path }: Pick<Context['req'], 'method' | 'path'>,
): AdmittedCaller {
  switch (caller?.kind) {
    case undefined:
      throw new GatewayError(
        'unauthorized',
        'send Authorization: Bearer with an admin token that is valid (PARLEY_ADMIN_TOKEN, admin-token in the data folder, or one made with parley tokens create), or ask through the socket in the data folder',
      )
    case 'runner':
      throw new GatewayError(
        'forbidden',
        'this token talks to agents; for this route use one with the scope admin, read or own (parley tokens create --scope …)',
      )
    case 'owner':
      if (ownerScoped.test(path)) return caller
      throw new GatewayError(
        'forbidden',
        'this token shows what belongs to its principal; for this route use an operator token (parley tokens create without --principal)',
      )
    case 'operator':
      if (caller.mayChange || (isReadingMethod(method) && withoutContent.some((route) => route.test(path))))
        return caller
      throw new GatewayError(
        'forbidden',
        'this token reads what holds no content; for this route use one with the scope admin (parley tokens create)',
      )
  }
}

function isReadingMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
