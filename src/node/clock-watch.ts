// Looks at the database's clock again and again: where it went back, what waited for times that were written before goes on.
import type { Assembled } from '../assemble.ts'
import type { Log } from '../contract/index.ts'
import type { Database } from '../db/client.ts'
import { moveWithClock } from '../db/clock.ts'

/** Times that are written in between are moved by so much too little. */
const everyMs = 2_000

export type ClockWatch = { readonly stop: () => void }

/** The first look is now: the clock may have gone back while no gateway ran. */
export function startClockWatch({ deps, wake }: Assembled, database: Database, log: Log): ClockWatch {
  let isLooking = false
  const compareClocks = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // A database that is away is told of by those who need it.
    const step = await moveWithClock(database, deps.tenant, deps.turnPolicy.leaseMs).catch(() => undefined)
    isLooking = false
    if (step === undefined) return
    log.error('clock_went_back', { ms: Math.round(step.wentBackMs), rows: step.rows })
    wake()
  }
  void compareClocks()
  const timer = setInterval(() => void compareClocks(), everyMs)
  return { stop: () => clearInterval(timer) }
}
