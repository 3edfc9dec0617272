// Health samples behind metrics and readiness: how many messages, calls, lanes and timers are in which state, and since when.

import type { Db } from './client.ts'
import { readHealthSample } from './health-sample.ts'
import type { RetentionPolicy } from './retention.ts'

/** One count. Ages are the database's; absent where there is none. */
export type HealthSample = {
  readonly kind:
    | 'message'
    | 'call'
    | 'lane'
    | 'send_lane'
    | 'timer'
    | 'drift'
    | 'retention'
    | 'suspect'
    | 'crash'
    | 'pairing'
    /** Of today: `current` messages of senders who are not admitted, `total` more that were refused for it. */
    | 'stranger'
  readonly connection: string
  readonly state: string
  readonly reason: string
  /** How many there are now. */
  readonly current: number
  /** How often this end was ever reached, where ends are tallied. */
  readonly total: number
  /** Age of the oldest that waits, in milliseconds. */
  readonly oldestMs: number | null
  /** Time since the latest, in milliseconds. */
  readonly lastMs: number | null
}

/** One statement with a deadline. Throws when the database does not answer. */
export function sampleHealth(
  db: Pick<Db, 'observing' | 'tenant'>,
  { contentDays, receiptDays }: Pick<RetentionPolicy, 'contentDays' | 'receiptDays'>,
): Promise<readonly HealthSample[]> {
  return db.observing.query<HealthSample>(readHealthSample, [db.tenant, contentDays, receiptDays])
}
