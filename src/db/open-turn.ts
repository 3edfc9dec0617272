// Opening, resuming, splitting and releasing a turn. Every statement begins by locking the lane under its fencing token: $1
// conversation, $2 holder, $3 epoch. If the lane has moved on, `lane` is empty and nothing at all is written. A holder claims
// lanes of its own tenant only, so the fence is also what keeps tenants apart.

import { ambientContextSql } from './ambient-context.ts'
import { auditedMessages } from './audit.ts'
import { appendHistoryEntrySql, instantNow, nameStatement, rowVersion } from './client.ts'
import { crashesOfSplitParentSql } from './suspect-turns.ts'
import { platformNamedThreadKeySql, senderNamedThreadPrefixSql } from './thread-names.ts'
import { insertLiveTurnCallsSql, insertTurnCallsSql } from './turn-calls.ts'

const lane = `lane as materialized (
  select conversation_id, tenant from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update)`

/**
 * The queued rows with the ids in a JSON parameter, worded so that only the primary key can serve. A plan made for empty
 * tables would read every waiting row of every lane: with 10 000 of them each turn anywhere opened 16 ms later.
 */
const isQueuedInboxRowSql = (rows: string): string =>
  `x.id = any(array(select (e ->> 'id')::uuid from json_array_elements(${rows}::text::json) e)) and x.state || '' = 'queued'`

/** By whom a run is stopped whose task was cancelled before it began. */
const cancelledTask = 'task'

const keeping = `json_to_record(coalesce(g.keeping, '{}')) as k(
    id uuid, "isAllowed" boolean, reason text, audit jsonb, "expiresInMs" float8)`

type Rooms = {
  readonly given: string
  readonly lines: string
  readonly disposed: string
  readonly emptied: string
  readonly settled: string
  readonly overhears: string
}

