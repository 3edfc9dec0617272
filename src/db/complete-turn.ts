// Completes a turn in one commit: transcript, outbox rows, timers, the status of its messages, and the lane released. Fenced like
// every statement of a turn: $1 conversation, $2 holder, $3 epoch. $4 the end as JSON. $5 whether to NOTIFY.

import { auditedMessages } from './audit.ts'
import { appendHistoryEntrySql, instantNow, nameStatement } from './client.ts'
import { freeConnectionPairingSlotSql, freeGroupPairingSlotSql } from './pairing-room.ts'
import { notifyPayloadSql } from './resume-signal.ts'
import { emptyLine } from './sessions.ts'
import { endedTaskRecordSql } from './task-snapshot.ts'
import { insertLiveTurnCallsSql, insertTurnCallsSql } from './turn-calls.ts'

/** Most turns wait for nothing: they are spared the two tables. */
const pauses = `
asked as (
  insert into pending_actions (tenant, id, turn_id, conversation_id, session_id, agent, run_id, tool_name, tool_call_id, kind,
    summary, action, action_hash, creator, resolvers, resume, status, expires_at, workspace_id)
  select turn.tenant, a.id, turn.id, turn.conversation_id, turn.session_id, turn.agent, a."runId", a."toolName",
    a."toolCallId", a.kind, a.summary, a.action, a."actionHash", a.owner, a.resolvers, a.resume, 'pending',
    now() + a."expiresInMs" * interval '1 ms', turn.tenant
  from turn, given g, json_to_recordset(g.actions) as a(
    id uuid, "runId" text, "toolName" text, "toolCallId" text, owner text, resume jsonb, kind text, summary text, action jsonb,
    "actionHash" text, resolvers text, "expiresInMs" float8)
),
requested as (
  insert into runtime_tool_requests (tenant, id, turn_id, conversation_id, session_id, agent, run_id, tool, tool_call_id,
    request_id, parameters, request, owner, resume, status, expires_at, workspace_id)
  select turn.tenant, q.id, turn.id, turn.conversation_id, turn.session_id, turn.agent, q."runId", q."toolName",
    q."toolCallId", q."requestId", q.parameters, q.request, q.owner, q.resume, 'runtime_tool_pending',
    now() + q."expiresInMs" * interval '1 ms', turn.tenant
  from turn, given g, json_to_recordset(g.requests) as q(
    id uuid, "runId" text, "toolName" text, "toolCallId" text, owner text, resume jsonb, "requestId" text, parameters jsonb,
    request jsonb, "expiresInMs" float8)
),
given_end as (
  select turn.tenant, e.* from turn, given g, json_to_record(coalesce(g.resolved, '{}')) as e(
    id uuid, result jsonb, error text, metadata jsonb)
),
carried_out as (
  update pending_actions a set resolution_result = e.result, resolution_error = e.error, resume = null,
    resolution_metadata = coalesce(a.resolution_metadata, '{}') || e.metadata, action = a.action - 'apply_input'
  from given_end e where a.tenant = e.tenant and a.id = e.id
),
fulfilled as (
  update runtime_tool_requests q set resume = null, parameters = '{}' from given_end e where q.tenant = e.tenant and q.id = e.id
),`

const asker = { tenant: 'a.tenant', connection: 'a.connection', group: 'a."group"' }

/** Refused, or held for a pairing that is really open. */
const isPaired = `(g."leadState" <> 'held' or exists (select 1 from pairing))`

/**
 * A turn that only answers a sender who is refused or held: what becomes of the message goes into the audit log with it. A
 * pairing is locked before a message is held for it; one that was decided meanwhile, or that another replica has just
 * opened, leaves the message in the queue, for a new decision, and the sender is told nothing.
 */
const accessChallengeSql = `
asking as materialized (
  select turn.tenant, turn.connection, turn.conversation_id, p.* from turn, given g,
    json_to_record(coalesce(g.pairing, '{}')) as p(id uuid, "knownId" uuid, agent text, subject text, code text,
      "shownName" text, evidence jsonb, "expiresInMs" float8, "group" text, "perConnection" int, "perGroup" int)
),
-- Without a place no sender waits: the message goes back to the queue and is decided about anew, when it is seen that all are taken.
slots as materialized (
  select ${freeConnectionPairingSlotSql(asker, 'a."perConnection"')} as on_connection,
    ${freeGroupPairingSlotSql(asker, 'a."perGroup"')} as in_group,
    exists (select 1 from pairings p where p.tenant = a.tenant and p.connection = a.connection and p.agent = a.agent
      and p.subject = a.subject and p.status = 'pending') as is_there
  from asking a where a.id is not null and a."knownId" is null
),
known_pairing as materialized (
  select p.id from pairings p join asking a on p.tenant = a.tenant and p.id = a."knownId" where p.status = 'pending'
  for update of p
),
new_pairing as (
  insert into pairings (tenant, id, connection, agent, subject, code, status, conversation_id, shown_name, evidence, expires_at,
    sender_group, group_slot, connection_slot)
  select a.tenant, a.id, a.connection, a.agent, a.subject, a.code, 'pending', a.conversation_id, a."shownName", a.evidence,
    now() + a."expiresInMs" * interval '1 ms', a."group", case when a."group" is not null then s.in_group end, s.on_connection
  from asking a, slots s
  where s.is_there or (s.on_connection is not null and (a."group" is null or s.in_group is not null))
  -- One that has run out and was not swept yet begins anew, with what it holds, under the code that is told now.
  on conflict (tenant, connection, agent, subject) where status = 'pending'
  do update set code = excluded.code, conversation_id = excluded.conversation_id, shown_name = excluded.shown_name,
    evidence = excluded.evidence, created_at = now(), expires_at = excluded.expires_at
  where pairings.expires_at <= now()
  returning id
),
pairing as materialized (select id from known_pairing union all select id from new_pairing),
decided as (
  select turn.tenant, g."leadId" as inbox_id, g.ground ->> 'subject' as subject, g."leadState" as outcome,
    g."leadReason" as code, g.ground ->> 'accessRule' as rule, (g.ground -> 'evidence')::jsonb as evidence, turn.connection,
    turn.agent, turn.conversation_id, turn.trace_id
  from turn, given g where g.ground is not null and ${isPaired}
),${auditedMessages},`

