// The accept statement: a batch of inbound messages is deduplicated, stored and queued in one commit. $1: drafts as JSON, $2:
// whether to NOTIFY.
//
// inp       the drafts, with their keys hashed; keys outlive the content they stand for
// known     drafts whose key and content are already there: redeliveries; and those whose proof was used before
// wanting   what is left, each with its agent: of several agents that of the amended message or of the thread, else its own
// joined    the first thread a draft may join: vouched for by the platform, or its sender already takes part
// opened    conversations that had to be opened; an unverified sender's thread id opens a conversation of their own, never another person's
// inserted  the rows themselves; the loser of a race for the same key gets nothing back
// renamed   threads that go by another name from now on: their conversation gets that name too
// queued    the lanes, one upsert per conversation in a fixed order, so that two replicas cannot deadlock
// turned    which agent a sender talks with from now on, in a fixed order as well; a thread itself turns once they are let in
// repeated  how often known messages came again, also within this batch; nothing to do for a new one
//
// Rows of a batch are joined with each other by nested loops: what tells them apart is compared first.
//
// Look-ups are lateral with a limit, or scalar: so that a plan made for an empty table does not become a scan of a full
// one. An `exists` under an `or` may be turned into a hash of the whole other table.

import { type ClaimParts, withClaims, withoutClaims } from './accept-claims.ts'
import { accountDeletionRestartPhaseSql } from './account-deletions.ts'
import { appendHistoryEntrySql, instantNow, nameStatement, preventIndexUseSql, rowVersion } from './client.ts'
import { moreColumns, recordsetColumnsSql, rowColumns } from './inbox-row.ts'
import { notifyPayloadSql } from './resume-signal.ts'
import { task } from './task-snapshot.ts'
import { escapedSenderThreadPrefixSql } from './thread-names.ts'
import { addPendingCallsToSendLanesSql } from './turn-calls.ts'

// CTEs that only batches with tasks need: a new task is stored with the message that asks for it; one that a caller continues
// must be theirs and not over.
//
// claims    drafts that ask for a task or continue one; an id their sender used for something else is taken
// gone_on   tasks that get another message: as long as it waits they are not over
// shut      drafts that are not taken, and why
// tasked    new tasks, under the id of their first message

const withTasks = {
  /** Whose task it is decides who may go on with it; the lane is locked first, as the worker that ends a turn does. */
  claims: `
claims as materialized (
  select i.ord, i.id, i.tenant, i.connection, i.subject, (i.task ->> 'known')::uuid as known, i.task,
    exists (select 1 from inbox x where x.dedupe_key = i.dedupe_key)
      or exists (select 1 from inp e where e.dedupe_key = i.dedupe_key and e.ord < i.ord) as is_taken
  from inp i
  where json_typeof(i.task) = 'object' and not exists (select 1 from known k where k.ord = i.ord)
),
going_on as materialized (
  select c.tenant, c.connection, c.subject, c.known, max(c.ord) as last from claims c
  where c.known is not null and not c.is_taken group by 1, 2, 3, 4
),
held_lanes as materialized (
  select l.conversation_id from lanes l
  where l.conversation_id = any(array(select t.conversation_id from tasks t join going_on g on t.id = g.known))
  order by l.conversation_id for update
),
gone_on as (
  update tasks t set waiting_inbox_id = (select c.id from claims c where c.ord = g.last),
    state = case when t.state in ('input_required', 'auth_required') then 'submitted' else t.state end,
    state_at = case when t.state in ('input_required', 'auth_required') then ${instantNow} else t.state_at end,
    status_message = case when t.state in ('input_required', 'auth_required') then null else t.status_message end
  from going_on g
  where t.id = g.known and ${preventIndexUseSql('t.tenant')} = g.tenant and ${preventIndexUseSql('t.connection')} = g.connection and t.ended_at is null
    and t.owner is not distinct from g.subject and (select count(*) from held_lanes) >= 0
  returning t.id, t.owner
),
shut as materialized (
  select c.ord, case when c.is_taken then 'id_taken'
    when exists (select 1 from tasks t where t.id = c.known and ${preventIndexUseSql('t.tenant')} = c.tenant
      and ${preventIndexUseSql('t.connection')} = c.connection and t.owner is not distinct from c.subject) then 'task_over' else 'task_unknown' end as reason
  from claims c
  where c.is_taken or c.known is not null and not exists (select 1 from gone_on t where t.id = c.known)
),`,
  isOpen: ' and not exists (select 1 from shut s where s.ord = i.ord)',
  column: ', task_id',
  value: `, (select coalesce(c.known, c.id) from claims c where c.ord = i.ord)`,
  begun: `
tasked as (
  insert into tasks (id, tenant, connection, agent, owner, context_id, conversation_id, state, state_at, dialect, metadata,
    waiting_inbox_id)
  select i.id, i.tenant, i.connection, p.taker, i.subject, i.task ->> 'contextId', p.conversation_id, 'submitted', ${instantNow},
    i.task ->> 'dialect', coalesce((i.task -> 'metadata')::jsonb, '{}'), i.id
  from inp i join placed p on p.ord = i.ord join inserted n on n.id = i.id
  where json_typeof(i.task) = 'object' and i.task ->> 'known' is null and n.state = 'queued'
  returning *
),`,
  refusal: '(select s.reason from shut s where s.ord = i.ord)',
  shown: `(select ${task} from tasked t where t.id = i.id)`,
} as const

