// The parts of the accept statement that few batches need: more names for a conversation, originals that go with their message,
// and what became of something we sent.
//
//   names      what a conversation is found by from now on, too; a name that is taken stays whose it is
//   originals  belong to the message, and to its sender, from the moment it is stored
//   returned   the deliveries that bounces are about, locked in a fixed order; an unknown one is ignored
import { effectColumns, effectParts, effectWakes } from './accept-effects.ts'
import { unindexed } from './by-key-alone.ts'
import { historyEntrySql } from './history.ts'

/** The client id of a call is its origin and its ordinal there, which have an index (outbox/enqueue.ts). */
const known = `case when i.bounce ->> 'clientId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]{1,6}$'`

export const withMore = {
  columns: `, also json, originals json, bounce json${effectColumns}`,
  names: `
    union all
    select w.tenant, w.connection, p.taker, a.name, p.conversation_id, w.ord
    from placed p join wanting w on w.ord = p.ord cross join lateral json_array_elements_text(w.also) a(name)`,
  effects: `
kept as (
  update attachments a set inbox_id = k.id, used_at = now(), owner = coalesce(k.subject, a.owner)
  from (
    select distinct on (i.tenant, o.ref) i.tenant, o.ref::uuid as ref, n.id, i.subject
    from inserted n join inp i on i.id = n.id cross join lateral json_array_elements_text(i.originals) o(ref)
    order by i.tenant, o.ref, i.ord desc) k
  where a.id = k.ref and ${unindexed('a.tenant')} = k.tenant
),
returned as materialized (
  select o.id, i.bounce from inserted n join inp i on i.id = n.id
  join outbox o on o.origin = ${known} then split_part(i.bounce ->> 'clientId', ':', 1)::uuid end
    and o.ordinal = ${known} then split_part(i.bounce ->> 'clientId', ':', 2)::int end
  where o.tenant = i.tenant and o.connection = i.connection and o.client_id = i.bounce ->> 'clientId'
  order by o.id, i.ord for update of o
),
bounced as (
  -- What has come back for good is not on its way any more, whatever is said later.
  update outbox o set bounced_at = coalesce((r.bounce ->> 'at')::timestamptz, now()), bounce_kind = r.bounce ->> 'kind',
    bounce_reason = r.bounce ->> 'reason',
    history = ${historyEntrySql('o', `'what', 'bounced', 'attempt', o.attempt, 'reason', r.bounce ->> 'reason', 'kind', r.bounce ->> 'kind'`)}
  from (select distinct on (id) id, bounce from returned order by id, (bounce ->> 'kind' = 'failed') desc) r
  where o.id = r.id and o.bounce_kind is distinct from 'failed'
),${effectParts}`,
  wakes: effectWakes,
} as const

export type MoreParts = Readonly<Record<keyof typeof withMore, string>>

export const withoutMore: MoreParts = { columns: '', names: '', effects: '', wakes: '' }
