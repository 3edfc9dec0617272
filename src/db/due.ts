// When the next turn, delivery or timer is due, for runtimes that sleep between invocations.
import { type Db, statement } from './client.ts'

/**
 * Held lanes are left out: their holder goes on with them, and if it died the regular round finds them. What stands at
 * the head of each index is enough: later rows are not due sooner.
 */
const nextDue = statement(
  'next_due',
  `
with heads(due_at) as (
  (select next_at from lanes where tenant = $1 and pending > 0 and mode = 'active' and (lease_until is null or lease_until < now())
    order by next_at limit 1)
  union all
  (select next_at from send_lanes where tenant = $1 and pending > 0 and (lease_until is null or lease_until < now())
    order by next_at limit 1)
  union all
  (select due_at from timers where tenant = $1 and fired_at is null order by due_at limit 1)
)
select (extract(epoch from min(due_at) - now()) * 1000)::float8 as "dueInMs" from heads`,
)

/** Over turns, sends and timers: milliseconds until something is due that no process holds. Undefined: nothing waits. */
export async function readNextDueMs(db: Db): Promise<number | undefined> {
  const [row] = await db.query<{ dueInMs: number | null }>(nextDue, [db.tenant])
  const dueInMs = row?.dueInMs ?? null
  return dueInMs === null ? undefined : Math.max(0, Math.ceil(dueInMs))
}