type TaskParts = Readonly<Record<keyof typeof withTasks, string>>

const withoutTasks: TaskParts = {
  claims: '',
  isOpen: '',
  column: '',
  value: '',
  begun: '',
  refusal: 'null::text',
  shown: 'null::json',
}

// CTEs for events that change something besides their own row. A redelivery changes nothing.
//
// changes    of several changes of one record the last counts; records are locked in a fixed order
// answering  what the protocol answers, once for its client id
// blocked    lanes to recipients who want nothing more, locked first, as the send worker does
// stopped    what had not left yet; a reply that reaches no recipient makes its messages dead
// leaving    deleted accounts whose messages are to be erased from now on; also where they said so before, came back, and say it again

const sameRecord = 'r.tenant = c.tenant and r.connection = c.connection and r.family = c.family and r.key = c.key'

const effectParts = `
changes as materialized (
  select distinct on (i.tenant, i.connection, e.family, e.key) i.tenant, i.connection, e.*
  from inserted n join inp i on i.id = n.id
  cross join lateral rows from (json_to_recordset(i."recordWrites") as (
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
  cross join lateral rows from (json_to_recordset(i."protocolReplies") as (
    id uuid, call jsonb, "orderKey" text, "clientId" text)) with ordinality s
  order by i.ord, s.ordinality
  on conflict do nothing
  returning tenant, connection, order_key
),
blocked as materialized (
  select l.tenant, l.connection, l.order_key from (
    select distinct i.tenant, i.connection, i."cancelPending" from inserted n join inp i on i.id = n.id where i."cancelPending" is not null) b
  join send_lanes l on l.tenant = b.tenant and l.connection = b.connection and starts_with(l.order_key, b."cancelPending")
  where l.pending > 0
  order by l.tenant, l.connection, l.order_key for update of l
),
stopped as (
  update outbox o set state = 'refused', reason = 'blocked', settled_at = now(),
    history = ${appendHistoryEntrySql('o', `'what', 'blocked', 'attempt', o.attempt`)}
  from (select distinct tenant, connection, order_key from blocked) l
  where o.tenant = l.tenant and o.connection = l.connection and o.order_key = l.order_key
    and o.settled_at is null and o.state in ('queued', 'retry')
  returning o.tenant, o.connection, o.order_key, o.turn_id, o."primary"
),
unanswered as (
  update turns t set state = 'dead', ended_at = now(), reason = 'delivery_refused',
    history = ${appendHistoryEntrySql('t', `'what', 'dead', 'attempt', t.attempt, 'code', 'delivery_refused'`)}
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
  where i."isAccountDeleted" and i.subject is not null and (n.state <> 'refused' or k.is_forgotten)
  order by i.tenant, i.connection, i.subject, i.ord
),
parting as (
  -- What is being stored at this moment is there in a few seconds.
  insert into account_deletions (tenant, connection, subject, inbox_id, phase, at, due_at)
  select tenant, connection, subject, inbox_id, 'new', now(), now() + interval '5 s' from leaving order by tenant, connection, subject
  on conflict (tenant, connection, subject) do update set inbox_id = excluded.inbox_id,
    at = greatest(account_deletions.at, excluded.at), phase = ${accountDeletionRestartPhaseSql('account_deletions')}, after = null,
    due_at = excluded.due_at, epoch = account_deletions.epoch + 1
),
parted as (
  insert into audit_log (tenant, action, outcome, principal_id, connection, inbox_id, trace_id)
  select l.tenant, 'forget', 'asked', (select p.id from principals p where p.tenant = l.tenant and p.subject = l.subject),
    l.connection, l.inbox_id, l.trace_id
  from leaving l order by l.tenant, l.connection, l.subject
),
${addPendingCallsToSendLanesSql(`select tenant, connection, order_key, 1 as calls from answering
    union all select tenant, connection, order_key, -1 from stopped`)},`

