// One round of the sweeper, the same on every runtime: rows first, then the bytes that no row needs any more.
import type { Config } from '../config.ts'
import type { Log } from '../contract/index.ts'
import type { GatewayDeps } from '../gateway/deps.ts'
import { sweepOnce } from '../inbound/retention.ts'
import type { Database } from '../storage/database.ts'
import { createSweepStore } from '../storage/sweep-store.ts'

export type SweepDeps = {
  readonly config: Pick<Config, 'retention' | 'tenant'>
  readonly database: Database
  readonly deps: Pick<GatewayDeps, 'attachments' | 'turnPolicy'>
  readonly log: Log
}

export async function sweepRound({ config, database, deps, log }: SweepDeps): Promise<void> {
  const policy = { ...config.retention, idleMs: deps.turnPolicy.rotateAfterIdleMs }
  await sweepOnce(createSweepStore(database, config.tenant), policy, log)
  const removed = await deps.attachments.sweep()
  if (removed > 0) log.info('attachments_swept', { count: removed })
}
