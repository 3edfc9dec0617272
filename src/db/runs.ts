// Runs: what runs, who stopped it, and its event log. Runs go by the id of their turn.
import type { JsonObject } from '../lib/json-value.ts'
import { insertActAuditLinesSql } from './audit.ts'
import { type Db, historyTimeSql, nameStatement, preventIndexUseSql, storableJson } from './client.ts'
import { cancelOrUpdateDecidedQuestionsSql } from './questions.ts'
import { isEventVisibleToCallerSql } from './task-snapshot.ts'
import { controlPrefix, escapedSenderThreadPrefixSql } from './thread-names.ts'
import type { Hold, NewRunEvent } from './turn-rows.ts'

/** What stops a run that its own owner interrupts by writing again (busy policy `interrupt`). */
export const interruptedBy = 'interrupt'

export type RunLine = {
  readonly id: string
  /** What the outside calls it. */
  readonly runId: string
  readonly agent: string
  readonly connection: string
  readonly conversationId: string
  readonly sessionId: string | null
  readonly owner: string | null
  readonly status: string
  readonly stopReason: string | null
  readonly attempt: number
  readonly resumes: string | null
  readonly createdAt: string
  readonly endedAt: string | null
  readonly cancelRequestedAt: string | null
  readonly cancelledBy: string | null
}

export type Run = RunLine & {
  readonly usage: JsonObject
  readonly budgets: JsonObject
  readonly summary: JsonObject
  readonly lastSeq: number | null
}

export type RunEvent = {
  readonly seq: number
  readonly attempt: number
  readonly createdAt: string
  readonly event: JsonObject
}

/** `stopping`: its replica has been told. `cancelled`: it was paused and is over. `over`: it had ended before. */
type CancelOutcome = { readonly kind: 'stopping' | 'cancelled' | 'over'; readonly status: string }

/** What became of a running run since one last looked. */
export type RunNews = { readonly id: string; readonly stoppedBy: string | null; readonly hasWaiting: boolean }

/** What goes on in a conversation, for a person who takes part in it. */
export type RunsAtAGlance = {
  readonly conversationId: string
  readonly running: {
    readonly id: string
    readonly owner: string | null
    readonly runningMs: number
    readonly isStopping: boolean
    /** Type of the latest event of its log. */
    readonly activity: string | null
  } | null
  readonly paused: readonly { readonly id: string; readonly owner: string | null; readonly status: string }[]
  readonly queued: number
  readonly sessionMs: number | null
}

/** A run that was asked for and has not begun, and so has no row but its message's and its task's. */
type WaitingRun = { readonly taskId: string; readonly connection: string; readonly subject: string | null }

export type RunQuery = { readonly limit: number; readonly before: string | null; readonly status: string | null }

export type AppendOutcome = { readonly isHeld: boolean; readonly stoppedBy: string | null }

type Cancelled = CancelOutcome & { readonly resumedAs: string | null }
type Appended = { readonly held: number; readonly stoppedBy: string | null }

/** By the id of its turn or what the outside calls it; several when that is not unique. `owner`: only theirs. Newest first. */
export function findRuns(db: Db, id: string, owner?: string): Promise<readonly Run[]> {
  return db.query<Run>(findRunsSql, [id, db.tenant, owner ?? null])
}

/** By what the outside calls it, the newest where it calls several so. `owner`: only theirs. */
export async function findWaitingRun(db: Db, id: string, owner?: string): Promise<WaitingRun | undefined> {
  const [row] = await db.query<WaitingRun>(findWaitingRunSql, [id, db.tenant, owner ?? null])
  return row
}

export function listRuns(db: Db, { limit, before, status }: RunQuery): Promise<readonly RunLine[]> {
  return db.query<RunLine>(listRunsSql, [db.tenant, status, before, limit])
}

/** Events after `after`, oldest first. */
export function listRunEvents(db: Db, id: string, after: number, limit: number): Promise<readonly RunEvent[]> {
  return db.query<RunEvent>(listRunEventsSql, [id, after, limit, db.tenant])
}

/** One compare-and-set: asking again, or too late, changes nothing. Undefined: there is no such run. */
export async function cancelRun(db: Db, id: string, by: string): Promise<CancelOutcome | undefined> {
  const [row] = await db.query<Cancelled>(cancelRunSql, [id, by, db.tenant])
  if (row === undefined) return undefined
  const { kind, status, resumedAs } = row
  // A paused run that was decided about goes on under another id; the caller who stops it means that one.
  return kind === 'over' && resumedAs !== null ? cancelRun(db, resumedAs, by) : { kind, status }
}

