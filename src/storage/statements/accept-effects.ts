// The parts of the accept statement for arrivals that change something besides their own row. Only what was not stored before does.
//
//   changes    of several changes of one record the last counts; records are locked in a fixed order
//   answering  what the protocol answers, once for its client id
//   blocked    lanes to recipients who want nothing more, locked first, as the send worker does
//   stopped    what had not left yet; a reply that reaches no recipient makes its messages dead
//   leaving    whose words are to be erased from now on; also where they said so before, came back, and say it again
import { rowVersion } from '../row-version.ts'
import { phaseAgain } from './farewells.ts'
import { historyEntrySql } from './history.ts'
import { orderSendLanesSql } from './turn-calls.ts'
import { notifyPayloadSql } from './wake-note.ts'

const sameRecord = 'r.tenant = c.tenant and r.connection = c.connection and r.family = c.family and r.key = c.key'

export const effectColumns = ', effects json, sends json, cancels text, "isFarewell" boolean'

export const effectParts = `
changes as materialized (
  select distinct on (i.tenant, i.connection, e.family, e.key) i.tenant, i.connection, e.*
  from inserted n join inp i on i.id = n.id
  cross join lateral rows from (json_to_recordset(i.effects) as (
    kind text, family text, key text, value jsonb, agent text, subject text)) with ordinality e
  where n.state <> 'refused'
  order by i.tenant, i.connection, e.family, e.key, i.ord desc, e.ordinality desc
),
touched as materialized (
  select r.key from channel_records r join changes c on ${sameRecord}
  order by r.tenant, r.connection, r.family, r.key for update of r
),
unrecorded as (
  delete from channel_records r using changes c
  where ${sameRecord} and c.kind = 'remove' and (select count(*) from touched) >= 0
),
recorded as (
  insert into channel_records (tenant, connection, family, key, value, agent, subject)
  select c.tenant, c.connection, c.family, c.key, c.value, c.agent, c.subject from changes c
  where c.kind = 'put' and (select count(*) from touched) >= 0
  order by c.tenant, c.connection, c.family, c.key
  on conflict (tenant, connection, family, key) do update
    set value = excluded.value, agent = excluded.agent, subject = excluded.subject, updated_at = now()
),
answering as (
  insert into outbox (id, tenant, connection, origin, ordinal, order_key, "primary", purpose, v, call, client_id, state, trace_id)
  select s.id, i.tenant, i.connection, n.id, s.ordinality - 1, s."orderKey", false, 'protocol', ${rowVersion}, s.call,
    s."clientId", 'queued', i."traceId"
  from inserted n join inp i on i.id = n.id
  cross join lateral rows from (json_to_recordset(i.sends) as (
    id uuid, call jsonb, "orderKey" text, "clientId" text)) with ordinality s
  order by i.ord, s.ordinality
  on conflict do nothing
  returning tenant, connection, order_key
),
blocked as materialized (
  select l.tenant, l.connection, l.order_key from (
    select distinct i.tenant, i.connection, i.cancels from inserted n join inp i on i.id = n.id where i.cancels is not null) b
  join send_lanes l on l.tenant = b.tenant and l.connection = b.connection and starts_with(l.order_key, b.cancels)
  where l.pending > 0
  order by l.tenant, l.connection, l.order_key for update of l
),
stopped as (
  update outbox o set state = 'refused', reason = 'blocked', settled_at = now(),
    history = ${historyEntrySql('o', `'what', 'blocked', 'attempt', o.attempt`)}
  from (select distinct tenant, connection, order_key from blocked) l
  where o.tenant = l.tenant and o.connection = l.connection and o.order_key = l.order_key
    and o.settled_at is null and o.state in ('queued', 'retry')
  returning o.tenant, o.connection, o.order_key, o.turn_id, o."primary"
),
unanswered as (
  update turns t set state = 'dead', ended_at = now(), reason = 'delivery_refused',
    history = ${historyEntrySql('t', `'what', 'dead', 'attempt', t.attempt, 'code', 'delivery_refused'`)}
  from (select distinct s.turn_id from stopped s where s."primary") s
  where t.id = s.turn_id and t.state = 'replied'
  returning t.id
),
unheard as (
  update inbox x set state = 'dead', reason = 'delivery_refused', ended_at = now()
  from unanswered u where x.turn_id = u.id and x.state = 'in_turn'
),
leaving as materialized (
  select distinct on (i.tenant, i.connection, i.subject) i.tenant, i.connection, i.subject, coalesce(n.id, k.id) as inbox_id,
    case when n.id is not null then i."traceId" end as trace_id
  from inp i left join inserted n on n.id = i.id left join known k on k.ord = i.ord
  where i."isFarewell" and i.subject is not null and (n.state <> 'refused' or k.is_forgotten)
  order by i.tenant, i.connection, i.subject, i.ord
),
parting as (
  -- What is being stored at this moment is there in a few seconds.
  insert into farewells (tenant, connection, subject, inbox_id, phase, at, due_at)
  select tenant, connection, subject, inbox_id, 'new', now(), now() + interval '5 s' from leaving order by tenant, connection, subject
  on conflict (tenant, connection, subject) do update set inbox_id = excluded.inbox_id,
    at = greatest(farewells.at, excluded.at), phase = ${phaseAgain('farewells')}, after = null,
    due_at = excluded.due_at, epoch = farewells.epoch + 1
),
parted as (
  insert into audit_log (tenant, action, outcome, principal_id, connection, inbox_id, trace_id)
  select l.tenant, 'forget', 'asked', (select p.id from principals p where p.tenant = l.tenant and p.subject = l.subject),
    l.connection, l.inbox_id, l.trace_id
  from leaving l order by l.tenant, l.connection, l.subject
),
${orderSendLanesSql(`select tenant, connection, order_key, 1 as calls from answering
    union all select tenant, connection, order_key, -1 from stopped`)},`

export const effectWakes = `,
    case when $2::boolean and exists (select 1 from answering) then pg_notify('parley_wake', ${notifyPayloadSql('sends')}) end as sending`
