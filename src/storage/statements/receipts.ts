// What became of a message; the books; the dead and their second chance. An id comes as $1 with its tenant as $2.
import { statement } from '../database.ts'
import { auditedAct } from './audit-lines.ts'
import { unindexed } from './by-key-alone.ts'
import { remembered } from './history.ts'

export const findReceipt = statement(
  'find_receipt',
  `
select x.id, x.state, x.reason, x.turn_id as "turnId", t.run_id as "runId", t.response
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

/** $3 by whom. Only a message that can be read again is queued again; its record starts clean. */
export const resubmitMessage = statement(
  'resubmit_message',
  `
with revived as (
  update inbox set state = 'queued', reason = null, ended_at = null, turn_id = null, turn_order = null, attempts = 0,
    solo = true, parent_turn = coalesce(turn_id, parent_turn)
  where id = $1 and tenant = $2 and state = 'dead' and message is not null and conversation_id is not null
  returning id, conversation_id, tenant, connection, parent_turn, agent, subject, trace_id
),
told as (
  update turns t set history = ${remembered('t', `'what', 'resubmitted', 'members', jsonb_build_array(r.id)`)}
  from revived r where t.id = r.parent_turn
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select conversation_id, tenant, connection, 1 from revived
  on conflict (conversation_id) do update set pending = lanes.pending + 1
),${auditedAct({ from: 'revived', by: '$3', about: 'd.subject', columns: resubmitted })}
select count(*)::int as revived from revived`,
)

export const findRemains = statement(
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
