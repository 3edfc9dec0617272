// The statements that claim lanes and read their messages: up to $1 free lanes of tenant $5 for $3 ms as holder $2, and those
// whose lease has run out, unless the database itself was away ($6 when it last answered, $7 for how long it may be silent). A
// lane comes with its open turn's members, or with what waits.
// $8: turns of which kind, by how often a process died on them (a multirange). A lane whose holder vanished is taken by those who
// take it before or after that crash is counted. Lanes whose next work a newer release wrote are left to it: claiming them only
// to give them back would keep it waiting. Lanes go by the time they are due since. A turn whose holder died is due since long;
// it is put at the end first, else what hung or killed its holder would be claimed before all others after every restart.

import { auditedMessages } from './audit.ts'
import { isRowVersionReadableSql, nameStatement } from './client.ts'
import { mayTakeOverLeaseSql } from './lease-takeover.ts'
import { storedAccessSql } from './stored-access.ts'
import { countedCrashes, crashesOfNext, isHolderVanishedSql } from './suspect-turns.ts'

/** Signals go before messages and have one format. */
const nextVersion = `case
  when l.turn_id is not null then (select t.v from turns t where t.id = l.turn_id)
  when exists (select 1 from signals s where s.conversation_id = l.conversation_id and s.state = 'queued') then 0
  else (select x.v from inbox x where x.conversation_id = l.conversation_id and x.state = 'queued' order by x.seq limit 1)
end`

/** A turn that was split at its deadline, or after it: those it was split into are not worth the whole price again. */
const wasSplitAtDeadlineSql = (turn: string): string =>
  `${turn}.state = 'split' and ${turn}.history @> '[{"code": "turn_deadline"}]'`

export const messageColumns = `
  x.id, x.v, x.agent, x.subject, x.must_reply_individually as "mustReplyIndividually", x.event, x.edit_of as "editOf", x.message_id as "messageId", x.message,
  x.reply_to as "replyTo", x.bytes, x.attempts, x.runs_alone as "runsAlone", x.joined_at_poll as "joinedAtPoll", x.parent_turn as "parentTurn", x.continues_turn as "continuesTurn",
  (select ${wasSplitAtDeadlineSql('t')} from turns t where t.id = x.parent_turn) as "isHung", x.trace_id as "traceId", x.task_id as "taskId",
  (select json_build_object('event', s.event, 'parts', e.message -> 'parts')
     from tombstones s left join inbox e on e.id = s.inbox_id
    where s.tenant = x.tenant and s.connection = x.connection and s.message_id = x.message_id
      and s.subject = coalesce(x.subject, '')) as tombstone,
  case when x.edit_of is not null then
    (select json_build_object('id', o.id, 'subject', o.subject, 'reason', o.reason,
        'isSame', x.event = 'edit' and x.message -> 'parts' = coalesce((
          select e.message -> 'parts' from inbox e
          where e.tenant = x.tenant and e.connection = x.connection and e.edit_of = x.edit_of and e.event = 'edit'
            and e.agent = x.agent and e.subject is not distinct from o.subject and e.seq < x.seq and e.state <> 'refused'
          order by e.seq desc limit 1), o.message -> 'parts')) from inbox o
      where o.tenant = x.tenant and o.connection = x.connection and o.message_id = x.edit_of
        and o.event = 'new' and o.agent = x.agent order by o.seq limit 1) end as original`

const queuedRows = `from inbox x where x.conversation_id = h.conversation_id and x.state = 'queued' order by x.seq limit $4`
const openTurnRowsSql = `from inbox x where x.turn_id = h.turn_id and x.state = 'in_turn' order by x.turn_order`
const storedAccessOfClaimedMessagesSql = (rows: string): string =>
  storedAccessSql({
    tenant: 'h.tenant',
    connection: 'h.connection',
    conversation: 'h.conversation_id',
    rows: `select x.message ${rows}`,
  })

const claimLanesSql = (andAlso: string): string => `
with free as materialized (
  select l.conversation_id, l.turn_id, l.epoch, ${isHolderVanishedSql('$2')} as vanished,
    -- What was put at the end once is due since later than its lease has run out.
    l.turn_id is not null and l.lease_until is not null and l.next_at <= l.lease_until as is_left
  from lanes l cross join lateral (select ${crashesOfNext} as crashes) s
  where l.tenant = $5 and l.pending > 0 and l.mode = 'active' and l.next_at <= now() and (l.lease_until is null or (l.lease_until < now() and ${mayTakeOverLeaseSql('$6', '$7')}))
    and ${isRowVersionReadableSql(nextVersion)}${andAlso}
    and (s.crashes <@ $8::text::int4multirange or ${isHolderVanishedSql('$2')} and s.crashes + 1 <@ $8::text::int4multirange)
  order by l.next_at limit $1 for update of l skip locked
),
${countedCrashes},
requeued as (
  -- In no name any more: its crash is counted.
  update lanes l set next_at = now(), holder = null from free where l.conversation_id = free.conversation_id and free.is_left
  returning 1
),
held as (
  update lanes l set lease_until = now() + $3::float8 * interval '1 ms', holder = $2, epoch = l.epoch + 1
  from free where l.conversation_id = free.conversation_id and not free.is_left
  returning l.conversation_id, l.tenant, l.connection, l.epoch, l.turn_id
)
select r.requeued, h.conversation_id as "conversationId", h.tenant, h.connection, h.epoch::float8 as epoch, c.agent,
  c.session_id as "sessionId", coalesce(c.reply_to, '{}') as "replyTo",
  (extract(epoch from now() - c.last_activity_at) * 1000)::float8 as "idleMs",
  exists (select 1 from turns t where t.conversation_id = h.conversation_id and t.kind in ('messages', 'signal')) as "takesPart",
  (select json_build_object('id', t.id, 'kind', t.kind, 'attempt', t.attempt, 'failures', t.failures, 'isHung',
      t.history @> '[{"what": "failed", "code": "turn_deadline"}]' or exists (
        select 1 from turns p where p.id = t.parent_turn and ${wasSplitAtDeadlineSql('p')}),
      'crashes', coalesce((select d.crashes from died d where d.id = t.id), cardinality(t.crash_epochs)),
      'sessionId', t.session_id,
      'parentTurn', t.parent_turn, 'principal', t.principal, 'runId', t.run_id, 'traceId', t.trace_id, 'taskId', t.task_id,
      'outageMs', (extract(epoch from now() - t.outage_since) * 1000)::float8)
     from turns t where t.id = h.turn_id) as "openTurn",
  coalesce(case when h.turn_id is null
    then (select json_agg(w) from (select ${messageColumns} ${queuedRows}) w)
    else (select json_agg(w) from (select ${messageColumns} ${openTurnRowsSql}) w)
  end, '[]') as messages,
  case when h.turn_id is null then ${storedAccessOfClaimedMessagesSql(queuedRows)} else ${storedAccessOfClaimedMessagesSql(openTurnRowsSql)} end as access,
  (select json_build_object('id', s.id, 'kind', s.kind, 'name', s.name, 'payload', s.payload, 'attempts', s.attempts,
      'taskId', case when s.origin is not null then (select t.task_id from turns t where t.id = s.origin) end)
     from signals s where s.conversation_id = h.conversation_id
      and case when h.turn_id is null then s.state = 'queued' else s.turn_id = h.turn_id and s.state = 'in_turn' end
    order by s.seq limit 1) as signal
from (select count(*)::int as requeued from requeued) r
  left join (held h join conversations c on c.id = h.conversation_id) on true`

