// The row that opens a live message: ordinal 0 of its turn, sent in order like any other and outside the books of answers.
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

/** $1 turn. */
export const findLive = statement(
  'find_live',
  `select settled_at is not null as "isSettled", client_id as "clientId",
     case when state = 'delivered' then vendor_id end as reference
   from outbox where origin = $1 and ordinal = 0 and purpose = 'live'`,
)
