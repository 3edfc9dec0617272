// Whether a request carries the admin token.
import type { Context } from 'hono'
import { equalInConstantTime } from '../verification/index.ts'
import type { AppDeps } from './deps.ts'

export function holdsAdminToken({ adminToken }: Pick<AppDeps, 'adminToken'>, context: Context): boolean {
  const given = /^Bearer (.+)$/.exec(context.req.header('authorization') ?? '')?.[1] ?? ''
  return equalInConstantTime(given, adminToken.reveal())
}
