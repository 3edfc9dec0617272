// Notices that the database's clock went back, and moves what waits for times that were written meanwhile.
import type { Database } from './database.ts'
import {
  checkClock,
  cutSourceLeases,
  moveAccountDeletions,
  moveCalls,
  moveLimits,
  moveSendLanes,
  moveTimers,
  moveTurnLanes,
  takeClock,
} from './statements/clock.ts'

export type ClockStep = { readonly wentBackMs: number; readonly rows: number }

/** Undefined while the clock goes on. All is moved, or nothing: the next look finds the clock still wrong then. */
export async function moveWithClock(
  database: Database,
  tenant: string,
  leaseMs: number,
): Promise<ClockStep | undefined> {
  const [found] = await database.query<{ wentBackMs: number }>(checkClock, [tenant])
  if (found === undefined || found.wentBackMs <= 0) return undefined
  return database.transaction(async (sql) => {
    const [taken] = await sql.query<{ wentBackMs: number }>(takeClock, [tenant])
    if (taken === undefined) return undefined
    const { wentBackMs } = taken
    let rows = 0
    for (const move of [moveTurnLanes, moveSendLanes, cutSourceLeases])
      rows += (await sql.query(move, [tenant, wentBackMs, leaseMs])).length
    for (const move of [moveCalls, moveLimits, moveTimers, moveAccountDeletions])
      rows += (await sql.query(move, [tenant, wentBackMs])).length
    return { wentBackMs, rows }
  })
}
