// What becomes of messages that were held, once their pairing is decided: back to the queue for a new decision, or their end.
// Runs after the decision is committed, so that its snapshot holds every message that was held before it; may run again at any time.
import { statement } from '../database.ts'
import { auditedMessages } from './audit-lines.ts'
import { wakeNote } from './wake-note.ts'

const release = (which: string): string => `
with free as materialized (
  select x.id, coalesce(p.status, '') as status, p.subject, p.evidence
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
woken as (
  select case when $2::boolean and exists (select 1 from queued) then pg_notify('parley_wake', ${wakeNote('turns')}) end as done
)
select (select count(*)::int from released) as released, (select count(*)::int from refused) as refused from woken`

/** $1 how many, $2 whether to NOTIFY, $3 tenant. */
export const settleHeldMessages = statement('settle_held_messages', release('x.tenant = $3'))

/** $1 how many, $2 whether to NOTIFY, $3 pairing. */
export const settlePairedMessages = statement('settle_paired_messages', release('x.pairing_id = $3::uuid'))
