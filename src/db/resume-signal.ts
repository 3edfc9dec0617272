// The part of a statement that ends a wait and wakes the paused run: a signal in its lane. A caller's CTE named
// `from` holds the rows that were decided; `owner` is their column for whom the run works, `name` what the signal says.
import type { WakingWork } from './client.ts'

type Resumption = {
  readonly from: string
  readonly kind: string
  readonly name: string
  readonly owner: string
  /** Whether to NOTIFY. */
  readonly notify: string
  readonly where?: string
}

export const resumeSignalSql = ({ from, kind, name, owner, notify, where = 'true' }: Resumption): string => `
signalled as (
  insert into signals (id, tenant, conversation_id, kind, name, origin, payload, state)
  select d.id, d.tenant, d.conversation_id, '${kind}', ${name}, d.turn_id,
    jsonb_build_object('id', d.id, 'principal', d.${owner}, 'turn', d.turn_id, 'reply_to', d.resume -> 'reply_to'), 'queued'
  from ${from} d where ${where}
  on conflict (id) do nothing
  returning conversation_id
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select s.conversation_id, c.tenant, c.connection, 1 from signalled s join conversations c on c.id = s.conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
  returning 1
),
woken as (
  select case when ${notify}::boolean and exists (select 1 from queued) then pg_notify('parley_wake', ${notifyPayloadSql('turns')}) end as done
)`

// What a NOTIFY says: which worker loop has work, and which process said so. Other words, or none, wake all of them.

export function notifyPayloadSql(work: WakingWork): string {
  return `'${work} ' || current_setting('application_name')`
}
