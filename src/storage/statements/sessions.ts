// Sessions as their owners and operators see them. Scope, the same in all: $1 tenant, $2 owner or null, $3 and $4 workspace
// type and id or null. What lies outside of it is not found.
import { statement } from '../database.ts'
import { auditedAct } from './audit-lines.ts'
import { sessionErased } from './erase-session.ts'

const inScope = `s.tenant = $1 and ($2::text is null or s.owner = $2)
  and ($3::text is null or (s.workspace_type = $3 and s.workspace_id = $4))`

const line = `s.id, s.connection, s.agent, s.owner, s.status, s.title, s.metadata - 'state' as metadata, s.provider, s.model,
  s.workspace_type as "workspaceType", s.workspace_id as "workspaceId", s.next_seq::float8 as lines,
  s.created_at as "createdAt", s.last_activity_at as "lastActivityAt", s.ended_at as "endedAt", s.expires_at as "expiresAt"`

/** $5 how many, $6 before which id or null, $7 which agent or null. Ids are made in the order of time. */
export const listSessions = statement(
  'list_sessions',
  `
select ${line} from sessions s
where ${inScope} and s.status <> 'deleted' and ($6::uuid is null or s.id < $6::uuid) and ($7::text is null or s.agent = $7)
order by s.id desc limit $5`,
)

/** $5 session. */
export const findSession = statement(
  'find_session',
  `select ${line} from sessions s where ${inScope} and s.status <> 'deleted' and s.id = $5`,
)

/** $1 session, $2 how many, $3 before which seq or null, $4 tenant. */
export const readTranscript = statement(
  'read_transcript',
  `
select seq::float8 as seq, envelope from (
  select seq, envelope from messages where session_id = $1 and tenant = $4 and ($3::bigint is null or seq < $3::bigint)
  order by seq desc limit $2) latest
order by seq`,
)

/** $5 session, $6 title. */
export const renameSession = statement(
  'rename_session',
  `update sessions s set title = $6 where ${inScope} and s.status <> 'deleted' and s.id = $5 returning 1 as renamed`,
)

/**
 * $5 session, $6 by whom. The lane is locked first, as in every statement about turns: no worker opens a turn in a session that is being
 * deleted, and none is deleted under a turn. Receipts, counts and numbers stay; what people and agent said does not.
 */
export const deleteSession = statement(
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
),${sessionErased({ lines: 'emptied', resolver: `coalesce($2, 'operator')` })},${auditedAct({
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
