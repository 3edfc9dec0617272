// CTEs that store a turn's reply as outbox rows, in the commit that ends it. They need `turn` with its columns, and `given` with
// calls.
import { rowVersion } from './client.ts'

/** `mayTell`: a condition under which anything is said at all. */
export const insertTurnCallsSql = (mayTell: string): string => `
${insertOutboxCallsSql(mayTell)},
${addPendingCallsToSendLanesSql("select tenant, connection, order_key, 1 as calls from sent where state = 'queued'")},`

/**
 * The same for a turn that opened a live message. One that no worker has begun to send is not sent any more: what is said now is
 * a message of its own. The lane of the sends is locked first, as the send worker does.
 */
export const insertLiveTurnCallsSql = (mayTell: string): string => `
sending as materialized (
  select l.order_key from turn join send_lanes l on l.tenant = turn.tenant and l.connection = turn.connection
    and l.order_key = turn.conversation_id::text for update of l
),
withdrawn as (
  update outbox o set state = 'cancelled', reason = 'turn_ended_first', settled_at = now()
  from turn, (select count(*) as lanes from sending) s
  where o.origin = turn.id and o.ordinal = 0 and o.purpose = 'live' and o.state = 'queued' and s.lanes > 0
  returning o.tenant, o.connection, o.order_key
),
${insertOutboxCallsSql(mayTell)},
${addPendingCallsToSendLanesSql(`select tenant, connection, order_key, 1 as calls from sent where state = 'queued'
    union all select tenant, connection, order_key, -1 from withdrawn`)},`

function insertOutboxCallsSql(mayTell: string): string {
  return `sent as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, settled_at, vendor_id, attempt, not_before, expires_at, trace_id, live_reference,
    question)
  select c.id, turn.tenant, turn.connection, turn.conversation_id, turn.id, turn.id, c.ordinal, c."orderKey", c."primary",
    c.purpose, ${rowVersion}, c.call, c."clientId", case when c."isAppended" then 'delivered' else 'queued' end,
    case when c."isAppended" then now() end, case when c."isAppended" then c."clientId" end,
    case when c."isAppended" then 1 else 0 end, coalesce(c."notBefore", now() + c."delayMs" * interval '1 ms'), c."expiresAt", turn.trace_id, c."liveReference",
    c.question
  from turn, given g, json_to_recordset(g.calls) as c(
    id uuid, ordinal int, "orderKey" text, "primary" boolean, purpose text, call jsonb, "clientId" text,
    "notBefore" timestamptz, "expiresAt" timestamptz, "delayMs" float8, "liveReference" text, "isAppended" boolean,
    question jsonb)${mayTell}
  order by c.ordinal
  returning tenant, connection, order_key, state
)`
}

/** Calls that came, and with -1 those that went, as counts of their lanes. */
export function addPendingCallsToSendLanesSql(rows: string): string {
  return `ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select tenant, connection, order_key, sum(calls) from (${rows}) r group by 1, 2, 3 order by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
)`
}
