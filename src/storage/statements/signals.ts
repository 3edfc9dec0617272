// Timers and signals (ruling 21). $1 how many. A due timer becomes a signal in its lane, in the statement that resolves it.
import { statement } from '../database.ts'

export const fireTimers = statement(
  'fire_timers',
  `
with due as materialized (
  select id from timers where fired_at is null and due_at <= now() order by due_at limit $1 for update skip locked
),
fired as (
  update timers t set fired_at = now() from due where t.id = due.id
  returning t.id, t.tenant, t.conversation_id, t.origin, t.name, t.kind, t.payload
),
signalled as (
  insert into signals (id, tenant, conversation_id, kind, name, origin, payload, state)
  select id, tenant, conversation_id, kind, name, origin, payload, 'queued' from fired order by conversation_id, id
  on conflict (id) do nothing
  returning conversation_id
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select s.conversation_id, min(c.tenant), min(c.connection), count(*)
  from signalled s join conversations c on c.id = s.conversation_id
  group by s.conversation_id order by s.conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
)
select count(*)::int as fired from fired`,
)
