// What became of a message; the ledger; dead letters and their retry. An id comes as $1 with its tenant as $2.
import { statement } from '../database.ts'
import { auditedAct } from './audit-lines.ts'
import { unindexed } from './by-key-alone.ts'
import { historyEntrySql } from './history.ts'

export const findReceipt = statement(
  'find_receipt',
  `
select x.id, x.state, x.reason, x.turn_id as "turnId", t.run_id as "runId", t.response,
  -- A decision wakes the run that waited for it: what that came to is the answer to the decision.
  (select json_build_object('state', coalesce(r.state, 'queued'), 'response', r.response)
    from signals s left join turns r on r.id = s.turn_id
    where s.id = (t.response #>> '{control,action_id}')::uuid and ${unindexed('s.tenant')} = $2) as resumed
from inbox x left join turns t on t.id = x.turn_id where x.id = $1 and ${unindexed('x.tenant')} = $2`,
)

/** $1 tenant. */
export const readBooks = statement(
  'read_books',
  `
select tenant, connection, received, answered, merged, refused, dead, in_flight as "inFlight", ignored,
  duplicates
from books where tenant = $1 order by connection`,
)

/** $1 state, $2 how many, $3 before which seq or null, $4 which connection or null, $5 tenant. */
export const listMessages = statement(
  'list_messages',
  `
select seq::float8 as seq, id, connection, state, reason, message_id as "messageId", subject, attempts, received_at as "receivedAt"
from inbox where tenant = $5 and state = $1 and ($3::bigint is null or seq < $3::bigint) and ($4::text is null or connection = $4)
order by seq desc limit $2`,
)

/** What an operator did to a dead message stands among the decisions about it. */
const resubmitted = {
  action: "'message.resubmit'",
  outcome: "'done'",
  connection: 'd.connection',
  agent: 'd.agent',
  conversation_id: 'd.conversation_id',
  inbox_id: 'd.id',
  trace_id: 'd.trace_id',
}

/**
 * $3 by whom, $4 anew. The whole turn with its journal, so that what it has done is not done again: all of its messages can be
 * read and none was run anew, or none is queued: with fewer of them it would be asked to do something else. Anew: this message
 * alone, as if nothing had been done for it.
 */
export const resubmitMessage = statement(
  'resubmit_message',
  `
with asked as materialized (
  select x.id, x.turn_id from inbox x
  where x.id = $1 and x.tenant = $2 and x.state = 'dead' and x.message is not null and x.conversation_id is not null
),
whole as materialized (
  select x.id, x.message is not null as is_readable from asked a
  join inbox x on case when a.turn_id is null or $4::boolean then x.id = a.id else x.turn_id = a.turn_id end
  where x.state = 'dead'
),
revived as (
  update inbox x set state = 'queued', reason = null, ended_at = null, turn_id = null, turn_order = null, attempts = 0,
    heard_at = case when $4::boolean then null else x.heard_at end, solo = $4::boolean or x.turn_id is null,
    goes_on = not $4::boolean and x.turn_id is not null, parent_turn = coalesce(x.turn_id, x.parent_turn)
  where x.id in (select id from whole) and not exists (select 1 from whole where not is_readable)
    and ($4::boolean or x.turn_id is null
      or exists (select 1 from turns t where t.id = x.turn_id and not t.history @> '[{"what": "anew"}]'))
  returning x.id, x.conversation_id, x.tenant, x.connection, x.parent_turn, x.agent, x.subject, x.trace_id
),
told as (
  update turns t set history = ${historyEntrySql('t', `'what', case when $4::boolean then 'anew' else 'resubmitted' end, 'members', (select jsonb_agg(r.id order by r.id) from revived r)`)}
  where t.id in (select parent_turn from revived)
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select conversation_id, tenant, connection, count(*)::int from revived group by 1, 2, 3
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
),${auditedAct({ from: 'revived', by: '$3', about: 'd.subject', columns: resubmitted })}
select count(*)::int as revived from revived`,
)

/** $1 a message, $2 tenant. What the turns before it did or may have done: it may happen again. */
export const mayRepeat = statement(
  'may_repeat',
  `
select coalesce(j.label, j.step) as label, j.state from inbox x
join turns t on t.id = coalesce(x.turn_id, x.parent_turn) join journal j on j.turn_id = coalesce(t.journal_turn, t.id)
where x.id = $1 and x.tenant = $2 and j.is_effect and j.state <> 'undone' order by j.started_at, j.step`,
)

export const findRejectedEvent = statement(
  'find_remains',
  `select connection, raw, subject from inbox
   where id = $1 and tenant = $2 and kind = 'remains' and raw is not null and reason is distinct from 'redriven'`,
)

/** $3 by whom. */
export const markRedriven = statement(
  'mark_redriven',
  `
with revived as (
  update inbox set state = 'ignored', reason = 'redriven', raw = null where id = $1 and tenant = $2 and kind = 'remains'
  returning id, conversation_id, tenant, connection, agent, subject, trace_id
),${auditedAct({ from: 'revived', by: '$3', about: 'd.subject', columns: resubmitted })}
select count(*)::int as revived from revived`,
)
