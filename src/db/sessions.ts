// Sessions as their owners and operators see them. They begin and grow with turns alone; here they are listed, read, named and
// deleted.

import type { Envelope } from '../contract/gateway-events.ts'
import type { WorkspaceScope } from '../contract/workspace-scope.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { insertActAuditLinesSql } from './audit.ts'
import { type Db, nameStatement, type Param } from './client.ts'

/** Whose sessions are meant; what lies outside does not exist for the one who asks. An operator's scope is empty. */
export type SessionScope = {
  readonly owner?: string | undefined
  readonly workspace?: WorkspaceScope | undefined
}

export type SessionLine = {
  readonly id: string
  readonly connection: string
  readonly agent: string
  /** The subject whose message began it; null: the sender could not be authenticated, so only operators see it. */
  readonly owner: string | null
  readonly status: 'open' | 'closed'
  readonly title: string | null
  readonly metadata: JsonObject
  readonly provider: string | null
  readonly model: string | null
  readonly workspaceType: string
  readonly workspaceId: string
  /** How many lines its transcript has. */
  readonly lines: number
  readonly createdAt: string
  readonly lastActivityAt: string
  readonly endedAt: string | null
  readonly expiresAt: string | null
}

export type TranscriptLine = { readonly seq: number; readonly envelope: Envelope }

export type SessionFilter = {
  readonly limit: number
  /** The id of the last session of the page before this one. */
  readonly before: string | null
  readonly agent: string | null
}

/** Newest first, without their transcripts. */
export function listSessions(
  db: Db,
  scope: SessionScope,
  { limit, before, agent }: SessionFilter,
): Promise<readonly SessionLine[]> {
  return db.query<SessionLine>(listSessionsSql, [...sessionScopeParams(db, scope), limit, before, agent])
}

export async function findSession(db: Db, scope: SessionScope, id: string): Promise<SessionLine | undefined> {
  return (await db.query<SessionLine>(findSessionSql, [...sessionScopeParams(db, scope), id]))[0]
}

/** The last `limit` lines before `before`, oldest first. Asked after `find`: it knows no scope. */
export function readTranscript(
  db: Db,
  id: string,
  limit: number,
  before: number | null,
): Promise<readonly TranscriptLine[]> {
  return db.query<TranscriptLine>(readTranscriptSql, [id, limit, before, db.tenant])
}

export async function renameSession(db: Db, scope: SessionScope, id: string, title: string): Promise<boolean> {
  return (await db.query(renameSessionSql, [...sessionScopeParams(db, scope), id, title])).length > 0
}

/**
 * Erases what was said and done in it; rows and their numbers stay. Doing it again changes nothing and is a
 * success. `by` goes into the audit log. `busy`: a turn runs in it right now.
 */
export async function deleteSession(
  db: Db,
  scope: SessionScope,
  id: string,
  by: string,
): Promise<'deleted' | 'none' | 'busy'> {
  const [row] = await db.query<{ found: number; gone: number }>(deleteSessionSql, [
    ...sessionScopeParams(db, scope),
    id,
    by,
  ])
  if ((row?.gone ?? 0) > 0) return 'deleted'
  return (row?.found ?? 0) > 0 ? 'busy' : 'none'
}

function sessionScopeParams(db: Db, { owner, workspace }: SessionScope): readonly Param[] {
  return [db.tenant, owner ?? null, workspace?.workspace_type ?? null, workspace?.workspace_id ?? null]
}

// What a transcript's line is merged with when what it said is gone: its row and its number stay.

export const emptyLine = `'{"type":"text","content":"","payload":{},"metadata":{"deleted":true}}'`

// The part of a statement that erases what was said and done in sessions. A caller's CTE `gone` has their (id,
// conversation_id). Receipts, counts and numbers stay.

type Erasure = {
  /** Whether a line keeps its row and its number. */
  readonly lines: 'emptied' | 'deleted'
  /** SQL: who withdrew what still waited for a decision. */
  readonly resolver: string
}

const lines = {
  emptied: `update messages m set envelope = m.envelope || ${emptyLine} from gone where m.session_id = gone.id`,
  deleted: 'delete from messages m using gone where m.session_id = gone.id',
} as const

