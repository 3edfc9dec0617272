// What a process that stays does besides answering: it drains, it sweeps once a minute, and it follows the database's clock.
import { followClock } from '../assemble/follow-clock.ts'
import { sweepRound } from '../assemble/sweep-round.ts'
import type { Assembled } from '../assemble.ts'
import type { Config } from '../config.ts'
import { failureFacts, type Log } from '../contract/index.ts'
import type { Database } from '../storage/database.ts'

const sweepEveryMs = 60_000
/** Times that are written in between are moved by so much too little. */
const clockEveryMs = 2_000

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

/** The first look is now: the clock may have gone back while no gateway ran. */
function startClockWatch({ deps, wake }: Assembled, database: Database, log: Log): { readonly stop: () => void } {
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // A database that is away is told of by those who need it.
    const wentBack = await followClock({ database, deps, log }).catch(() => false)
    isLooking = false
    if (wentBack) wake()
  }
  void look()
  const timer = setInterval(() => void look(), clockEveryMs)
  return { stop: () => clearInterval(timer) }
}
