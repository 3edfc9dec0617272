// What a process that stays does besides answering: it drains, it sweeps once a minute, it follows the database's clock, and it keeps
// suspects away from the others.
import { sweepRound } from '../assemble/sweep-round.ts'
import type { Assembled } from '../assemble.ts'
import type { Config } from '../config.ts'
import { errorLogFields } from '../contract/index.ts'
import type { Database } from '../db/client.ts'
import { withDatabaseTimeout } from '../observability/database-timeout.ts'
import { startClockWatch } from './clock-watch.ts'
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
    sweepRound({ config, database, deps, log })
      .catch((error: unknown) => log.warn('sweep_failed', errorLogFields(error, 'internal')))
      .finally(() => {
        isSweeping = false
      })
  }, sweepEveryMs)
  const clock = startClockWatch(assembled, database, log)
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
      await withDatabaseTimeout(leaveMs, deps.suspects.leave()).catch(() => {})
    },
  }
}
