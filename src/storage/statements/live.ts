// The row that opens a live message, ordinal 0 of its turn, and rows for those who wait behind the turn: sent in order like any other
// and not counted as answers.
import { statement } from '../database.ts'
import { rowVersion } from '../row-version.ts'

/** $1 conversation, $2 holder, $3 epoch, $4 turn, $5 row, $6 order key, $7 call as JSON, $8 client id. */
export const openLive = statement(
  'open_live',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
turn as (select t.* from lane, turns t where t.id = $4 and t.state = 'running'),
opened as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select $5::uuid, tenant, connection, conversation_id, id, id, 0, $6::text, false, 'live', ${rowVersion}, $7::text::jsonb, $8::text, 'queued',
    trace_id
  from turn
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending) select tenant, connection, order_key, 1 from opened
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + 1
)
select (select count(*)::int from turn) as held, (select count(*)::int from opened) as opened`,
)

/**
 * $1 conversation, $2 holder, $3 epoch, $4 turn, $5 notices as JSON (`WaitNotice`). Only while the turn runs and the message waits; the
 * message is the origin of its rows, so that a turn which is taken over says nothing twice.
 */
export const tellWaiting = statement(
  'tell_waiting',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
turn as (select t.* from lane, turns t where t.id = $4 and t.state = 'running'),
notice as materialized (
  select n.* from turn, json_to_recordset($5::text::json) as n("inboxId" uuid, "taskId" uuid, said jsonb, calls json)
  join inbox x on x.id = n."inboxId" and x.state = 'queued'
),
tasked as (
  update tasks t set said = n.said from notice n
  where t.id = n."taskId" and t.waiting_id = n."inboxId" and t.state = 'submitted' and t.said is null
),
sent as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select c.id, t.tenant, t.connection, t.conversation_id, t.id, n."inboxId", c.ordinal, c."orderKey", false, 'notice', ${rowVersion}, c.call,
    c."clientId", 'queued', t.trace_id
  from turn t, notice n
  cross join lateral json_to_recordset(n.calls) as c(id uuid, ordinal int, "orderKey" text, call jsonb, "clientId" text)
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select tenant, connection, order_key, count(*)::int from sent group by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
)
select count(*)::int as sent from sent`,
)

/** $1 turn. */
export const findLive = statement(
  'find_live',
  `select settled_at is not null as "isSettled", client_id as "clientId",
     case when state = 'delivered' then vendor_id end as reference
   from outbox where origin = $1 and ordinal = 0 and purpose = 'live'`,
)
