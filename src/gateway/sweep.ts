// One round of the sweeper, the same on every runtime: rows first, then the bytes that no row needs any more.
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { createSweepStore, sweepExpiredDataOnce } from '../db/retention.ts'
import { processAccountDeletions } from '../identity/erase.ts'
import type { Log } from '../lib/log.ts'
import type { GatewayDeps } from './deps.ts'

export type SweepDeps = {
  readonly config: Pick<Config, 'retention' | 'tenant'>
  readonly database: Database
  readonly deps: Pick<GatewayDeps, 'attachments' | 'monotonicMs' | 'turnPolicy'>
  readonly log: Log
}

/** Of a round that comes every minute; what is left goes on in the next. */
const deletionsMs = 10_000

export async function runRetentionSweep({ config, database, deps, log }: SweepDeps): Promise<void> {
  const policy = { ...config.retention, idleMs: deps.turnPolicy.rotateAfterIdleMs }
  await sweepExpiredDataOnce(createSweepStore(database, config.tenant), policy, log)
  const erasing = { database, tenant: config.tenant, monotonicMs: deps.monotonicMs }
  const deletions = await processAccountDeletions(erasing, deletionsMs)
  if (deletions > 0) log.info('erasures_completed', { count: deletions })
  const removed = await deps.attachments.sweep()
  if (removed > 0) log.info('attachments_swept', { count: removed })
}