const effectWakes = `,
    case when $2::boolean and exists (select 1 from answering) then pg_notify('parley_wake', ${notifyPayloadSql('sends')}) end as sending`

// CTEs that few batches need: more names for a conversation, raw payloads stored with their message, and bounces of what we sent.
//
// names      what a conversation is found by from now on, too; a name that is taken stays whose it is
// kept       raw payloads belong to the message, and to its sender, from the moment it is stored
// returned   the deliveries that bounces are about, locked in a fixed order; an unknown one is ignored

/** The client id of a call is its origin and its ordinal there, which have an index (outbound/render.ts). */
const known = `case when i.bounce ->> 'clientId' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]{1,6}$'`

const withMore = {
  columns: `, ${recordsetColumnsSql(moreColumns)}`,
  names: `
    union all
    select w.tenant, w.connection, p.taker, a.name, p.conversation_id, w.ord
    from placed p join wanting w on w.ord = p.ord cross join lateral json_array_elements_text(w.aliases) a(name)`,
  effects: `
kept as (
  update attachments a set inbox_id = k.id, used_at = now(), owner = coalesce(k.subject, a.owner)
  from (
    select distinct on (i.tenant, o.ref) i.tenant, o.ref::uuid as ref, n.id, i.subject
    from inserted n join inp i on i.id = n.id cross join lateral json_array_elements_text(i."rawBlobs") o(ref)
    order by i.tenant, o.ref, i.ord desc) k
  where a.id = k.ref and ${preventIndexUseSql('a.tenant')} = k.tenant
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
    history = ${appendHistoryEntrySql('o', `'what', 'bounced', 'attempt', o.attempt, 'reason', r.bounce ->> 'reason', 'kind', r.bounce ->> 'kind'`)}
  from (select distinct on (id) id, bounce from returned order by id, (bounce ->> 'kind' = 'failed') desc) r
  where o.id = r.id and o.bounce_kind is distinct from 'failed'
),${effectParts}`,
  wakes: effectWakes,
} as const

type MoreParts = Readonly<Record<keyof typeof withMore, string>>

const withoutMore: MoreParts = { columns: '', names: '', effects: '', wakes: '' }