export const eraseSessionSql = (erasure: Erasure): string => `
unmapped as (
  update conversations c set session_id = null from gone where c.id = gone.conversation_id and c.session_id = gone.id
),
spoken as materialized (select m.inbox_id, m.turn_id from messages m join gone on m.session_id = gone.id),
ran as materialized (
  select t.id from gone join turns t on t.conversation_id = gone.conversation_id and t.session_id = gone.id
  union
  select turn_id from spoken where turn_id is not null
),
erased as (${lines[erasure.lines]}),
forgotten as (
  update inbox i set message = null, raw = null
  from spoken where i.id = spoken.inbox_id and i.state not in ('queued', 'in_turn', 'held')
),
-- Files that were said in them, or only referred to by what was; no line is left that shows one.
unattached as (
  delete from attachments a
  where a.session_id = any(array(select id from gone)) or a.inbox_id = any(array(select inbox_id from spoken))
),
untold as (update tasks k set status_message = null from gone where k.conversation_id = gone.conversation_id and k.status_message is not null),
unsaid as (update turns t set response = null from ran where t.id = ran.id),
steps as (delete from journal j using ran where j.turn_id = ran.id),
events as (delete from run_events e using ran where e.run_id = ran.id),
sent as (update outbox o set call = '{"erased":true}', question = null from ran where o.turn_id = ran.id and o.state = 'delivered'),
asked as (
  update pending_actions a set action = '{}', resume = null,
    status = case when a.status = 'pending' then 'deleted' else a.status end,
    resolver = case when a.status = 'pending' then ${erasure.resolver} else a.resolver end,
    resolved_at = coalesce(a.resolved_at, now())
  from ran where a.turn_id = ran.id
),
requested as (
  update runtime_tool_requests q set parameters = '{}', resume = null, result = null,
    status = case when q.status = 'runtime_tool_pending' then 'runtime_tool_timeout' else q.status end
  from ran where q.turn_id = ran.id
)`

// Scope, the same in all: $1 tenant, $2 owner or null, $3 and $4 workspace type and id or null. What lies outside of it is not
// found.

const inScope = `s.tenant = $1 and ($2::text is null or s.owner = $2)
  and ($3::text is null or (s.workspace_type = $3 and s.workspace_id = $4))`

const line = `s.id, s.connection, s.agent, s.owner, s.status, s.title, s.metadata - 'state' as metadata, s.provider, s.model,
  s.workspace_type as "workspaceType", s.workspace_id as "workspaceId", s.next_seq::float8 as lines,
  s.created_at as "createdAt", s.last_activity_at as "lastActivityAt", s.ended_at as "endedAt", s.expires_at as "expiresAt"`

/** $5 how many, $6 before which id or null, $7 which agent or null. Ids are made in the order of time. */
const listSessionsSql = nameStatement(
  'list_sessions',
  `
select ${line} from sessions s
where ${inScope} and s.status <> 'deleted' and ($6::uuid is null or s.id < $6::uuid) and ($7::text is null or s.agent = $7)
order by s.id desc limit $5`,
)

/** $5 session. */
const findSessionSql = nameStatement(
  'find_session',
  `select ${line} from sessions s where ${inScope} and s.status <> 'deleted' and s.id = $5`,
)

/** $1 session, $2 how many, $3 before which seq or null, $4 tenant. */
const readTranscriptSql = nameStatement(
  'read_transcript',
  `
select seq::float8 as seq, envelope from (
  select seq, envelope from messages where session_id = $1 and tenant = $4 and ($3::bigint is null or seq < $3::bigint)
  order by seq desc limit $2) latest
order by seq`,
)

/** $5 session, $6 title. */
const renameSessionSql = nameStatement(
  'rename_session',
  `update sessions s set title = $6 where ${inScope} and s.status <> 'deleted' and s.id = $5 returning 1 as renamed`,
)

/**
 * $5 session, $6 by whom. The lane is locked first, as in every statement about turns: no worker opens a turn in a session that is being
 * deleted, and none is deleted under a turn. Receipts, counts and numbers stay; what people and agent said does not.
 */
const deleteSessionSql = nameStatement(
  'delete_session',
  `
with wanted as materialized (
  select s.id, s.conversation_id, c.session_id = s.id as "isCurrent"
  from sessions s left join conversations c on c.id = s.conversation_id where ${inScope} and s.id = $5
),
lane as materialized (
  select w."isCurrent" and (l.turn_id is not null or coalesce(l.lease_until > now(), false)) as "isBusy"
  from wanted w join lanes l on l.conversation_id = w.conversation_id for update of l
),
gone as (
  update sessions s set status = 'deleted', ended_at = coalesce(s.ended_at, now()), title = null, metadata = '{}',
    provider_response_id = null, expires_at = null
  from wanted w where s.id = w.id and not exists (select 1 from lane where "isBusy")
  returning s.id, s.conversation_id, s.tenant, s.connection, s.agent, s.owner
),${eraseSessionSql({ lines: 'emptied', resolver: `coalesce($2, 'operator')` })},${insertActAuditLinesSql({
    from: 'gone',
    by: '$6',
    about: 'd.owner',
    columns: {
      action: "'session.delete'",
      outcome: "'done'",
      connection: 'd.connection',
      agent: 'd.agent',
      conversation_id: 'd.conversation_id',
      object_id: 'd.id::text',
    },
  })}
select (select count(*)::int from wanted) as found, (select count(*)::int from gone) as gone`,
)