export const claimLanes = nameStatement('claim_lanes', claimLanesSql(''))

const keysWithoutFreeSlotsSql = (key: string): string =>
  `(array(select json_array_elements_text($9::text::json -> '${key}')))`

/**
 * $9 agents, connections and pairs of both (JSON) that hold all the slots they may. Commands for the gateway itself, such as
 * the one that stops a run, do not wait for them.
 */
export const claimOtherLanes = nameStatement(
  'claim_other_lanes',
  claimLanesSql(` and (l.is_control or (l.connection <> all ${keysWithoutFreeSlotsSql('connections')} and not coalesce((
      select c.agent = any ${keysWithoutFreeSlotsSql('agents')} or l.connection || ' ' || c.agent = any ${keysWithoutFreeSlotsSql('pairs')}
      from conversations c where c.id = l.conversation_id), false)))`),
)

/** Lanes of conversations beside a conversation, found by an index of their own however many others are due. */
export const claimControlLanes = nameStatement('claim_control_lanes', claimLanesSql(' and l.is_control'))

// Messages that come while a turn runs, and are taken into it (busy policy `steer`).

const waitingRows = `from inbox x where x.conversation_id = $1 and x.state = 'queued' order by x.seq limit $2`

/** $1 conversation, $2 how many. */
export const waitingMessages = nameStatement(
  'waiting_messages',
  `
select coalesce((select json_agg(w) from (select ${messageColumns} ${waitingRows}) w), '[]') as messages,
  ${storedAccessSql({
    tenant: 'c.tenant',
    connection: 'c.connection',
    conversation: 'c.id',
    rows: `select x.message ${waitingRows}`,
  })} as access
from conversations c where c.id = $1`,
)

const joinedRowsSql = `from inbox x where x.turn_id = $2 and x.conversation_id = $1 order by x.turn_order`

/** $1 conversation, $2 turn. What a turn was about, also when it has ended; of what was erased meanwhile the message is null. */
export const turnMessages = nameStatement(
  'turn_messages',
  `
select coalesce((select json_agg(w) from (select ${messageColumns} ${joinedRowsSql}) w), '[]') as messages,
  ${storedAccessSql({
    tenant: 'c.tenant',
    connection: 'c.connection',
    conversation: 'c.id',
    rows: `select x.message ${joinedRowsSql}`,
  })} as access
from conversations c where c.id = $1`,
)

/**
 * Fenced: $1 conversation, $2 holder, $3 epoch; $4 turn, $5 members as JSON, $6 at which question for news. They stand behind
 * those it has, and end with it; if its holder dies they are heard again at the same question. All of them or none: a caller told its model about all.
 */
export const joinTurnSql = nameStatement(
  'join_turn',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 and turn_id = $4 for update
),
wanted as materialized (
  select m.*, (select coalesce(max(x.turn_order), 0) from inbox x where x.turn_id = $4) + 1 + m.ord as place
  from lane, json_to_recordset($5::text::json) as m(
    id uuid, ord int, principal text, "accessRule" text, subject text, evidence jsonb)
),
free as materialized (
  select x.id from inbox x join wanted w on x.id = w.id
  where x.id = any(array(select id from wanted)) and x.state || '' = 'queued' for update of x
),
taken as (
  update inbox x set state = 'in_turn', turn_id = $4, turn_order = w.place, joined_at_poll = $6, attempts = x.attempts + 1,
    principal = w.principal, access_rule = w."accessRule"
  from wanted w
  where x.id = w.id and (select count(*) from free) = (select count(*) from wanted)
  returning x.id, x.tenant, x.connection, x.agent, x.conversation_id, x.trace_id, w."accessRule", w.subject, w.evidence
),
decided as (
  select t.tenant, t.id as inbox_id, t.subject, 'admitted' as outcome, null as code, t."accessRule" as rule, t.evidence,
    t.connection, t.agent, t.conversation_id, t.trace_id
  from taken t
),${auditedMessages}
select count(*)::int as held from taken`,
)
