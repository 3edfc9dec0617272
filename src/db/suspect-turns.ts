// Statements about suspect turns: turns whose process died under them. A crash is counted by the claim that finds a lane whose
// holder let its lease run out without a word; a holder that stopped in order has left, and one that was only frozen or cut off
// takes its crash back.
import { appendHistoryEntrySql, type Db, nameStatement } from './client.ts'
import type { Hold } from './turn-rows.ts'
/** Of a lane `l` that is free: it is in the name of a process that did not give it back, and that is not `holder` itself. */
export const isHolderVanishedSql = (holder: string): string => `coalesce(l.holder <> ${holder}, false)`

/** How often a process died on what comes next in lane `l`, as far as it was counted. What was split is no better than it was. */
export const crashesOfNext = `coalesce(case when l.turn_id is not null
  then (select cardinality(t.crash_epochs) from turns t where t.id = l.turn_id)
  else (select (select cardinality(p.crash_epochs) from turns p where p.id = x.parent_turn and p.state = 'split')
    from inbox x where x.conversation_id = l.conversation_id and x.state = 'queued' order by x.seq limit 1) end, 0)`

/**
 * Counts the crashes that a claim has found: its `free` are the lanes it takes, with the epoch in which they were held. A holder
 * that never began with the turn has no part in it.
 */
export const countedCrashes = `died as (
  update turns t set crash_epochs = t.crash_epochs || f.epoch, history = ${appendHistoryEntrySql('t', `'what', 'crashed', 'attempt', t.attempt, 'crashes', cardinality(t.crash_epochs) + 1`)}
  from free f where f.vanished and t.id = f.turn_id and t.epoch = f.epoch and t.state = 'running' and f.epoch <> all(t.crash_epochs)
  returning t.id, t.tenant, t.connection, cardinality(t.crash_epochs) as crashes
),
tallied as (
  insert into counter_changes (kind, tenant, connection, state, reason, delta, at)
  select 'crash', d.tenant, d.connection, 'turn', '', 1, now() from died d
)`

/** The crashes that a turn begins with: those of the one it was split from. $1 is its conversation. */
export const crashesOfSplitParentSql = (parent: string): string =>
  `coalesce((select p.crash_epochs from turns p where p.id = ${parent} and p.conversation_id = $1 and p.state = 'split'), '{}')`

/**
 * $1 conversation, $2 holder, $3 epoch, $4 turn, $5 tenant. The holder is alive and has stopped with the turn: if no other has the
 * lane yet it is in no name any more, so that no crash is counted; one that was counted is taken back. Its lease runs out by
 * itself: what was under way may still be.
 */
const comeBack = nameStatement(
  'reclaim_turn',
  `
with left_lane as (
  update lanes set holder = null where conversation_id = $1 and tenant = $5 and holder = $2 and epoch = $3 returning 1
),
-- After the lane: a claim in between would count a crash that is not taken back.
told as (select count(*) from left_lane)
update turns t set crash_epochs = array_remove(t.crash_epochs, $3::bigint), history = ${appendHistoryEntrySql('t', `'what', 'returned'`)}
from told where t.id = $4 and t.tenant = $5 and $3::bigint = any(t.crash_epochs)`,
)

/** $1 holder, $2 tenant. It stops: the next holder waits for its leases, and counts no crash. */
const leaveLanes = nameStatement('leave_held_lanes', 'update lanes set holder = null where holder = $1 and tenant = $2')

/** The same for a process that is gone and was ended by us: there is nothing to wait for. */
const freeEndedLanes = nameStatement(
  'free_ended_lanes',
  'update lanes set holder = null, lease_until = null where holder = $1 and tenant = $2',
)

/** The same for a process that died: the next claim counts it. */
const expireDeadLanes = nameStatement(
  'expire_dead_lanes',
  'update lanes set lease_until = now() where holder = $1 and tenant = $2 and lease_until > now()',
)

/** $1 tenant. How many turns are due on which a process died, by how often, those crashes included that no claim has counted. */
const findSuspects = nameStatement(
  'find_suspects',
  `
select s.crashes, count(*)::int as turns
from turns t join lanes l on l.conversation_id = t.conversation_id
cross join lateral (select cardinality(t.crash_epochs) +
  case when l.holder is not null and l.epoch = t.epoch and t.state = 'running' then 1 else 0 end as crashes) s
where t.tenant = $1 and t.crash_epochs <> '{}' and t.state in ('running', 'split')
  and l.mode = 'active' and l.next_at <= now() and (l.lease_until is null or l.lease_until < now())
  and case when t.state = 'running' then l.turn_id = t.id
    else l.turn_id is null and t.id = (select x.parent_turn from inbox x
      where x.conversation_id = l.conversation_id and x.state = 'queued' order by x.seq limit 1) end
group by s.crashes`,
)

// Suspect turns: which processes died on a turn, which only seemed to, and which turns run isolated from the others.

// The holder is this process.

/** This process is alive and has stopped with the turn: its absence counts as no crash. */
export async function clearCrashOfReclaimedTurn(db: Db, hold: Hold, turnId: string): Promise<void> {
  await db.query(comeBack, [hold.conversationId, db.holder, hold.epoch, turnId, db.tenant])
}

/** This process ends: what it still holds counts as no crash. */
export async function clearHolderOfHeldLanes(db: Db): Promise<void> {
  await db.query(leaveLanes, [db.holder, db.tenant])
}

/** A process that held leases is gone: `died` by itself, which counts, or `ended` by us. */
export async function freeLanesOfDeadHolder(db: Db, gone: string, how: 'crashed' | 'ended'): Promise<void> {
  await db.query(how === 'crashed' ? expireDeadLanes : freeEndedLanes, [gone, db.tenant])
}

/** How many turns are due on which a process died, by how often. */
export function countSuspectTurnsByCrashes(
  db: Db,
): Promise<readonly { readonly crashes: number; readonly turns: number }[]> {
  return db.query<{ crashes: number; turns: number }>(findSuspects, [db.tenant])
}
