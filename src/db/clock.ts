// Detects that the database's clock went back, moves due times that were written with later ones back, and shortens leases.
import { type Database, nameStatement } from './client.ts'

export type ClockStep = { readonly wentBackMs: number; readonly rows: number }

/** Undefined while the clock goes on. All is moved, or nothing: the next look finds the clock still wrong then. */
export async function moveStoredTimesAfterClockStep(
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

// The database's clock may go back: a laptop that slept, a virtual machine that was moved, an NTP server that was wrong for a while.
// Times written meanwhile lie in the future, and what waits for them would wait for hours. They are moved back by as much.

/** Smaller steps cost no more than themselves. */
const tolerated = `interval '5 seconds'`

/** $1 tenant. Remembers the time; says how far it went back since it was last remembered, and leaves the memory alone then. */
const checkClock = nameStatement(
  'check_clock',
  `
with seen as (
  insert into storage_probes as p (tenant, seen_at) values ($1, now())
  on conflict (tenant) do update set seen_at = excluded.seen_at
    where coalesce(p.seen_at, 'epoch') <= excluded.seen_at + ${tolerated}
  returning 1
)
select coalesce(extract(epoch from p.seen_at - now()) * 1000, 0)::float8 as "wentBackMs"
from storage_probes p where p.tenant = $1 and not exists (select 1 from seen)`,
)

/** $1 tenant. Of several gateways the first moves the times; the others find the clock as it is then. */
const takeClock = nameStatement(
  'take_clock',
  `
with before as materialized (
  select seen_at from storage_probes where tenant = $1 and seen_at > now() + ${tolerated} for update
)
update storage_probes p set seen_at = now() from before where p.tenant = $1
returning (extract(epoch from before.seen_at - now()) * 1000)::float8 as "wentBackMs"`,
)

const timeMovedBackSql = (column: string): string => `greatest(now(), ${column} - $2::float8 * interval '1 ms')`

/** $1 tenant, $2 how far in ms, $3 the lease in ms. A lease is cut and not moved: its holder may have renewed it since. */
const lease = `lease_until = least(lease_until, now() + $3::float8 * interval '1 ms')`
const isLeasedTooLong = `lease_until > now() + $3::float8 * interval '1 ms'`

const moveLaneTimesStatement = (table: 'lanes' | 'send_lanes') =>
  nameStatement(
    `move_${table}`,
    `update ${table} set next_at = case when next_at > now() then ${timeMovedBackSql('next_at')} else next_at end, ${lease}
     where tenant = $1 and (next_at > now() or ${isLeasedTooLong}) returning 1 as moved`,
  )

const cutSourceLeases = nameStatement(
  'cut_source_leases',
  `update pull_cursors set ${lease} where tenant = $1 and ${isLeasedTooLong} and $2::float8 > 0 returning 1 as moved`,
)

const moveTurnLanes = moveLaneTimesStatement('lanes')
const moveSendLanes = moveLaneTimesStatement('send_lanes')

/** $1 tenant, $2 how far in ms. What was to wait before the clock jumped comes early: it is told to wait again. */
const moveCalls = nameStatement(
  'move_calls',
  `update outbox set not_before = ${timeMovedBackSql('not_before')}
   where tenant = $1 and settled_at is null and not_before > now() returning 1 as moved`,
)

const moveLimits = nameStatement(
  'move_limits',
  `update connection_limits set
     not_before = case when not_before > now() then ${timeMovedBackSql('not_before')} else not_before end,
     spent_until = case when spent_until > now() then ${timeMovedBackSql('spent_until')} else spent_until end
   where tenant = $1 and (not_before > now() or spent_until > now()) returning 1 as moved`,
)

/** A timer that was set before the clock jumped is right as it stands. */
const moveTimers = nameStatement(
  'move_timers',
  `update timers set due_at = ${timeMovedBackSql('due_at')}, created_at = now()
   where tenant = $1 and fired_at is null and created_at > now() + ${tolerated} returning 1 as moved`,
)

const moveAccountDeletions = nameStatement(
  'move_account_deletions',
  `update account_deletions set due_at = ${timeMovedBackSql('due_at')} where tenant = $1 and due_at > now() + ${tolerated} returning 1 as moved`,
)
