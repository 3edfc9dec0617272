// From where the API may be called, and how often, as configured.

import type { AppDeps } from '../api/deps.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { createLimitStore } from '../db/limits.ts'

export function createApiLimits(
  { limits: rules, corsOrigins, tenant }: Config,
  database: Database,
): Pick<AppDeps, 'limits' | 'corsOrigins'> {
  return { limits: { rules, store: createLimitStore(database, tenant) }, corsOrigins }
}