const buildOpenTurnSql = (rooms: Rooms): string => `
with ${lane},
given as (
  select t.* from lane, json_to_record(coalesce($4::text, '{}')::json) as t(
    id uuid, kind text, attempt int, "sessionId" uuid, "isNewSession" boolean, "parentTurn" uuid, principal text,
    "runId" text, "traceId" text, "deadlineMs" float8, "replyTo" jsonb, "signalId" uuid, resumes uuid, keeping json, "taskId" uuid, "continuesTurn" boolean, history jsonb${rooms.given})
),
mapped as (
  update conversations c set session_id = g."sessionId", reply_to = coalesce(g."replyTo", c.reply_to),
    last_activity_at = now()
  from given g where c.id = $1 and g.id is not null and g.kind <> 'access_challenge'
),
task as materialized (
  select t.id, (select count(*)::int from turns o where o.task_id = t.id) as place, t.state
  from given g join tasks t on t.id = g."taskId"
),
tasked as (
  update tasks t set
    state = case when g.kind in ('messages', 'signal') then 'working' else t.state end,
    state_at = case when g.kind in ('messages', 'signal') then ${instantNow} else t.state_at end,
    status_message = case when g.kind in ('messages', 'signal') then null else t.status_message end,
    waiting_inbox_id = case when t.waiting_inbox_id::text in (select e ->> 'id' from json_array_elements($6::text::json) e) then null
      else t.waiting_inbox_id end
  from given g, task k where t.id = k.id and t.ended_at is null
),
started as (
  insert into run_events (run_id, seq, key, attempt, event)
  select g.id, 0, 'started', g.attempt, '{"type":"started"}'
  from given g, task k where g.kind in ('messages', 'signal')
),
claimed as (
  -- A run id is claimed once; a caller that brings a known one gets a run under an id of our own.
  insert into runs (id, tenant, run_id, turn_id, conversation_id, session_id, agent, owner, resumes, status, cancel_requested_at,
    cancelled_by, workspace_type, workspace_id)
  select g.id, c.tenant, coalesce((
      -- By the order of the one index that begins with both, so that no plan takes another.
      select case when r.conversation_id = c.id then g.id::text end from (
        select r.conversation_id from runs r
        where r.tenant = c.tenant and r.run_id = g."runId" and r.conversation_id >= c.id
        order by r.conversation_id limit 1) r),
    g."runId", g.id::text), g.id, c.id, g."sessionId", c.agent, g.principal, g.resumes, 'running',
    case when k.state = 'cancelled' then now() end, case when k.state = 'cancelled' then '${cancelledTask}' end,
    c.workspace_type, c.workspace_id
  from given g join conversations c on c.id = $1 left join task k on true where g.id is not null and g.kind not in ('amendment', 'control', 'access_challenge')
  on conflict do nothing
),
taken as (
  update inbox x set state = 'in_turn', turn_id = g.id, turn_order = m.ord, attempts = x.attempts + 1, principal = m.principal,
    access_rule = m."accessRule"
  from given g, json_to_recordset($6::text::json) as m(
    id uuid, ord int, principal text, "accessRule" text, subject text, evidence jsonb)
  where x.id = m.id and ${isQueuedInboxRowSql('$6')} and g.id is not null
  returning x.id, x.tenant, x.connection, x.agent, x.conversation_id, x.trace_id, m."accessRule", m.subject, m.evidence, g.kind,
    x.subject as sender
),
-- An admitted sender chooses for all people of the thread which agent it talks with; until then the choice counted for that sender alone.
turned as (
  insert into thread_agents (tenant, connection, external_id, agent, updated_at)
  select c.tenant, c.connection, ${platformNamedThreadKeySql('c.external_id')}, c.agent, said.at
  from conversations c cross join lateral (
    select o.updated_at as at from taken t cross join lateral (
      select o.updated_at from thread_agents o
      where o.tenant = c.tenant and o.connection = c.connection and o.agent = c.agent
        and o.external_id = ${senderNamedThreadPrefixSql('t.sender')} || c.external_id
      limit 1) o
    where t.kind = 'messages' order by o.updated_at desc limit 1) said
  where c.id = $1 and not exists (
    select 1 from thread_agents k
    where k.tenant = c.tenant and k.connection = c.connection and k.external_id = ${platformNamedThreadKeySql('c.external_id')}
      and k.updated_at >= said.at)
  on conflict (tenant, connection, external_id) do update set agent = excluded.agent, updated_at = excluded.updated_at
  where thread_agents.updated_at < excluded.updated_at
),
signalled as (
  update signals s set state = 'in_turn', turn_id = g.id, attempts = s.attempts + 1
  from given g where s.id = g."signalId" and s.state = 'queued'
),
disposed as materialized (
  select d.* from lane, json_to_recordset($5::text::json) as d(
    id uuid, state text, reason text, tombstone boolean, "pairingId" uuid, "accessRule" text, subject text, evidence jsonb${rooms.disposed})
),
-- A decision about a pairing locks it first. What finds it decided already stays in the queue, for a new decision.
undecided as materialized (
  select p.id from pairings p
  where p.tenant = (select tenant from lane)
    and p.id = any(array(select d."pairingId" from disposed d where d."pairingId" is not null)) and p.status = 'pending'
  order by p.id for update
),
settled as (
  update inbox x set state = d.state, reason = d.reason, ended_at = case when d.state <> 'held' then now() end,
    access_rule = d."accessRule", pairing_id = d."pairingId"${rooms.emptied}
  from disposed d
  where x.id = d.id and ${isQueuedInboxRowSql('$5')} and (d.state <> 'held' or d."pairingId" in (select id from undecided))
  returning x.id, x.tenant, x.connection, x.agent, x.conversation_id, x.trace_id, x.edit_of, x.subject, x.event, d.tombstone,
    d.state, d.reason, d."accessRule", d.subject as shown, d.evidence${rooms.settled}
),${rooms.overhears}
-- A dead turn that is tried again goes on with its journal, and is shown what it was shown.
before as materialized (
  select coalesce(p.journal_turn, p.id) as journal_turn, case when p.session_id = g."sessionId" then p.view end as view
  from given g join turns p on p.id = g."parentTurn" where g."continuesTurn"
),
-- Which lines of its session the turn is shown: by reference, so that every try is shown the same.
shown as materialized (
  select g.history || jsonb_build_object(
      'until', coalesce(s.next_seq, 0) + ${rooms.lines}, 'erasures', coalesce(s.erasures, 0)) as view
  from given g left join sessions s on s.id = g."sessionId" where g.history is not null
),
turn as (
  insert into turns (id, tenant, connection, conversation_id, session_id, agent, kind, state, attempt, epoch, v,
    parent_turn, journal_turn, view, principal, run_id, deadline_at, trace_id, task_id, task_order, crash_epochs)
  select g.id, c.tenant, c.connection, c.id, g."sessionId", c.agent, g.kind, 'running', g.attempt, $3, ${rowVersion},
    g."parentTurn", b.journal_turn, coalesce(b.view, (select view from shown)), g.principal, g."runId",
    now() + g."deadlineMs" * interval '1 ms', g."traceId", k.id, k.place,
    ${crashesOfSplitParentSql('g."parentTurn"')}
  from given g join conversations c on c.id = $1 left join task k on true left join before b on true where g.id is not null
),
begun as (
  insert into sessions (id, tenant, connection, conversation_id, agent, owner, is_retained, consent_id, expires_at, next_seq,
    workspace_type, workspace_id)
  -- The person the first turn is for: the first to write in a room may have been refused.
  select g."sessionId", c.tenant, c.connection, c.id, c.agent, coalesce(g.principal, c.owner_subject), coalesce(k."isAllowed", true), k.id,
    case when not k."isAllowed" then now() + k."expiresInMs" * interval '1 ms' end, ${rooms.lines},
    c.workspace_type, c.workspace_id
  from given g join conversations c on c.id = $1 cross join lateral ${keeping} where g.id is not null and g."isNewSession"
  returning id, tenant, connection, agent
),
decided_keeping as (
  insert into consents (tenant, id, operation, is_allowed, reason, session_id, connection, agent, audit)
  select b.tenant, k.id, 'store_transcript', k."isAllowed", k.reason, b.id, b.connection, b.agent, k.audit
  from begun b, given g cross join lateral ${keeping} where k.id is not null
),
ended as (
  update sessions s set status = 'closed', ended_at = now(),
    expires_at = case when s.is_retained then s.expires_at else now() end
  from begun, conversations c
  where c.id = $1 and s.id = c.session_id
),
decided as (
  select t.tenant, t.id as inbox_id, t.subject, 'admitted' as outcome, null as code, t."accessRule" as rule, t.evidence,
    t.connection, t.agent, t.conversation_id, t.trace_id
  from taken t where t.kind <> 'access_challenge'
  union all
  select s.tenant, s.id, s.shown, s.state, s.reason, s."accessRule", s.evidence, s.connection, s.agent, s.conversation_id,
    s.trace_id
  from settled s where s."accessRule" is not null
),${auditedMessages},
buried as (
  insert into tombstones (tenant, connection, message_id, subject, event, inbox_id)
  select tenant, connection, edit_of, coalesce(subject, ''), event, id from settled where tombstone
  on conflict (tenant, connection, message_id, subject) do update set event = excluded.event, inbox_id = excluded.inbox_id
),
freed as (
  update lanes l set turn_id = g.id, pending = l.pending - (select count(*)::int from settled),
    lease_until = case when g.id is null then null else l.lease_until end,
    holder = case when g.id is null then null else l.holder end,
    next_at = case when g.id is null then now() else l.next_at end
  from given g where l.conversation_id = $1
)
select count(*)::int as held from lane`

