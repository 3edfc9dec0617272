// Retention and lane drift. Every statement works on a bounded batch and passes by what another replica sweeps, so
// that sweeping never blocks.
// A gateway sweeps its own tenant ($3): how long something is kept is that tenant's configuration.
import { nameStatement } from './client.ts'

/** $1 days, $2 batch. Content goes first; the receipt and its keys stay. */
export const deleteExpiredContent = nameStatement(
  'expire_content',
  `
with old as (
  select id from inbox where tenant = $3 and ended_at < now() - $1::float8 * interval '1 day' and (message is not null or raw is not null)
  order by ended_at limit $2 for update skip locked)
update inbox x set message = null, raw = null, reply_to = null from old where x.id = old.id returning 1 as swept`,
)

/** $1 hours, $2 batch. What an operator asked for is no arrival, and stays as long as other content. */
export const deleteExpiredRefused = nameStatement(
  'expire_refused',
  `
with old as (
  select id from inbox where tenant = $3 and ended_at < now() - $1::float8 * interval '1 hour' and state in ('refused', 'ignored')
    and (message is not null or raw is not null) and kind <> 'operation'
  order by ended_at limit $2 for update skip locked)
update inbox x set message = null, raw = null, reply_to = null from old where x.id = old.id returning 1 as swept`,
)

/** $1 days, $2 batch. Receipts of what nothing proved: counters go on counting them, and no server delivers them again. */
export const deleteExpiredUnproven = nameStatement(
  'expire_unproven',
  `
with old as (
  select id from inbox where tenant = $3 and ended_at < now() - $1::float8 * interval '1 day' and state = 'refused'
    and conversation_id is null and subject is null and message is null and raw is null
  order by ended_at limit $2 for update skip locked),
counts as (delete from duplicates d using old where d.inbox_id = old.id)
delete from inbox x using old where x.id = old.id returning 1 as swept`,
)

/** $1 days, $2 batch. */
export const deleteExpiredTranscripts = nameStatement(
  'expire_transcripts',
  `
with old as (
  select m.session_id, m.seq from messages m join sessions s on s.id = m.session_id
  where s.tenant = $3 and s.last_activity_at < now() - $1::float8 * interval '1 day' limit $2 for update of m skip locked),
stateless as (update sessions s set metadata = s.metadata - 'state' where s.tenant = $3 and s.id in (select session_id from old))
delete from messages m using old where m.session_id = old.session_id and m.seq = old.seq returning 1 as swept`,
)

/**
 * $1 days, $2 batch. Files of sessions in which nothing was said for so long, and of sessions that are no more. One was used
 * before its session was last active: only old ones are looked at.
 */
export const deleteExpiredAttachments = nameStatement(
  'expire_attachments',
  `
with old as materialized (
  select a.id from attachments a left join sessions s on s.id = a.session_id
  where a.tenant = $3 and a.session_id is not null and a.used_at < now() - $1::float8 * interval '1 day'
    and (s.id is null or s.status = 'deleted' or s.last_activity_at < now() - $1::float8 * interval '1 day')
  order by a.used_at limit $2 for update of a skip locked)
delete from attachments a using old where a.tenant = $3 and a.id = old.id returning 1 as swept`,
)

/** Receipts with the count of their redeliveries. Their content went before. */
export const deleteExpiredReceipts = nameStatement(
  'expire_receipts',
  `
with old as (
  select id from inbox where tenant = $3 and ended_at < now() - $1::float8 * interval '1 day' and message is null and raw is null
  order by ended_at limit $2 for update skip locked),
counts as (delete from duplicates d using old where d.inbox_id = old.id)
delete from inbox x using old where x.id = old.id returning 1 as swept`,
)

const deleteExpiredRowsStatement = (name: string, table: string, column: string) =>
  nameStatement(
    name,
    `
with old as (
  select ctid from ${table} where tenant = $3 and ${column} < now() - $1::float8 * interval '1 day'
  order by ${column} limit $2 for update skip locked)
delete from ${table} t using old where t.ctid = old.ctid returning 1 as swept`,
  )

