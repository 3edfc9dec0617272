// What a process that stays does besides answering: it drains, it sweeps once a minute, and it follows the database's clock.
import { sweepRound } from '../assemble/sweep-round.ts'
import type { Assembled } from '../assemble.ts'
import type { Config } from '../config.ts'
import { failureFacts, type Log } from '../contract/index.ts'
import type { Database } from '../storage/database.ts'
import { startClockWatch } from './clock-watch.ts'

const sweepEveryMs = 60_000

export type Background = { readonly stop: (graceMs: number) => Promise<void> }

export function startBackground(assembled: Assembled, database: Database, config: Config, log: Log): Background {
  const deadline = new AbortController()
  const drained = assembled.gateway.drain({ deadline: deadline.signal })
  let isSweeping = false
  const sweeper = setInterval(() => {
    // A round that takes longer than a minute is not joined by the next.
    if (isSweeping) return
    isSweeping = true
    sweepRound({ config, database, deps: assembled.deps, log })
      .catch((error: unknown) => log.warn('sweep_failed', failureFacts(error, 'internal')))
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
      await Promise.race([drained, late])
      assembled.deps.results.giveUp()
    },
  }
}
