// A look at the database's clock, the same on every runtime: where it went back, what waited for times that were written meanwhile goes on.
import type { Log } from '../contract/index.ts'
import type { GatewayDeps } from '../gateway/deps.ts'
import { moveWithClock } from '../storage/clock-store.ts'
import type { Database } from '../storage/database.ts'

export type ClockDeps = {
  readonly database: Database
  readonly deps: Pick<GatewayDeps, 'tenant' | 'turnPolicy'>
  readonly log: Log
}

/** Whether it went back. */
export async function followClock({ database, deps, log }: ClockDeps): Promise<boolean> {
  const step = await moveWithClock(database, deps.tenant, deps.turnPolicy.leaseMs)
  if (step === undefined) return false
  log.error('clock_went_back', { ms: Math.round(step.wentBackMs), rows: step.rows })
  return true
}
