// From where the API may be called, and how often, as configured.
import type { Config } from '../config.ts'
import type { AppDeps } from '../http/deps.ts'
import type { Database } from '../storage/database.ts'
import { createLimitStore } from '../storage/limit-store.ts'

export function createApiLimits(
  { limits: rules, corsOrigins, tenant }: Config,
  database: Database,
): Pick<AppDeps, 'limits' | 'corsOrigins'> {
  return { limits: { rules, store: createLimitStore(database, tenant) }, corsOrigins }
}
