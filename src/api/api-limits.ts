// Configured limits of the API: from where it may be called, and how often.

import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { createLimitStore } from '../db/limits.ts'
import type { AppDeps } from './deps.ts'

export function createApiLimits(
  { limits: rules, corsOrigins, tenant }: Config,
  database: Database,
): Pick<AppDeps, 'limits' | 'corsOrigins'> {
  return { limits: { rules, store: createLimitStore(database, tenant) }, corsOrigins }
}
