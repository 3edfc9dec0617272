// Transcripts, read by window, so that a long conversation costs no more than a short one; beside them the stores of signals and
// run logs.

import type { RunLog } from '../contract/channel.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { Json } from '../lib/json-value.ts'
import { type Database, type Db, nameStatement, storableJson } from './client.ts'
import { cancelOrUpdateDecidedQuestionsSql } from './questions.ts'

// Timers and signals: rows that wake a lane without a message.

/** Timers that end a wait; their id is the id of what they end. */
export const expiryKinds = { approval: 'approval_expiry', runtimeTool: 'runtime_tool_timeout' } as const

/** Signals that end a wait before its time. */
export const pauseSignals = { approval: 'approval', runtimeTool: 'runtime_tool' } as const

const pauseKinds: readonly string[] = [...Object.values(expiryKinds), ...Object.values(pauseSignals)]

/** Whether a signal ends what a paused run waits for: its payload is ours then, and no agent's. */
export function isPauseEndSignal({ kind }: { readonly kind: string }): boolean {
  return pauseKinds.includes(kind)
}

export function isApprovalEndSignal({ kind }: { readonly kind: string }): boolean {
  return kind === pauseSignals.approval || kind === expiryKinds.approval
}

// $1 how many, $2 tenant. A due timer becomes a signal in its lane, in the statement that resolves it.

export const fireTimers = nameStatement(
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
),${cancelOrUpdateDecidedQuestionsSql({ from: 'expired', after: 'queued' })}
select count(*)::int as fired, (extract(epoch from now()) * 1000)::float8 as "databaseMs" from fired`,
)

export interface TranscriptStore {
  /** The first `head` lines and the last `tail` lines, oldest first, none twice. Ambient ones beside them: the last `around`. */
  window(sessionId: string, lines: TranscriptLines): Promise<readonly Envelope[]>
  /** The state that the agent shares with a person's program; undefined: there is none. */
  sharedState(sessionId: string): Promise<Json | undefined>
}

type TranscriptLines = {
  readonly head: number
  readonly tail: number
  readonly around: number
  /** Only lines before this one. */
  readonly until?: number
}

export function createTranscriptStore(database: Database, tenant: string): TranscriptStore {
  return {
    async window(sessionId, { head, tail, around, until }) {
      const params = [sessionId, head, tail, tenant, around, until ?? null]
      const rows = await database.query<{ envelope: Envelope }>(transcriptWindow, params)
      return rows.map((row) => row.envelope)
    },
    async sharedState(sessionId) {
      const [row] = await database.query<{ state: Json | null }>(readSharedState, [sessionId, tenant])
      return row?.state ?? undefined
    },
  }
}

/** Turns due timers into signals in their lanes, in one statement; returns how many fired. */
export async function fireDueTimers(db: Db, limit: number): Promise<number> {
  const [row] = await db.query<{ fired: number; databaseMs: number }>(fireTimers, [limit, db.tenant])
  if (row !== undefined) db.takeOver?.seen(row.databaseMs)
  return row?.fired ?? 0
}

export function createRunLog(database: Database): RunLog {
  return {
    async append(runId, key, event) {
      await database.query(appendRunEvent, [runId, key, storableJson(event)])
    },
  }
}

// $1 session, $2 lines from the start, $3 lines from the end, $4 tenant, $5 lines of ambient context, $6 before which line, or
// null.

type Window = {
  readonly session: string
  readonly head: string
  readonly tail: string
  /** How many lines of ambient context. */
  readonly around: string
  /** SQL: what else is asked of a line `m`. */
  readonly where: string
}

/**
 * The lines of a window, with their numbers. Ambient context stands where it was said and does not count against what was
 * said to the agent; there is never more of it between two turns than one turn is given.
 */
export const transcriptWindowLinesSql = ({ session, head, tail, around, where }: Window): string => {
  const transcriptLinesSql = (more: string) =>
    `select m.seq, m.envelope from messages m where m.session_id = ${session} and ${where}${more}`
  const said = `m.role <> 'ambient'`
  return `
  with first_lines as materialized (${transcriptLinesSql(` and ${said}`)} order by m.seq limit ${head}),
  last_lines as materialized (${transcriptLinesSql(` and ${said} and m.seq > coalesce((select max(f.seq) from first_lines f), -1)`)}
    order by m.seq desc limit ${tail}),
  ambient_lines as materialized (
    -- Of a long session only the end is looked through.
    ${transcriptLinesSql(` and m.role = 'ambient' and m.seq > (
      select case when count(*) < ${tail} then -1 else min(l.seq) end from last_lines l)`)}
    order by m.seq desc limit ${around})
  select * from first_lines union all select * from last_lines union all select * from ambient_lines`
}

const transcriptWindow = nameStatement(
  'transcript_window',
  `
select envelope from (${transcriptWindowLinesSql({ session: '$1', head: '$2', tail: '$3', around: '$5', where: 'm.tenant = $4 and ($6::bigint is null or m.seq < $6::bigint)' })}) lines
order by seq`,
)

/** $1 session, $2 tenant. */
const readSharedState = nameStatement(
  'read_shared_state',
  `select metadata -> 'state' as state from sessions where tenant = $2 and id = $1`,
)

/** $1 run, $2 key, $3 event. The same key again changes nothing. Held while it is written: a run that is gone gets no log. */
const appendRunEvent = nameStatement(
  'append_run_event',
  `
with run as materialized (select id from runs where id = $1 for share)
insert into run_events (run_id, seq, key, event)
select run.id, coalesce((select max(seq) + 1 from run_events where run_id = $1), 0), $2, $3::text::jsonb from run
on conflict (run_id, key) do nothing`,
)
