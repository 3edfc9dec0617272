// Whether a request carries an admin token: the first one, or one an operator made.
import type { Context } from 'hono'
import { equalInConstantTime } from '../verification/index.ts'
import { isOperatorToken } from './admin-tokens.ts'
import type { AppDeps } from './deps.ts'

export async function holdsAdminToken(
  deps: Pick<AppDeps, 'adminToken' | 'tokens'>,
  context: Context,
): Promise<boolean> {
  const given = /^Bearer (.+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''
  return equalInConstantTime(given, deps.adminToken.reveal()) || isOperatorToken(deps, given)
}
