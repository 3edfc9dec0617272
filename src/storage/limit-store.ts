// The port of limits on SQL.
import type { LimitStore, Spent } from '../identity/limits/limit-store.ts'
import type { Database } from './database.ts'
import { spendLimits } from './statements/limits.ts'

export function createLimitStore(database: Database, tenant: string): LimitStore {
  return { spend: (counted) => database.query<Spent>(spendLimits, [tenant, JSON.stringify(counted)]) }
}