export const deleteExpiredCalls = deleteExpiredRowsStatement('expire_calls', 'outbox', 'settled_at')
export const deleteExpiredTombstones = deleteExpiredRowsStatement('expire_tombstones', 'tombstones', 'created_at')
export const deleteExpiredTimers = deleteExpiredRowsStatement('expire_timers', 'timers', 'fired_at')
export const deleteExpiredChains = deleteExpiredRowsStatement('expire_call_chains', 'call_chains', 'created_at')
export const deleteExpiredSignals = deleteExpiredRowsStatement('expire_signals', 'signals', 'ended_at')
export const deleteExpiredThreadAgents = deleteExpiredRowsStatement(
  'expire_thread_agents',
  'thread_agents',
  'updated_at',
)
export const deleteExpiredPairings = deleteExpiredRowsStatement('expire_decided_pairings', 'pairings', 'decided_at')

/** Tasks that rest, with where their owners wanted to be told. One that is worked on is never old. */
export const deleteExpiredTasks = nameStatement(
  'expire_tasks',
  `
with old as (
  select id from tasks where tenant = $3 and state_at < now() - $1::float8 * interval '1 day'
    and state not in ('submitted', 'working') order by state_at limit $2 for update skip locked),
untold as (delete from push_configs p using old where p.tenant = $3 and p.task_id = old.id)
delete from tasks t using old where t.id = old.id returning 1 as swept`,
)

/** Turns with their journal, their run and its log, and what it waited for. */
export const deleteExpiredTurns = nameStatement(
  'expire_turns',
  `
with old as (
  select id from turns where tenant = $3 and ended_at < now() - $1::float8 * interval '1 day'
  order by ended_at limit $2 for update skip locked),
steps as (delete from journal j using old where j.turn_id = old.id),
events as (delete from run_events e using old where e.run_id = old.id),
ran as (delete from runs r using old where r.id = old.id),
asked as (delete from pending_actions a using old where a.turn_id = old.id),
requested as (delete from runtime_tool_requests q using old where q.turn_id = old.id)
delete from turns t using old where t.id = old.id returning 1 as swept`,
)

/**
 * $1 days, $2 batch, $3 tenant. The log's trigger lets go of a line only where the same transaction says that this is retention. Lines
 * are old in the order of their numbers: only the first ones are looked at, since their times have no index.
 */
export const deleteExpiredAudit = nameStatement(
  'expire_audit',
  `
with permitted as materialized (select set_config('parley.retention', 'on', true) as word),
old as materialized (
  select o.seq from (select seq, at from audit_log where tenant = $3 order by seq limit $2 for update skip locked) o, permitted
  where permitted.word = 'on' and o.at < now() - $1::float8 * interval '1 day')
delete from audit_log l using old where l.seq = old.seq returning 1 as swept`,
)

/** $1 batch, $2 tenant. Ambient context whose time is over; a turn that takes some of it right now has it first. */
export const deleteExpiredAmbient = nameStatement(
  'expire_ambient_context',
  `
with old as materialized (
  select inbox_id from ambient_context where tenant = $2 and expires_at < now() order by expires_at limit $1 for update skip locked)
delete from ambient_context o using old where o.inbox_id = old.inbox_id returning 1 as swept`,
)

/** $1 batch, $2 tenant. Buckets that are full again say nothing any more. */
export const deleteExpiredLimits = nameStatement(
  'expire_limits',
  `
with old as (
  select ctid from connection_limits
  where tenant = $2 and spent_until < now() - interval '1 hour' and coalesce(not_before, 'epoch') < now() - interval '1 hour'
  limit $1 for update skip locked)
delete from connection_limits l using old where l.ctid = old.ctid returning 1 as swept`,
)

/** $1 batch, $2 tenant. Lanes that adapters named and that nothing went through for a day. */
export const deleteIdleLanes = nameStatement(
  'expire_idle_lanes',
  `
with old as materialized (
  select ctid from send_lanes
  where tenant = $2 and pending = 0 and left(order_key, 3) = 'to:' and next_at < now() - interval '1 day'
    and (lease_until is null or lease_until < now())
  order by next_at limit $1 for update skip locked)
delete from send_lanes l using old where l.ctid = old.ctid returning 1 as swept`,
)