/** $4 turn, $5 dispositions (JSON), $6 members (JSON). Without a turn the lane is given back at once. */
export const openTurnSql = nameStatement(
  'open_turn',
  buildOpenTurnSql({ given: '', lines: '0', disposed: '', emptied: '', settled: '', overhears: '' }),
)

/** The same where there is ambient context to store or to give: most turns do not need it. */
export const openRoomTurn = nameStatement(
  'open_room_turn',
  buildOpenTurnSql({
    given: ', recall json, unheard uuid',
    lines: '(select count(*) from recalled)',
    disposed: ', ambient json',
    emptied: `, message = case when d.ambient is null then x.message end, raw = case when d.ambient is null then x.raw end`,
    settled: ', x.seq, d.ambient',
    overhears: ambientContextSql,
  }),
)

/** $4 turn. */
export const resumeTurnSql = nameStatement(
  'resume_turn',
  `
with ${lane},
turn as (
  update turns t set attempt = t.attempt + 1, epoch = $3,
    history = ${appendHistoryEntrySql('t', `'what', 'resumed', 'attempt', t.attempt + 1`)}
  from lane where t.id = $4 and t.state = 'running' returning t.id
),
members as (update inbox x set attempts = x.attempts + 1 from turn where x.turn_id = turn.id and x.state = 'in_turn')
select count(*)::int as held from turn`,
)

/**
 * $4 turn, $5 delay in ms, $6 code of what made it necessary, $7 what is said about it (JSON). Members go back to the queue and
 * run alone from now on.
 */
const buildSplitTurnSql = (calls: string): string => `
with ${lane},
given as (select $7::text::json as calls),
turn as (
  update turns t set state = 'split', ended_at = now(),
    history = ${appendHistoryEntrySql(
      't',
      `'what', 'split', 'attempt', t.attempt, 'code', $6::text, 'members',
      (select jsonb_agg(x.id order by x.turn_order) from inbox x where x.turn_id = t.id and x.state = 'in_turn')`,
    )}
  from lane where t.id = $4 and t.state = 'running'
  returning t.id, t.tenant, t.connection, t.conversation_id, t.trace_id
),${calls}
members as (
  update inbox x set state = 'queued', turn_id = null, turn_order = null, joined_at_poll = null, continues_turn = false, runs_alone = true,
    parent_turn = turn.id
  from turn where x.turn_id = turn.id and x.state = 'in_turn'
),
ran as (
  update runs r set status = 'incomplete', stop_reason = 'split', ended_at = now() from turn where r.id = turn.id
),
freed as (
  update lanes l set turn_id = null, lease_until = null, holder = null, next_at = now() + $5::float8 * interval '1 ms'
  from turn where l.conversation_id = $1
)
select count(*)::int as held from turn`