/** The message a turn answers, and those it was merged with. */
const members = `
  update inbox x set
    state = case when g."leadState" is null then x.state
                 when g."leadState" = 'dead' or x.id = g."leadId" then g."leadState" else 'merged' end,
    reason = case when g."leadState" is null then x.reason
                  when g."leadState" = 'dead' or x.id = g."leadId" then g."leadReason" end,
    ended_at = case when g."leadState" is null then null else now() end`

const challengedMembersSql = `
  update inbox x set
    state = case when ${isPaired} then g."leadState" else 'queued' end,
    reason = case when ${isPaired} then g."leadReason" end,
    ended_at = case when g."leadState" <> 'held' then now() end,
    pairing_id = (select id from pairing),
    turn_id = case when ${isPaired} then x.turn_id end, turn_order = case when ${isPaired} then x.turn_order end`

/** A command that decided nothing leaves its task as it was: waiting for a decision. */
const isStillAsked = `(turn.kind = 'control' and exists (
      select 1 from turns w join pending_actions a on a.turn_id = w.id where w.task_id = k.id and a.status = 'pending'))`

type Completion = {
  readonly extra: string
  readonly members: string
  readonly calls: string
  /** What else is answered. */
  readonly shown?: string
}

const completionSql = ({ extra, members, calls, shown = '' }: Completion): string => `
with lane as materialized (
  select l.conversation_id from lanes l
  where l.conversation_id = $1 and l.holder = $2 and l.epoch = $3 for update
),
given as materialized (
  select e.* from lane, json_to_record($4::text::json) as e(
    "turnId" uuid, "sessionId" uuid, state text, reason text, response jsonb, "leadId" uuid, "leadState" text,
    "leadReason" text, envelopes json, erased json, calls json, timers json, run json, events json, actions json,
    requests json, resolved json, pairing json, ground json, "taskState" text, "sharedState" jsonb)
),
turn as (
  update turns t set state = g.state, reason = g.reason, response = g.response,
    ended_at = case when g.state = 'replied' then null else now() end,
    history = ${appendHistoryEntrySql('t', `'what', g.state, 'attempt', t.attempt, 'code', g.reason`)}
  from given g where t.id = g."turnId" and t.state = 'running'
  returning t.id, t.tenant, t.connection, t.conversation_id, t.session_id, t.trace_id, t.agent, t.attempt, t.kind, t.task_id, t.task_order
),
-- A message that came meanwhile keeps it open; so does a decision that has just set the paused run going.
tasked as (
  update tasks k set
    state = case when k.waiting_inbox_id is not null then 'submitted' when ${isStillAsked} then 'input_required' else g."taskState" end,
    state_at = ${instantNow}, status_message = g.response,
    ended_at = case when k.waiting_inbox_id is null and not ${isStillAsked}
      and g."taskState" in ('completed', 'failed', 'cancelled', 'rejected') then now() end
  from turn, given g
  where k.id = turn.task_id and k.ended_at is null and g."taskState" is not null
    and not (turn.kind = 'control' and exists (
      select 1 from signals s where s.conversation_id = k.conversation_id and s.state in ('queued', 'in_turn')))
  returning k.*
),${extra}
numbered as (
  update sessions s set next_seq = s.next_seq + json_array_length(g.envelopes), last_activity_at = now(),
    provider = coalesce(g.run #>> '{summary,provider}', s.provider), model = coalesce(g.run #>> '{summary,model}', s.model),
    provider_response_id = coalesce(g.run #>> '{summary,provider_response_id}', s.provider_response_id),
    metadata = case when g."sharedState" is null then s.metadata else jsonb_set(s.metadata, '{state}', g."sharedState") end
  from turn, given g where s.id = turn.session_id
  returning s.id, s.tenant, s.next_seq - json_array_length(g.envelopes) as first_seq
),
written as (
  insert into messages (session_id, seq, tenant, turn_id, inbox_id, role, envelope)
  select n.id, n.first_seq + e.ord - 1, n.tenant, turn.id, (e.line ->> 'inboxId')::uuid,
    e.line -> 'envelope' ->> 'role', (e.line -> 'envelope')::jsonb
  from numbered n, turn, given g, json_array_elements(g.envelopes) with ordinality as e(line, ord)
),
-- What a message was changed into is taken back with it.
gone as materialized (
  select x.id::uuid as id from turn, given g, json_array_elements_text(g.erased) as x(id)
  union
  select e.id from turn, given g, json_array_elements_text(g.erased) as x(id)
  cross join lateral (select o.* from inbox o where o.id = x.id::uuid limit 1) o
  cross join lateral (
    select e.id from inbox e
    where e.tenant = o.tenant and e.connection = o.connection and e.edit_of = o.message_id and e.event = 'edit'
      and e.agent = o.agent and e.subject is not distinct from o.subject) e
),
erased as (
  update messages m set envelope = m.envelope || ${emptyLine} from gone x where m.inbox_id = x.id
),
forgotten as (
  update inbox i set message = null, raw = null
  from gone x where i.id = x.id and i.state not in ('queued', 'in_turn', 'held')
),
-- Worded so that only the index by message can serve, however the plan was made.
unattached as (
  delete from attachments a where a.inbox_id = any(array(select x.id from gone x))
),${calls}
scheduled as (
  insert into timers (id, tenant, conversation_id, origin, name, kind, payload, due_at)
  select t.id, turn.tenant, turn.conversation_id, turn.id, t.name, t.kind, t.payload, now() + t."dueInMs" * interval '1 ms'
  from turn, given g, json_to_recordset(g.timers) as t(id uuid, name text, kind text, payload jsonb, "dueInMs" float8)
  on conflict (origin, name) do nothing
),
ran as (
  update runs r set status = e.status, stop_reason = e."stopReason", usage = e.usage, budgets = e.budgets,
    summary = e.summary, ended_at = now()
  from turn, given g, json_to_record(g.run) as e(
    status text, "stopReason" text, usage jsonb, budgets jsonb, summary jsonb)
  where r.id = turn.id
),
told as (
  insert into run_events (run_id, seq, key, attempt, event)
  select turn.id, coalesce((select max(seq) + 1 from run_events x where x.run_id = turn.id), 0) + e.ord - 1,
    e.entry ->> 'key', turn.attempt, (e.entry -> 'event')::jsonb
  from turn, given g, json_array_elements(g.events) with ordinality as e(entry, ord)
  on conflict do nothing
  returning seq, created_at, event
),
members as (${members}
  from turn, given g where x.turn_id = turn.id and x.state = 'in_turn'
  returning x.id, x.state
),
signalled as (
  update signals s set state = case when g.state = 'dead' then 'dead' else 'done' end, ended_at = now()
  from turn, given g where s.turn_id = turn.id and s.state = 'in_turn'
  returning s.id
),
freed as (
  update lanes l set turn_id = null, lease_until = null, holder = null, next_at = now(),
    pending = l.pending - (select count(*)::int from members m where m.state <> 'queued') - (select count(*)::int from signalled)
  from turn where l.conversation_id = turn.conversation_id
),
woken as (
  select case when $5::boolean and exists (select 1 from sent where state = 'queued') then pg_notify('parley_wake', ${notifyPayloadSql('sends')}) end as done
)
select (select count(*)::int from turn) as ended,
  -- Push notifications of a task are calls that a trigger writes.
  exists (select 1 from sent where state = 'queued') or exists (select 1 from tasked where has_push) as "hasSends"${shown}
from woken`