/** $1 batch, $2 tenant. Of what nothing counts any more. */
export const deleteExpiredReplyWindows = nameStatement(
  'expire_reply_windows',
  `
with old as (
  select ctid from reply_windows where tenant = $2 and expires_at < now() order by expires_at limit $1 for update skip locked)
delete from reply_windows w using old where w.ctid = old.ctid returning 1 as swept`,
)

/** $1 batch, $2 tenant. */
export const deleteExpiredTtlValues = nameStatement(
  'expire_ttl_entries',
  `
with old as (
  select ctid from ttl_entries where tenant = $2 and expires_at < now() order by expires_at limit $1 for update skip locked)
delete from ttl_entries n using old where n.ctid = old.ctid returning 1 as swept`,
)

const overdueMsSql = (column: string, days: string): string =>
  `(extract(epoch from now() - ${column}) * 1000 - ${days}::float8 * 86400000)::float8`

/**
 * Heads of the indexes that the sweeper reads: how long each is beyond its time, negative where it is not. Placeholders for the
 * tenant, the days of content and the days of receipts.
 */
export const oldestRowsOverdueMsSql = (tenant: string, contentDays: string, receiptDays: string): string => `
  (select 'content' as what, ${overdueMsSql('ended_at', contentDays)} as ms from inbox
   where tenant = ${tenant} and ended_at is not null and (message is not null or raw is not null) order by ended_at limit 1)
  union all
  (select 'receipts', ${overdueMsSql('ended_at', receiptDays)} from inbox
   where tenant = ${tenant} and ended_at is not null and message is null and raw is null order by ended_at limit 1)
  union all
  (select 'calls', ${overdueMsSql('settled_at', receiptDays)} from outbox
   where tenant = ${tenant} and settled_at is not null order by settled_at limit 1)
  union all
  (select 'turns', ${overdueMsSql('ended_at', receiptDays)} from turns
   where tenant = ${tenant} and ended_at is not null order by ended_at limit 1)`

/** $1 tenant, $2 days of content, $3 days of receipts. Transcripts too, whose sessions have no index by age: once a minute. */
export const readOverdue = nameStatement(
  'read_overdue',
  `
select what, ms from (${oldestRowsOverdueMsSql('$1', '$2', '$3')}
  union all
  (select 'transcripts', ${overdueMsSql('s.last_activity_at', '$2')} from sessions s
   where s.tenant = $1 and s.last_activity_at < now() - $2::float8 * interval '1 day'
     and exists (select 1 from messages m where m.session_id = s.id)
   order by s.last_activity_at limit 1)) heads
where ms > 0 order by ms desc limit 1`,
)

/** $1 how many, $2 tenant. Lanes that disagree with their rows though no worker holds them: a fault, to be reported. */
export const findDrift = nameStatement(
  'find_drift',
  `
with suspects as (
  select conversation_id from lanes where tenant = $2 and pending > 0
  union select conversation_id from inbox where tenant = $2 and state = 'queued'
  union select conversation_id from signals where tenant = $2 and state = 'queued'
), counted as (
  select l.conversation_id, l.pending,
    (select count(*)::int from inbox x where x.conversation_id = l.conversation_id and x.state = 'queued') +
    (select count(*)::int from inbox x where x.turn_id = l.turn_id and x.state = 'in_turn') +
    (select count(*)::int from signals s where s.conversation_id = l.conversation_id and s.state = 'queued') +
    (select count(*)::int from signals s where s.turn_id = l.turn_id and s.state = 'in_turn') as actual
  from lanes l join suspects using (conversation_id)
  where l.tenant = $2 and (l.lease_until is null or l.lease_until < now())
)
-- Judged before the limit: behind many lanes that are merely busy, one that drifted is found all the same.
select conversation_id as "conversationId", pending, actual from counted where pending <> actual
limit $1`,
)

export const correctDrift = nameStatement(
  'correct_drift',
  `
with corrected as (
  update lanes l set pending = $2 where l.conversation_id = $1 and l.pending = $3
    and (l.lease_until is null or l.lease_until < now()) returning l.tenant, l.connection
),
told as (insert into counter_changes select 'drift', tenant, connection, 'lane', 'swept', 1, now() from corrected)
select 1 as corrected from corrected`,
)
