// Health samples on SQL.
import type { RetentionPolicy } from '../inbound/retention.ts'
import type { VitalSign, VitalsStore } from '../vitals/vitals-store.ts'
import type { Database } from './database.ts'
import { readVitals } from './statements/vitals.ts'

export function createVitalsStore(
  database: Database,
  tenant: string,
  { contentDays, receiptDays }: Pick<RetentionPolicy, 'contentDays' | 'receiptDays'>,
): VitalsStore {
  return { read: () => database.observing.query<VitalSign>(readVitals, [tenant, contentDays, receiptDays]) }
}
