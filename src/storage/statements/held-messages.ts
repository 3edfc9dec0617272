// What becomes of messages that were held, once their pairing is decided: back to the queue for a new decision, or their end.
// Who is let in and has taken back all they wrote hears nothing by that: they are told that they are in, once for each pairing.
// Runs after the decision is committed, so that its snapshot holds every message that was held before it; may run again at any time.
import { statement } from '../database.ts'
import { rowVersion } from '../row-version.ts'
import { auditedMessages } from './audit-lines.ts'
import { notifyPayloadSql } from './wake-note.ts'

/** Held, and not taken back by a deletion that waits beside it. */
const isHeldForPairingSql = (pairing: string): string => `exists (
      select 1 from inbox y where y.pairing_id = ${pairing} and y.state = 'held' and y.event = 'new' and not exists (
        select 1 from inbox w where w.pairing_id = y.pairing_id and w.state = 'held' and w.event = 'delete' and w.edit_of = y.message_id))`

const releaseHeldSql = (which: string): string => `
with free as materialized (
  select x.id, coalesce(p.status, '') as status, p.subject, p.evidence, p.id as pairing_id, x.tenant, x.connection,
    x.conversation_id, x.event, x.seq, x.reply_to, x.task_id, x.trace_id, x.message -> 'channel' ->> 'room_kind' as room
  from inbox x left join pairings p on p.tenant = x.tenant and p.id = x.pairing_id
  where x.state = 'held' and p.status is distinct from 'pending' and ${which}
  order by x.seq limit $1 for update of x skip locked
),
released as (
  -- Where the sender was told a code stays known: explain follows it.
  update inbox x set state = 'queued', reason = null, turn_id = null, turn_order = null,
    parent_turn = coalesce(x.turn_id, x.parent_turn)
  from free f where x.id = f.id and f.status not in ('rejected', 'expired')
  returning x.tenant, x.connection, x.conversation_id
),
refused as (
  update inbox x set state = 'refused', reason = 'pairing_' || f.status, ended_at = now()
  from free f where x.id = f.id and f.status in ('rejected', 'expired')
  returning x.id, x.tenant, x.connection, x.agent, x.conversation_id, x.trace_id, x.reason, x.access_rule, f.subject, f.evidence
),
decided as (
  select r.tenant, r.id as inbox_id, r.subject, 'refused' as outcome, r.reason as code, r.access_rule as rule, r.evidence,
    r.connection, r.agent, r.conversation_id, r.trace_id
  from refused r
),${auditedMessages},
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select conversation_id, min(tenant), min(connection), count(*) from released
  group by conversation_id order by conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
  returning 1
),
-- Rendered when it is sent; where a task waits, its caller asks again by itself.
welcomed as (
  insert into outbox (id, tenant, connection, conversation_id, origin, ordinal, order_key, "primary", purpose, v, call,
    client_id, state, trace_id)
  select distinct on (f.pairing_id) gen_random_uuid(), f.tenant, f.connection, f.conversation_id, f.pairing_id, 0,
    f.conversation_id::text, false, 'welcome', ${rowVersion}, jsonb_build_object('to', f.reply_to, 'room', f.room),
    f.pairing_id || ':welcome', 'queued', f.trace_id
  from free f
  where f.status = 'approved' and f.event = 'new' and f.task_id is null and f.reply_to is not null and not ${isHeldForPairingSql('f.pairing_id')}
  order by f.pairing_id, f.seq desc
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
-- After the lanes of the conversations, as every turn that ends does.
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select w.tenant, w.connection, w.order_key, count(*) from welcomed w where (select count(*) from queued) >= 0
  group by 1, 2, 3 order by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
),
woken as (
  select case when $2::boolean and exists (select 1 from queued) then pg_notify('parley_wake', ${notifyPayloadSql('turns')}) end as done
)
select (select count(*)::int from released) as released, (select count(*)::int from refused) as refused from woken`

/** $1 how many, $2 whether to NOTIFY, $3 tenant. */
export const settleHeldMessages = statement('settle_held_messages', releaseHeldSql('x.tenant = $3'))

/** $1 how many, $2 whether to NOTIFY, $3 pairing. */
export const settlePairedMessages = statement('settle_paired_messages', releaseHeldSql('x.pairing_id = $3::uuid'))
