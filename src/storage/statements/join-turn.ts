// Messages that come while a turn runs, and are taken into it (busy policy `steer`).
import { statement } from '../database.ts'
import { auditedMessages } from './audit-lines.ts'
import { messageColumns } from './claim-lanes.ts'
import { storedAccess } from './stored-access.ts'

const waitingRows = `from inbox x where x.conversation_id = $1 and x.state = 'queued' order by x.seq limit $2`

/** $1 conversation, $2 how many. */
export const waitingMessages = statement(
  'waiting_messages',
  `
select coalesce((select json_agg(w) from (select ${messageColumns} ${waitingRows}) w), '[]') as messages,
  ${storedAccess({
    tenant: 'c.tenant',
    connection: 'c.connection',
    conversation: 'c.id',
    rows: `select x.message ${waitingRows}`,
  })} as access
from conversations c where c.id = $1`,
)

const joinedRowsSql = `from inbox x where x.turn_id = $2 and x.conversation_id = $1 order by x.turn_order`

/** $1 conversation, $2 turn. What a turn was about, also when it has ended; of what was erased meanwhile the message is null. */
export const turnMessages = statement(
  'turn_messages',
  `
select coalesce((select json_agg(w) from (select ${messageColumns} ${joinedRowsSql}) w), '[]') as messages,
  ${storedAccess({
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
export const joinTurn = statement(
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
  update inbox x set state = 'in_turn', turn_id = $4, turn_order = w.place, heard_at = $6, attempts = x.attempts + 1,
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
