// Background work of a long-running process: it drains, it sweeps once a minute, it watches the database's clock, and it keeps
// suspect turns away from the others.

import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { moveStoredTimesAfterClockStep } from '../db/clock.ts'
import { clearHolderOfHeldLanes } from '../db/suspect-turns.ts'
import type { Assembled } from '../gateway/assemble.ts'
import { runRetentionSweep } from '../gateway/sweep.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { withDatabaseTimeout } from '../observability/database-timeout.ts'
import type { SuspectChildren } from './isolation.ts'

const sweepEveryMs = 60_000
const leaveMs = 1_000

export type Background = { readonly stop: (graceMs: number) => Promise<void> }

export function startBackground(
  assembled: Assembled,
  database: Database,
  config: Config,
  children: SuspectChildren | undefined,
): Background {
  const { gateway, deps } = assembled
  const { log } = deps
  const deadline = new AbortController()
  const drained = gateway.drain({ deadline: deadline.signal })
  let isSweeping = false
  const sweeper = setInterval(() => {
    // A round that takes longer than a minute is not joined by the next.
    if (isSweeping) return
    isSweeping = true
    runRetentionSweep({ config, database, deps, log })
      .catch((error: unknown) => log.warn('sweep_failed', errorLogFields(error, 'internal')))
      .finally(() => {
        isSweeping = false
      })
  }, sweepEveryMs)
  const clock = watchDatabaseClock(assembled, database, log)
  return {
    async stop(graceMs) {
      deadline.abort()
      clearInterval(sweeper)
      clock.stop()
      const late = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
      // What has not reached a step by then is left to its lease: the next holder goes on from the journal.
      await Promise.all([Promise.race([drained, late]), children?.stop(graceMs)])
      deps.results.giveUp()
      // It was stopped, and did not die: nothing is held against the turn.
      await withDatabaseTimeout(leaveMs, clearHolderOfHeldLanes(deps.db)).catch(() => {})
    },
  }
}

// Where the database's clock went back, what waited for times that were written before goes on.

/** Times that are written in between are moved by so much too little. */
const everyMs = 2_000

export type ClockWatch = { readonly stop: () => void }

/** The first look is now: the clock may have gone back while no gateway ran. */
function watchDatabaseClock({ deps, wake }: Assembled, database: Database, log: Log): ClockWatch {
  let isChecking = false
  const checkDatabaseClock = async (): Promise<void> => {
    if (isChecking) return
    isChecking = true
    // A database that is away is told of by those who need it.
    const step = await moveStoredTimesAfterClockStep(database, deps.tenant, deps.turnPolicy.leaseMs).catch(
      () => undefined,
    )
    isChecking = false
    if (step === undefined) return
    log.error('clock_went_back', { ms: Math.round(step.wentBackMs), rows: step.rows })
    wake()
  }
  void checkDatabaseClock()
  const timer = setInterval(() => void checkDatabaseClock(), everyMs)
  return { stop: () => clearInterval(timer) }
}
