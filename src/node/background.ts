// What a process that stays does besides answering: it drains, and it sweeps once a minute.
import { sweepRound } from '../assemble/sweep-round.ts'
import type { Assembled } from '../assemble.ts'
import type { Config } from '../config.ts'
import { failureFacts, type Log } from '../contract/index.ts'
import type { Database } from '../storage/database.ts'

const sweepEveryMs = 60_000

export type Background = { readonly stop: (graceMs: number) => Promise<void> }

export function startBackground(assembled: Assembled, database: Database, config: Config, log: Log): Background {
  const deadline = new AbortController()
  const drained = assembled.gateway.drain({ deadline: deadline.signal })
  const sweeper = setInterval(() => {
    sweepRound({ config, database, deps: assembled.deps, log }).catch((error: unknown) =>
      log.warn('sweep_failed', failureFacts(error, 'internal')),
    )
  }, sweepEveryMs)
  return {
    async stop(graceMs) {
      deadline.abort()
      clearInterval(sweeper)
      const late = new Promise<void>((resolve) => setTimeout(resolve, graceMs).unref())
      // What has not reached a step by then is left to its lease: the next holder goes on from the journal.
      await Promise.race([drained, late])
      assembled.deps.results.giveUp()
    },
  }
}