const acceptInboundMessagesSql = (tasks: TaskParts, more: MoreParts, once: ClaimParts): string => `
with inp as materialized (
  select r.*,
    encode(sha256(convert_to(json_build_array(r.tenant, r.connection, r.dedupe)::text, 'UTF8')), 'hex') as dedupe_key,
    encode(sha256(convert_to(r.content, 'UTF8')), 'hex') as content_hash,
    r."platformAt" is not null and r."platformAt" < now() - r."horizonMs" * interval '1 ms' as is_stale
  from json_to_recordset($1::text::json) as r(
    ord int, ${recordsetColumnsSql(rowColumns)}${more.columns}${once.columns})
),${once.proofs}
known as materialized (
  select i.ord, x.id, x.is_forgotten, x.is_replay from inp i cross join lateral (
    (select x.id, x.trace_id = '' as is_forgotten, false as is_replay from inbox x
      where x.dedupe_key = i.dedupe_key and x.content_hash = i.content_hash limit 1)${once.spent}) x
),${once.outdone}${tasks.claims}
wanting as materialized (
  select i.*, case when i.routing is null then i.agent else coalesce(
    case when i."editOf" is not null then coalesce((
      -- Said in the same breath: what is changed is not stored yet, and an agent that was asked before has its own change.
      select e.agent from inp e
      where e.ord < i.ord and e.tenant = i.tenant and e.connection = i.connection and e."messageId" = i."editOf"
        and e.event = 'new' and e.agent = i.agent and e.subject is not distinct from i.subject
        and not coalesce((e.routing ->> 'isSticky')::boolean, false)
      limit 1), (
      select o.agent from inbox o
      where o.tenant = i.tenant and o.connection = i.connection and o.message_id = i."editOf" and o.event = 'new'
        and o.subject is not distinct from i.subject
      order by (o.agent = i.agent) desc, o.seq limit 1)) end,
    case when (i.routing ->> 'isSticky')::boolean then coalesce((
      -- Said in the same breath: the thread's agent is not stored yet.
      select e.agent from inp e
      where e.ord < i.ord and e.tenant = i.tenant and e.connection = i.connection
        and e.routing ->> 'own' = i.routing ->> 'own' and (e.routing ->> 'isAddressed')::boolean
        and e.state = 'queued' and not e.is_stale and not exists (select 1 from known k where k.ord = e.ord)
      order by e.ord desc limit 1), (
      -- The agent that was addressed last: by the sender, or by an admitted person of the thread.
      select t.agent from (values (i.routing ->> 'own'), (i.routing ->> 'thread')) n(name) cross join lateral (
        select t.agent, t.updated_at from thread_agents t
        where t.tenant = i.tenant and t.connection = i.connection and t.external_id = n.name
          and i.routing -> 'agents' ? t.agent
        limit 1) t
      order by t.updated_at desc limit 1)) end,
    i.agent) end as taker
  from inp i
  where i.state = 'queued' and not i.is_stale and not exists (select 1 from known k where k.ord = i.ord)${tasks.isOpen}${once.isFirst}
),
joined as materialized (
  select w.ord, f.conversation_id from wanting w cross join lateral (
    select a.conversation_id
    from json_array_elements_text(w.candidates) with ordinality as c(external_id, n)
    cross join lateral (
      select a.conversation_id from conversation_aliases a
      where a.tenant = w.tenant and a.connection = w.connection and a.agent = w.taker and a.external_id = c.external_id
      limit 1) a
    where w."platformVerified"
       or exists (select 1 from participants p where p.conversation_id = a.conversation_id and p.subject = w.subject)
       or w."replyToken" is not null and (
         select v.reply_token_hash = encode(sha256(convert_to(w."replyToken", 'UTF8')), 'hex')
         from conversations v where v.id = a.conversation_id)
    order by c.n limit 1) f
),
opening as materialized (
  select w.ord, w.tenant, w.connection, w.taker as agent, w.subject, w."replyTo", w."conversationId", w."newThreadKey", w."platformVerified",
    case when w."platformVerified" then w.candidates ->> 0 else ${escapedSenderThreadPrefixSql('w.subject')} || w."newThreadKey" end as external_id
  from wanting w where not exists (select 1 from joined j where j.ord = w.ord)
),
opened as (
  insert into conversations (id, tenant, connection, agent, external_id, owner_subject, reply_to, workspace_id)
  select distinct on (tenant, connection, agent, external_id)
    "conversationId", tenant, connection, agent, external_id, subject, "replyTo", tenant
  from opening order by tenant, connection, agent, external_id, ord
  on conflict (tenant, connection, agent, external_id) do update set external_id = excluded.external_id
  returning id, tenant, connection, agent, external_id
),
placed as materialized (
  select j.ord, j.conversation_id, w.taker from joined j join wanting w on w.ord = j.ord
  union all
  select g.ord, o.id, g.agent from opening g join opened o using (external_id, tenant, connection, agent)
),
named as (
  insert into conversation_aliases (tenant, connection, agent, external_id, conversation_id)
  select distinct on (n.tenant, n.connection, n.agent, n.name) n.tenant, n.connection, n.agent, n.name, n.id
  from (
    select g.tenant, g.connection, g.agent, case when g."platformVerified" then g.external_id else g."newThreadKey" end as name, o.id, g.ord
    from opening g join opened o using (external_id, tenant, connection, agent)${more.names}) n
  order by n.tenant, n.connection, n.agent, n.name, n.ord
  on conflict do nothing
),
busy as materialized (
  select p.ord from (
    select p.ord, p.conversation_id, row_number() over (partition by p.conversation_id order by p.ord) as place
    from placed p) p
  join wanting w on w.ord = p.ord
  where case when w."isExclusive" then
    p.place > 1 or (select l.pending > 0 from lanes l where l.conversation_id = p.conversation_id) end
),${once.claimed(`${tasks.isOpen}${once.isFirst}`)}
inserted as (
  insert into inbox (id, tenant, connection, dedupe_key, content_hash, is_flagged, v, kind, agent, recipient, subject,
    conversation_id, state, reason, must_reply_individually, message_id, delivery_id, event, edit_of, message, raw, reply_to, bytes,
    platform_at, ended_at, trace_id, workspace_id${tasks.column})
  select i.id, i.tenant, i.connection, i.dedupe_key, i.content_hash,
    exists (select 1 from inbox x where x.dedupe_key = i.dedupe_key),
    ${rowVersion}, i.kind, coalesce(p.taker, i.agent), i.recipient, i.subject, p.conversation_id,
    case when i.is_stale then 'refused' else i.state end, case when i.is_stale then 'stale' else i.reason end,
    i."mustReplyIndividually", i."messageId", i."deliveryId", i.event, i."editOf", i.message, i.raw, i."replyTo", i.bytes,
    i."platformAt", case when i.is_stale or i.state <> 'queued' then now() end, i."traceId", i.tenant${tasks.value}
  from inp i left join placed p on p.ord = i.ord
  where not exists (select 1 from known k where k.ord = i.ord) and not exists (select 1 from busy b where b.ord = i.ord)${tasks.isOpen}${once.isFirst}${once.isClaimed}
  order by i.ord
  on conflict (dedupe_key, content_hash) do nothing
  returning id, tenant, connection, conversation_id, subject, state, is_flagged, task_id
),${tasks.begun}${more.effects}
renamed as (
  insert into conversation_aliases (tenant, connection, agent, external_id, conversation_id)
  select i.tenant, i.connection, i.agent, i.candidates ->> 1, a.conversation_id from inp i cross join lateral (
    select a.conversation_id from conversation_aliases a
    where a.tenant = i.tenant and a.connection = i.connection and a.agent = i.agent and a.external_id = i.candidates ->> 0
    limit 1) a
  where i.kind = 'rejected_event' and json_array_length(i.candidates) = 2
  on conflict do nothing
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending, next_at, is_control)
  select n.conversation_id, min(n.tenant), min(n.connection), count(*), now() + max(coalesce(i."debounceMs", 0)) * interval '1 ms',
    coalesce(bool_or(i."isControl"), false)
  from inserted n join inp i on i.id = n.id where n.state = 'queued'
  group by n.conversation_id order by n.conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending,
    is_control = lanes.is_control or excluded.is_control,
    -- What is due already is not delayed; what is being gathered is gathered a little longer, three seconds in all.
    next_at = case when excluded.next_at > now() and (lanes.pending = 0 or lanes.next_at > now())
      then least(greatest(lanes.next_at, excluded.next_at), interval '3 s' + coalesce((
        select q.received_at from inbox q where q.conversation_id = lanes.conversation_id and q.state = 'queued'
        order by q.seq limit 1), now())) else lanes.next_at end
  returning 1
),
turned as (
  insert into thread_agents (tenant, connection, external_id, agent)
  select distinct on (w.tenant, w.connection, w.routing ->> 'own')
    w.tenant, w.connection, w.routing ->> 'own', w.taker
  from wanting w join inserted n on n.id = w.id
  where (w.routing ->> 'isAddressed')::boolean and w.routing ->> 'own' is not null
  order by 1, 2, 3, w.ord desc
  on conflict (tenant, connection, external_id) do update set agent = excluded.agent, updated_at = now()
),
joining as (
  insert into participants (conversation_id, subject)
  select distinct conversation_id, subject from inserted where state = 'queued' and subject is not null
  order by 1, 2
  on conflict do nothing
),
repeated as (
  insert into duplicates (inbox_id, tenant, connection, count, last_delivery_id)
  select d.id, min(d.tenant), min(d.connection), sum(d.copies), max(d."deliveryId")
  from (
    -- Of an erased person not even the id of a delivery is stored again.
    select k.id, i.tenant, i.connection, 1 + i.copies as copies,
      case when not k.is_forgotten then i."deliveryId" end as "deliveryId"
    from known k join inp i on i.ord = k.ord
    -- Of a receipt that is gone only its proof is known: there is nothing to count at.
    where k.is_forgotten is not null
    union all
    select n.id, i.tenant, i.connection, i.copies, i."deliveryId" from inp i join inserted n on n.id = i.id where i.copies > 0
  ) d group by d.id order by d.id
  on conflict (inbox_id) do update set count = duplicates.count + excluded.count, last_at = now(),
    last_delivery_id = coalesce(excluded.last_delivery_id, duplicates.last_delivery_id)
),
woken as (
  select case when $2::boolean and exists (select 1 from queued) then pg_notify('parley_wake', ${notifyPayloadSql('turns')}) end as done${more.wakes}
)
select i.ord, n.id as "insertedId", k.id as "knownId", coalesce(k.is_replay, false) as "isReplay", coalesce(n.is_flagged, false) as flagged, n.state, n.task_id as "taskId",
  exists (select 1 from busy b where b.ord = i.ord) as "isBusy", ${tasks.refusal} as refusal,
  ${tasks.shown} as task
from inp i
left join inserted n on n.id = i.id
left join known k on k.ord = i.ord
cross join woken
order by i.ord`

export const accept = nameStatement('accept', acceptInboundMessagesSql(withoutTasks, withoutMore, withoutClaims))
/** For batches in which something is proven by what counts once. */
export const acceptOnce = nameStatement(
  'accept_with_proofs',
  acceptInboundMessagesSql(withoutTasks, withoutMore, withClaims),
)
/** For batches in which a caller asks for a task or goes on with one, or that have what only some channels have. */
export const acceptWithMore = nameStatement(
  'accept_with_more',
  acceptInboundMessagesSql(withTasks, withMore, withClaims),
)
