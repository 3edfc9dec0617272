// Accepting messages as one statement, one commit for a whole batch. $1: drafts as JSON, $2: whether to NOTIFY.
//
//   inp       the drafts, with their keys hashed; keys outlive the content they stand for
//   known     drafts whose key and content are already there: redeliveries; and those whose proof was used before
//   wanting   what is left, each with its taker: of several agents that of the amended message or of the thread, else its own
//   joined    the first thread a draft may join: vouched for by the platform, or its sender already takes part
//   opened    conversations that had to be opened; an unverified sender's thread id opens a conversation of their own, never another person's
//   inserted  the rows themselves; the loser of a race for the same key gets nothing back
//   renamed   threads that go by another name from now on: their conversation gets that name too
//   queued    the lanes, one upsert per conversation in a fixed order, so that two replicas cannot deadlock
//   turned    whom a sender talks with from now on, in a fixed order as well; a thread itself turns once they are let in
//   repeated  how often known messages came again, also within this batch; nothing to do for a new one
//
// Rows of a batch are joined with each other by nested loops: what tells them apart is compared first.
//
// Look-ups are lateral with a limit, or scalar: so that a plan made for an empty table does not become a scan of a full
// one. An `exists` under an `or` may be turned into a hash of the whole other table.
import { statement } from '../database.ts'
import { type ClaimParts, withClaims, withoutClaims } from './accept-claims.ts'
import { type MoreParts, withMore, withoutMore } from './accept-more.ts'
import { type TaskParts, withoutTasks, withTasks } from './accept-tasks.ts'
import { ownThreads } from './own-thread.ts'
import { notifyPayloadSql } from './wake-note.ts'

const acceptSql = (tasks: TaskParts, more: MoreParts, once: ClaimParts): string => `
with inp as materialized (
  select r.*,
    encode(sha256(convert_to(json_build_array(r.tenant, r.connection, r.dedupe)::text, 'UTF8')), 'hex') as dedupe_key,
    encode(sha256(convert_to(r.content, 'UTF8')), 'hex') as content_hash,
    r."platformAt" is not null and r."platformAt" < now() - r."horizonMs" * interval '1 ms' as is_stale
  from json_to_recordset($1::text::json) as r(
    ord int, id uuid, tenant text, connection text, agent text, kind text, state text, reason text, dedupe text,
    content text, recipient text, subject text, obligation text, "messageId" text, "deliveryId" text, event text,
    "editOf" text, message jsonb, raw jsonb, "replyTo" jsonb, bytes int, "platformAt" timestamptz, "horizonMs" float8,
    "traceId" text, candidates json, "isVouched" boolean, fresh text, "replyToken" text, "isExclusive" boolean,
    "isControl" boolean, "settleMs" float8, routing jsonb, "conversationId" uuid, v int, copies int, task json${more.columns}${once.columns})
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
    where w."isVouched"
       or exists (select 1 from participants p where p.conversation_id = a.conversation_id and p.subject = w.subject)
       or w."replyToken" is not null and (
         select v.reply_token_hash = encode(sha256(convert_to(w."replyToken", 'UTF8')), 'hex')
         from conversations v where v.id = a.conversation_id)
    order by c.n limit 1) f
),
opening as materialized (
  select w.ord, w.tenant, w.connection, w.taker as agent, w.subject, w."replyTo", w."conversationId", w.fresh, w."isVouched",
    case when w."isVouched" then w.candidates ->> 0 else ${ownThreads('w.subject')} || w.fresh end as external_id
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
    select g.tenant, g.connection, g.agent, case when g."isVouched" then g.external_id else g.fresh end as name, o.id, g.ord
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
  insert into inbox (id, tenant, connection, dedupe_key, content_hash, flagged, v, kind, agent, recipient, subject,
    conversation_id, state, reason, obligation, message_id, delivery_id, event, edit_of, message, raw, reply_to, bytes,
    platform_at, ended_at, trace_id, workspace_id${tasks.column})
  select i.id, i.tenant, i.connection, i.dedupe_key, i.content_hash,
    exists (select 1 from inbox x where x.dedupe_key = i.dedupe_key),
    i.v, i.kind, coalesce(p.taker, i.agent), i.recipient, i.subject, p.conversation_id,
    case when i.is_stale then 'refused' else i.state end, case when i.is_stale then 'stale' else i.reason end,
    i.obligation, i."messageId", i."deliveryId", i.event, i."editOf", i.message, i.raw, i."replyTo", i.bytes,
    i."platformAt", case when i.is_stale or i.state <> 'queued' then now() end, i."traceId", i.tenant${tasks.value}
  from inp i left join placed p on p.ord = i.ord
  where not exists (select 1 from known k where k.ord = i.ord) and not exists (select 1 from busy b where b.ord = i.ord)${tasks.isOpen}${once.isFirst}${once.isClaimed}
  order by i.ord
  on conflict (dedupe_key, content_hash) do nothing
  returning id, tenant, connection, conversation_id, subject, state, flagged, task_id
),${tasks.begun}${more.effects}
renamed as (
  insert into conversation_aliases (tenant, connection, agent, external_id, conversation_id)
  select i.tenant, i.connection, i.agent, i.candidates ->> 1, a.conversation_id from inp i cross join lateral (
    select a.conversation_id from conversation_aliases a
    where a.tenant = i.tenant and a.connection = i.connection and a.agent = i.agent and a.external_id = i.candidates ->> 0
    limit 1) a
  where i.kind = 'remains' and json_array_length(i.candidates) = 2
  on conflict do nothing
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending, next_at, is_control)
  select n.conversation_id, min(n.tenant), min(n.connection), count(*), now() + max(coalesce(i."settleMs", 0)) * interval '1 ms',
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
select i.ord, n.id as "insertedId", k.id as "knownId", coalesce(k.is_replay, false) as "isReplay", coalesce(n.flagged, false) as flagged, n.state, n.task_id as "taskId",
  exists (select 1 from busy b where b.ord = i.ord) as "isBusy", ${tasks.refusal} as refusal,
  ${tasks.shown} as task
from inp i
left join inserted n on n.id = i.id
left join known k on k.ord = i.ord
cross join woken
order by i.ord`

export const accept = statement('accept', acceptSql(withoutTasks, withoutMore, withoutClaims))
/** For batches in which something is proven by what counts once. */
export const acceptOnce = statement('accept_once', acceptSql(withoutTasks, withoutMore, withClaims))
/** For batches in which a caller asks for a task or goes on with one, or that have what only some channels have. */
export const acceptWithMore = statement('accept_with_more', acceptSql(withTasks, withMore, withClaims))