/** `conversationId`: the conversation, or the one beside it where commands about it go. */
export async function summarizeRuns(
  db: Db,
  conversationId: string,
  subject: string | null,
): Promise<RunsAtAGlance | undefined> {
  const [row] = await db.query<RunsAtAGlance>(readRunsAtAGlance, [conversationId, subject, controlPrefix])
  return row
}

/**
 * The thread of a room in which something runs or waits for a person who takes part in it; with a code, in which that waits.
 * `conversationId`: of the room's main line, or beside it. `room`: what its main line is called; threads begin with that and a colon.
 */
export async function findThreadWithActiveRun(
  db: Db,
  {
    conversationId,
    subject,
    room,
    code,
  }: {
    readonly conversationId: string
    readonly subject: string
    readonly room: string
    readonly code: string | null
  },
): Promise<string | undefined> {
  const params = [conversationId, subject, `${room}:`, code, db.tenant]
  return (await db.query<{ id: string }>(findBusyThreadSql, params))[0]?.id
}

export async function readRunUpdates(db: Db, ids: readonly string[]): Promise<readonly RunNews[]> {
  return ids.length === 0 ? [] : db.query<RunNews>(runNews, [storableJson(ids)])
}

/** While the run goes on, under its lane's fence; `isHeld` false: nothing was written. */
export async function appendRunEvents(
  db: Db,
  hold: Hold,
  turnId: string,
  attempt: number,
  events: readonly NewRunEvent[],
): Promise<AppendOutcome> {
  const params = [hold.conversationId, db.holder, hold.epoch, turnId, attempt, storableJson(events)]
  const [row] = await db.query<Appended>(appendRunEventsSql, params)
  return { isHeld: (row?.held ?? 0) > 0, stoppedBy: row?.stoppedBy ?? null }
}

// $1 is the run, by its turn's id, where not said otherwise.

const lineColumns = `r.id, r.run_id as "runId", r.agent, t.connection, r.conversation_id as "conversationId",
  r.session_id as "sessionId", r.owner, r.status, r.stop_reason as "stopReason", t.attempt, r.resumes,
  ${historyTimeSql('r.created_at')} as "createdAt", ${historyTimeSql('r.ended_at')} as "endedAt",
  ${historyTimeSql('r.cancel_requested_at')} as "cancelRequestedAt", r.cancelled_by as "cancelledBy"`

/** $1 the id of its turn or what the outside calls it, $2 tenant, $3 whose or null. The two look-ups are apart, each by its own index. */
const findRunsSql = nameStatement(
  'find_runs',
  `
with named as materialized (
  select id from runs where tenant = $2 and run_id = $1 and ($3::text is null or owner = $3)
  union
  select id from runs where ${preventIndexUseSql('tenant')} = $2 and ($3::text is null or owner = $3) and id = (case when $1 ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then $1 end)::uuid
)
select ${lineColumns}, coalesce(r.usage, '{}') as usage, coalesce(r.budgets, '{}') as budgets,
  coalesce(r.summary, '{}') as summary, (select max(seq) from run_events e where e.run_id = r.id) as "lastSeq"
from named n join runs r on r.id = n.id join turns t on t.id = r.turn_id
order by r.created_at desc limit 2`,
)

/**
 * $1 what the outside calls it, $2 tenant, $3 whose or null: a linked subject counts as its principal. Read over
 * what is in flight, which is bounded; there is no index for what is asked so seldom.
 */
const findWaitingRunSql = nameStatement(
  'find_waiting_run',
  `
select x.task_id as "taskId", x.connection, x.subject from inbox x
where x.tenant = $2 and x.ended_at is null and x.state in ('queued', 'held') and x.delivery_id = $1 and x.task_id is not null
  and ($3::text is null or $3 = coalesce(
    (select l.principal from identity_links l where l.tenant = x.tenant and l.subject = x.subject), x.subject))
order by x.seq desc limit 1`,
)

/** $1 tenant, $2 status or null, $3 the run before which to begin or null, $4 how many. */
const listRunsSql = nameStatement(
  'list_runs',
  `
select ${lineColumns} from runs r join turns t on t.id = r.turn_id
where r.tenant = $1 and ($2::text is null or r.status = $2)
  and ($3::uuid is null or (r.created_at, r.id) < (select b.created_at, b.id from runs b where b.id = $3::uuid and b.tenant = $1))
order by r.created_at desc, r.id desc limit $4`,
)