export const completeTurnSql = nameStatement(
  'complete_turn',
  completionSql({ extra: '', members, calls: insertTurnCallsSql('') }),
)
/** For a task that a caller waits for in this process: the caller is told as it stands now, and need not be read again. */
export const completeTaskTurn = nameStatement(
  'complete_task_turn',
  completionSql({ extra: '', members, calls: insertTurnCallsSql(''), shown: `, ${endedTaskRecordSql} as task` }),
)
export const pauseTurn = nameStatement(
  'pause_turn',
  completionSql({ extra: pauses, members, calls: insertTurnCallsSql('') }),
)
/** The same for turns that opened a live message. */
export const completeLiveTurn = nameStatement(
  'complete_live_turn',
  completionSql({ extra: '', members, calls: insertLiveTurnCallsSql('') }),
)
export const pauseLiveTurn = nameStatement(
  'pause_live_turn',
  completionSql({ extra: pauses, members, calls: insertLiveTurnCallsSql('') }),
)
export const endAccessChallenge = nameStatement(
  'end_access_challenge_turn',
  completionSql({
    extra: accessChallengeSql,
    members: challengedMembersSql,
    calls: insertTurnCallsSql(` where ${isPaired}`),
  }),
)

/** $1 turn, $2 epoch. Whether it ended while this holder had it: the commit we never heard about, not a successor's. */
export const endedUnder = nameStatement(
  'find_turn_end',
  "select count(*)::int as ended from turns where id = $1 and epoch = $2 and state not in ('running', 'split')",
)
