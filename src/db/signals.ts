// Timers and signals: rows that wake a lane without a message.
import { statement } from './client.ts'
import { withdrawQuestions } from './questions.ts'

/** Timers that end a wait; their id is the id of what they end. */
export const expiryKinds = { approval: 'approval_expiry', runtimeTool: 'runtime_tool_timeout' } as const

/** Signals that end a wait before its time. */
export const pauseSignals = { approval: 'approval', runtimeTool: 'runtime_tool' } as const

const pauseKinds: readonly string[] = [...Object.values(expiryKinds), ...Object.values(pauseSignals)]

/** Whether a signal ends what a paused run waits for: its payload is ours then, and no agent's. */
export function endsPause({ kind }: { readonly kind: string }): boolean {
  return pauseKinds.includes(kind)
}

export function endsApproval({ kind }: { readonly kind: string }): boolean {
  return kind === pauseSignals.approval || kind === expiryKinds.approval
}

// $1 how many, $2 tenant. A due timer becomes a signal in its lane, in the statement that resolves it.

export const fireTimers = statement(
  'fire_timers',
  `
with due as materialized (
  select id from timers where tenant = $2 and fired_at is null and due_at <= now()
  order by due_at limit $1 for update skip locked
),
fired as (
  update timers t set fired_at = now() from due where t.id = due.id
  returning t.id, t.tenant, t.conversation_id, t.origin, t.name, t.kind, t.payload
),
-- What expires is resolved here and now; a decision made in time has already sent the signal.
expired as (
  update pending_actions a set status = 'expired', resolved_at = now() from fired f
  where f.kind = '${expiryKinds.approval}' and a.tenant = f.tenant and a.id = f.id and a.status = 'pending' returning a.tenant, a.id, a.turn_id
),
timed_out as (
  update runtime_tool_requests q set status = 'runtime_tool_timeout', resolved_at = now() from fired f
  where f.kind = '${expiryKinds.runtimeTool}' and q.tenant = f.tenant and q.id = f.id and q.status = 'runtime_tool_pending'
  returning q.id
),
signalled as (
  insert into signals (id, tenant, conversation_id, kind, name, origin, payload, state)
  select id, tenant, conversation_id, kind, name, origin, payload, 'queued' from fired
  where kind not in ('${expiryKinds.approval}', '${expiryKinds.runtimeTool}')
    or id in (select id from expired union all select id from timed_out)
  order by conversation_id, id
  on conflict (id) do nothing
  returning conversation_id
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select s.conversation_id, min(c.tenant), min(c.connection), count(*)
  from signalled s join conversations c on c.id = s.conversation_id
  group by s.conversation_id order by s.conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
  returning 1
),${withdrawQuestions({ from: 'expired', after: 'queued' })}
select count(*)::int as fired, (extract(epoch from now()) * 1000)::float8 as "databaseMs" from fired`,
)