/** $2 after which, $3 how many, $4 tenant. */
export const listRunEventsSql = nameStatement(
  'list_run_events',
  `
select seq, attempt, ${historyTimeSql('created_at')} as "createdAt", event from run_events
where run_id = (select id from runs where id = $1 and ${preventIndexUseSql('tenant')} = $4) and seq > $2 order by seq limit $3`,
)

/**
 * $2 by whom, $3 tenant. A running run is marked, and its lane is due at once if no worker holds it. A paused one is over here and now:
 * what it waits for is withdrawn by the same compare-and-set that a decision would win by, so nothing resumes it.
 */
export const cancelRunSql = nameStatement(
  'cancel_run',
  `
with asked as materialized (select id, status, conversation_id, tenant, agent, owner from runs
  where id = $1 and ${preventIndexUseSql('tenant')} = $3 for update),
marked as (
  update runs r set cancel_requested_at = coalesce(r.cancel_requested_at, now()),
    cancelled_by = coalesce(r.cancelled_by, $2)
  from asked a where r.id = a.id and a.status = 'running' returning r.id
),
hurried as (
  update lanes l set next_at = now() from marked m, asked a
  where l.conversation_id = a.conversation_id and l.turn_id = m.id and l.holder is null
),
withdrawn as (
  update pending_actions p set status = 'deleted', resolver = $2, resolved_at = now(), resume = null,
    action = p.action - 'apply_input'
  from asked a where p.turn_id = a.id and p.status = 'pending' and a.status = 'approval_required' returning p.tenant, p.id, p.turn_id
),
${cancelOrUpdateDecidedQuestionsSql({ from: 'withdrawn', after: 'withdrawn' }).trimStart()},
dropped as (
  update runtime_tool_requests q set status = 'runtime_tool_timeout', resolver = $2, resolved_at = now(),
    result = '{"cancelled":true}', resume = null, parameters = '{}'
  from asked a where q.turn_id = a.id and q.status = 'runtime_tool_pending' and a.status = 'runtime_tool_pending'
  returning q.turn_id
),
ended as (
  update runs r set status = 'cancelled', stop_reason = 'cancelled', cancel_requested_at = now(), cancelled_by = $2
  where r.id in (select turn_id from withdrawn union select turn_id from dropped) returning r.id
),
stopped as (
  select a.*, case when exists (select 1 from marked) then 'stopping' else 'cancelled' end as outcome
  from asked a where exists (select 1 from marked) or exists (select 1 from ended)
),${insertActAuditLinesSql({
    from: 'stopped',
    by: '$2',
    about: 'd.owner',
    columns: {
      action: "'run.cancel'",
      outcome: 'd.outcome',
      connection: '(select c.connection from conversations c where c.id = d.conversation_id)',
      agent: 'd.agent',
      conversation_id: 'd.conversation_id',
      object_id: 'd.id::text',
    },
  })}
select case when exists (select 1 from marked) then 'stopping'
    when exists (select 1 from ended) then 'cancelled' else 'over' end as kind,
  case when exists (select 1 from ended) then 'cancelled' else a.status end as status,
  (select n.id from runs n where n.resumes = a.id and n.status = 'running' limit 1) as "resumedAs"
from asked a`,
)

/** $1 ids as JSON. */
const runNews = nameStatement(
  'read_run_updates',
  `
select r.id, case when r.cancel_requested_at is not null then coalesce(r.cancelled_by, '') end as "stoppedBy",
  exists (select 1 from inbox x where x.conversation_id = r.conversation_id and x.state = 'queued') as "hasWaiting"
from runs r where r.id = any(array(select value::uuid from json_array_elements_text($1::text::json)))`,
)

/** Of one turn, besides the newest. */
const keptErrors = 39

