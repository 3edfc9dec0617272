// Health samples on SQL.
import type { RetentionPolicy } from '../inbound/retention.ts'
import type { HealthSample, HealthStore } from '../vitals/vitals-store.ts'
import type { Database } from './database.ts'
import { readHealthSample } from './statements/vitals.ts'

export function createHealthStore(
  database: Database,
  tenant: string,
  { contentDays, receiptDays }: Pick<RetentionPolicy, 'contentDays' | 'receiptDays'>,
): HealthStore {
  return { read: () => database.observing.query<HealthSample>(readHealthSample, [tenant, contentDays, receiptDays]) }
}
