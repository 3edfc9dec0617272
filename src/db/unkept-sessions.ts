// Sessions without consent to keep them: once over, and nothing of them in flight, their transcript is deleted.
import { statement } from './client.ts'
import { sessionErased } from './sessions.ts'

/**
 * $1 after how long a silence in ms a session is over (a tenant's own configuration), $2 batch, $3 tenant. When one expires
 * is looked at only then: one that was used meanwhile expires later, so that no turn has to move it.
 */
export const endUnkeptSessions = statement(
  'end_unkept_sessions',
  `
with due as materialized (
  select s.id, s.tenant, s.conversation_id,
    s.status <> 'open' or s.last_activity_at < now() - $1::float8 * interval '1 ms' as is_over
  from sessions s where s.tenant = $3 and not s.is_kept and s.expires_at < now() order by s.expires_at limit $2
),
-- Locked first, as in every statement about turns.
lane as materialized (
  select due.id from due join lanes l on l.conversation_id = due.conversation_id
  where due.is_over and l.mode = 'active' and l.pending = 0 and l.turn_id is null
    and (l.lease_until is null or l.lease_until < now())
  order by l.conversation_id for update of l skip locked
),
gone as (
  update sessions s set status = case when s.status = 'open' then 'closed' else s.status end,
    ended_at = coalesce(s.ended_at, now()), expires_at = null, title = null, metadata = '{}', provider_response_id = null
  from due
  where s.id = due.id and due.id in (select id from lane)
    -- Asked of the row as it is once it is ours: a turn may have ended in it while we waited.
    and (s.status <> 'open' or s.last_activity_at < now() - $1::float8 * interval '1 ms')
    and not exists (
      select 1 from turns t where t.conversation_id = due.conversation_id and t.session_id = due.id and t.ended_at is null)
    and not exists (
      select 1 from pending_actions a
      where a.conversation_id = due.conversation_id and a.session_id = due.id and a.status = 'pending')
    and not exists (
      select 1 from runtime_tool_requests q
      where q.tenant = due.tenant and q.status = 'runtime_tool_pending' and q.session_id = due.id)
  returning s.id, s.conversation_id
),
later as (
  update sessions s set expires_at = case when due.is_over then now() + interval '1 minute'
    else s.last_activity_at + $1::float8 * interval '1 ms' end
  from due where s.id = due.id and due.id not in (select id from gone)
),${sessionErased({ lines: 'deleted', resolver: `'gateway'` })}
select 1 as swept from gone`,
)