/** Fenced: $1 conversation, $2 holder, $3 epoch; $4 turn, $5 attempt, $6 events as JSON. */
export const appendRunEventsSql = nameStatement(
  'append_run_events',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
crowded as (
  -- What fails at every try of a long outage: the first errors and the newest are kept.
  delete from run_events x using lane
  where x.run_id = $4 and x.seq in (
      select o.seq from run_events o where o.run_id = $4 and o.event ->> 'type' = 'exception' order by o.seq offset ${keptErrors})
    and exists (select 1 from json_array_elements($6::text::json) e where e -> 'event' ->> 'type' = 'exception')
),
added as (
  insert into run_events (run_id, seq, key, attempt, event)
  select $4, coalesce((select max(seq) + 1 from run_events x where x.run_id = $4), 0) + e.ord - 1, e.entry ->> 'key', $5,
    (e.entry -> 'event')::jsonb
  from lane, json_array_elements($6::text::json) with ordinality as e(entry, ord)
  on conflict do nothing
)
select count(*)::int as held,
  (select coalesce(r.cancelled_by, '') from runs r where r.id = $4 and r.cancel_requested_at is not null) as "stoppedBy"
from lane`,
)

/**
 * $1 a conversation or the one beside it, $2 the subject that asks, $3 what the latter is called. What goes on in the
 * conversation itself, for a person whom the platform says to be in it or who takes part in it; no row for other people.
 */
const readRunsAtAGlance = nameStatement(
  'summarize_runs',
  `
with here as materialized (
  select tenant, connection, agent, ${escapedSenderThreadPrefixSql('owner_subject')} as own, case
      when starts_with(external_id, $3) then substr(external_id, length($3) + 1)
      when starts_with(external_id, ${escapedSenderThreadPrefixSql('owner_subject')} || $3)
        then substr(external_id, length(${escapedSenderThreadPrefixSql('owner_subject')} || $3) + 1) end as beside,
    -- Only a thread the platform vouches for is named without its sender.
    not starts_with(external_id, ${escapedSenderThreadPrefixSql('owner_subject')}) as is_vouched
  from conversations where id = $1
),
meant as materialized (
  -- Their own of that name first: the name alone may lead to a sender who used it before them.
  select h.is_vouched, case when h.beside is null then $1::uuid else coalesce(
      (select c.id from conversations c where c.tenant = h.tenant and c.connection = h.connection and c.agent = h.agent
        and c.external_id = h.own || h.beside and not h.is_vouched),
      (select a.conversation_id from conversation_aliases a
      where a.tenant = h.tenant and a.connection = h.connection and a.agent = h.agent and a.external_id = h.beside
      limit 1)) end as id
  from here h
),
main as materialized (
  select m.id from meant m where m.id is not null
    and (m.is_vouched or exists (select 1 from participants p where p.conversation_id = m.id and p.subject = $2))
)
select m.id as "conversationId",
  (select json_build_object('id', r.id, 'owner', r.owner,
      'runningMs', (extract(epoch from now() - r.created_at) * 1000)::float8,
      'isStopping', r.cancel_requested_at is not null,
      'activity', (select e.event ->> 'type' from run_events e where e.run_id = r.id and ${isEventVisibleToCallerSql('e')} order by e.seq desc limit 1))
    from lanes l join runs r on r.id = l.turn_id where l.conversation_id = m.id and r.status = 'running') as running,
  coalesce((select json_agg(json_build_object('id', r.id, 'owner', r.owner, 'status', r.status))
    from runs r where r.id in (
        select p.turn_id from pending_actions p where p.conversation_id = m.id and p.status = 'pending'
        union
        select q.turn_id from runtime_tool_requests q join here h on q.tenant = h.tenant
        where q.status = 'runtime_tool_pending' and q.conversation_id = m.id)
      and r.status in ('approval_required', 'runtime_tool_pending')), '[]') as paused,
  (select count(*)::int from inbox x where x.conversation_id = m.id and x.state = 'queued') as queued,
  (select (extract(epoch from now() - s.created_at) * 1000)::float8 from conversations c join sessions s on s.id = c.session_id
    where c.id = m.id) as "sessionMs"
from main m`,
)

/**
 * $1 a conversation beside the main line of a room, $2 the subject that asks, $3 what threads of the room begin with, $4 the end of the
 * id of what waits there or null, $5 tenant. The thread they were last active in where something runs or waits.
 */
const findBusyThreadSql = nameStatement(
  'find_busy_thread',
  `
select c.id from conversations b
join participants p on p.subject = $2
join conversations c on c.id = p.conversation_id and c.tenant = b.tenant and c.connection = b.connection and c.agent = b.agent
  and starts_with(c.external_id, $3)
where b.id = $1 and b.tenant = $5 and (
  exists (select 1 from pending_actions a where a.conversation_id = c.id and a.status = 'pending'
    and ($4::text is null or right(a.id::text, length($4)) = $4))
  or $4::text is null and exists (
    select 1 from lanes l join runs r on r.id = l.turn_id where l.conversation_id = c.id and r.status = 'running'))
order by c.last_activity_at desc limit 1`,
)
