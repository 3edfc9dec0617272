// The health sample in one statement: what is in flight by index, what has ended by its tally. It never counts a table.
// $1 tenant: what others have here is their own business. $2, $3 days that content and receipts are kept.
//
// tallied   ends of messages and calls, and drift found: folded counters and what changed since, in one snapshot
// flying    messages that wait or are in a turn            calls    vendor calls that are not settled yet
// heads     the oldest of what retention removes
// strangers what senders who are not admitted sent today
// suspects  turns on which a process died, and that have not ended
// lanes     conversations with work, and send lanes alike  timers   those that should have fired, at most 10 000 of them
import { nameStatement } from './client.ts'
import { oldestRowsOverdueMsSql } from './expired-rows.ts'

const laneState = `case when lease_until > now() then 'held' when lease_until is not null then 'expired'
  when next_at > now() then 'delayed' else 'due' end`

const ageMsSql = (instant: string): string => `(extract(epoch from now() - ${instant}) * 1000)::float8`

/** Lanes are only counted: the time on a lane that slept says when it was given back, not since when it has work. */
export const readHealthSample = nameStatement(
  'read_health_samples',
  `
select kind, connection, state, reason, sum(current)::float8 as current, sum(total)::float8 as total,
  null::float8 as "oldestMs", ${ageMsSql('max(last_at)')} as "lastMs"
from (select kind, connection, state, reason, current, total, last_at from counters where tenant = $1
      union all select kind, connection, state, reason, delta, greatest(delta, 0), at from counter_changes where tenant = $1) tallied
group by kind, connection, state, reason
union all
select 'message', connection, state, '', count(*), 0, ${ageMsSql('min(received_at)')}, ${ageMsSql('max(received_at)')}
from inbox where tenant = $1 and ended_at is null group by connection, state
union all
select 'call', connection, case when state = 'unknown' then 'reconciling' else state end as call_state, '', count(*), 0,
  ${ageMsSql('min(coalesce(not_before, created_at)) filter (where coalesce(not_before, created_at) <= now())')}, null
from outbox where tenant = $1 and settled_at is null group by connection, call_state
union all
select 'lane', connection, case when mode = 'active' then ${laneState} else mode end as lane_state, '', count(*), 0, null, null
from lanes where tenant = $1 and pending > 0 group by connection, lane_state
union all
select 'send_lane', connection, ${laneState} as lane_state, '', count(*), 0, null, null
from send_lanes where tenant = $1 and pending > 0 group by connection, lane_state
union all
select 'suspect', connection, 'turn', '', count(*), 0, null, null
from turns where tenant = $1 and crash_epochs <> '{}' and state = 'running' group by connection
union all
select 'pairing', connection, 'pending', '', count(*), 0, null, null
from pairings where tenant = $1 and status = 'pending' group by connection
union all
select 'timer', '', 'overdue', '', count(*), 0, ${ageMsSql('min(due_at)')}, null
from (select due_at from timers where tenant = $1 and fired_at is null and due_at <= now() order by due_at limit 10000) overdue
union all
select 'stranger', connection, kind, '', messages, refused, null, null
from stranger_usage where tenant = $1 and day = (now() at time zone 'UTC')::date
union all
select 'retention', '', what, '', 0, 0, ms, null from (${oldestRowsOverdueMsSql('$1', '$2', '$3')}) heads where ms > 0`,
)

/** $1 how many changes. Two replicas may fold at once: each takes what the other has not. */
export const foldCounterChanges = nameStatement(
  'fold_counter_changes',
  `
with taken as (
  delete from counter_changes
  where ctid = any(array(select ctid from counter_changes limit $1 for update skip locked))
  returning kind, tenant, connection, state, reason, delta, at
)
insert into counters (kind, tenant, connection, state, reason, current, total, last_at)
select kind, tenant, connection, state, reason, sum(delta), sum(greatest(delta, 0)), max(at) from taken
group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
on conflict (kind, tenant, connection, state, reason) do update set current = counters.current + excluded.current,
  total = counters.total + excluded.total, last_at = greatest(counters.last_at, excluded.last_at)
returning 1 as folded`,
)