export const splitTurnSql = nameStatement('split_turn', buildSplitTurnSql(insertTurnCallsSql('')))
/** The same for a turn that opened a live message. */
export const splitLiveTurn = nameStatement('split_live_turn', buildSplitTurnSql(insertLiveTurnCallsSql('')))

/**
 * $4 delay in ms, $5 cause, $6 code. The turn stays open; only a failure counts against it. A holder that never began the
 * turn gives the lane back without a mark on it, unless it failed on it.
 */
export const releaseLaneSql = nameStatement(
  'release_lane',
  `
with ${lane},
marked as (
  update turns t set failures = t.failures + case when $5 = 'failed' then 1 else 0 end,
    attempt = t.attempt - case when $5 in ('outage', 'stopping') then 1 else 0 end,
    outage_since = case when $5 = 'outage' then coalesce(t.outage_since, now()) else t.outage_since end,
    history = ${appendHistoryEntrySql('t', `'what', $5::text, 'attempt', t.attempt, 'code', $6::text, 'retryInMs', $4::float8`)}
  from lane join lanes l using (conversation_id) where t.id = l.turn_id and (t.epoch = $3 or $5 = 'failed')
),
freed as (
  update lanes l set lease_until = null, holder = null, next_at = now() + $4::float8 * interval '1 ms'
  from lane where l.conversation_id = lane.conversation_id
)
select count(*)::int as held from lane`,
)

/** $4 a message or a signal that is in no turn, $5 delay in ms. What the gateway fails on is counted before any turn of its own. */
export const deferWaiting = nameStatement(
  'defer_waiting',
  `
with ${lane},
message as (update inbox x set attempts = x.attempts + 1 from lane where x.id = $4 and x.state || '' = 'queued'),
signal as (update signals s set attempts = s.attempts + 1 from lane where s.id = $4 and s.state = 'queued'),
freed as (
  update lanes l set lease_until = null, holder = null, next_at = now() + $5::float8 * interval '1 ms'
  from lane where l.conversation_id = lane.conversation_id
)
select count(*)::int as held from lane`,
)

/** $1 holds as JSON, $2 holder, $3 lease in ms. Counted from when it is written: it may have waited for a lock or a frozen server. */
export const renewLanesSql = nameStatement(
  'renew_lanes',
  `
with asked as materialized (select * from json_to_recordset($1::text::json) as h("conversationId" uuid, epoch bigint)),
locked as materialized (
  select l.conversation_id from lanes l join asked a on l.conversation_id = a."conversationId" and l.epoch = a.epoch
  where l.holder = $2 order by l.conversation_id for update of l
)
update lanes l set lease_until = clock_timestamp() + $3::float8 * interval '1 ms' from locked
where l.conversation_id = locked.conversation_id
returning l.conversation_id as "conversationId", (extract(epoch from now()) * 1000)::float8 as "databaseMs"`,
)

/** First half of a repair: lock; the count must be read by a later statement, whose snapshot sees what the lock waited for. */
export const lockLane = nameStatement(
  'lock_lane',
  'select pending, turn_id is not null as "isOpen" from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update',
)

export const recountLane = nameStatement(
  'recount_lane',
  `
with was as materialized (select pending from lanes where conversation_id = $1),
counted as (
  update lanes set lease_until = null, holder = null, next_at = now(), pending =
    (select count(*)::int from inbox where conversation_id = $1 and state = 'queued') +
    (select count(*)::int from signals where conversation_id = $1 and state = 'queued')
  where conversation_id = $1 returning tenant, connection, pending
),
told as (
  insert into counter_changes select 'drift', c.tenant, c.connection, 'lane', 'claimed', 1, now()
  from counted c, was where c.pending <> was.pending
)
select pending from counted`,
)

/** For rows of another time: no process that is named in them lives. Turns that were left behind queue up again. */
export const freeLanes = nameStatement(
  'free_lanes',
  `update lanes set lease_until = null, holder = null, next_at = case when turn_id is null then next_at else greatest(next_at, now()) end
   where holder is not null or lease_until is not null`,
)
/**
 * For a database only one gateway can open: the one before is dead, so no holder need wait for its leases to run out. Its name
 * stays: the next claim counts its crash. A process that ran suspects for it may still be about to leave: $1 begins its name.
 */
export const expireLanes = nameStatement(
  'expire_lanes',
  "update lanes set lease_until = now() where lease_until > now() and not starts_with(coalesce(holder, ''), $1)",
)
export const freeSendLanes = nameStatement(
  'free_send_lanes',
  'update send_lanes set lease_until = null, holder = null where holder is not null',
)
