// A thread as its own sender reads it again: all that was said in it, in every session it went through.

import type { Envelope } from '../contract/gateway-events.ts'
import { cleanText } from '../lib/clean-text.ts'
import { type Db, isoTimeSql, nameStatement, preventIndexUseSql, storableJson } from './client.ts'
import { escapedSenderThreadPrefixSql } from './thread-names.ts'

export type ThreadQuery = {
  readonly connection: string
  readonly agents: readonly string[]
  /** What the sender proved. Their name for a thread leads to their own conversation alone. */
  readonly subject: string
  readonly threadId: string
  /** The id of a message of the thread: what was said before it. */
  readonly before: string | null
  readonly limit: number
}

export type ThreadLine = {
  readonly sessionId: string
  readonly seq: number
  readonly envelope: Envelope
  /** Lines about tools of the turn that ends with this reply; null: none. */
  readonly tools: readonly Envelope[] | null
  /** What its turn asked for; null: nothing. */
  readonly waits: readonly ThreadWait[] | null
}

/** A question of a reply, as it stands now. `id` is the action's, or the request's where a client runs a tool. */
export type ThreadWait = {
  readonly id: string
  readonly state: 'pending' | 'approved' | 'rejected' | 'expired' | 'withdrawn' | 'completed'
  readonly decidedBy: string | null
  readonly decidedAt: string | null
}

type Row = { readonly threads: number; readonly lines: readonly ThreadLine[] }

/** The last `limit` lines, oldest first, without what was deleted. Undefined: there is no such thread of theirs. */
export async function readThread(
  db: Db,
  { connection, agents, subject, threadId, before, limit }: ThreadQuery,
): Promise<readonly ThreadLine[] | undefined> {
  // Named as it was when it was stored.
  const mark = before === null ? null : cleanText(before)
  const params = [db.tenant, connection, storableJson(agents), subject, cleanText(threadId), mark, limit]
  const [row] = await db.query<Row>(readThreadSql, params)
  return row === undefined || row.threads === 0 ? undefined : row.lines
}

// $1 tenant, $2 connection, $3 agents as JSON, $4 subject, $5 their name for it,
// $6 before which message or null, $7 how many. Conversations are looked up agent by agent, as their keys are made.

const isShown = `m.role in ('user', 'assistant') and m.envelope ->> 'type' in ('text', 'multimodal_part')
  and m.envelope #>> '{metadata,deleted}' is distinct from 'true' and m.envelope #>> '{metadata,event}' is distinct from 'delete'`

/** A turn has few of them; one that has more shows its latest. */
const maxToolLines = 128

/** Of a page's line `p`: what tools its turn called, with the last thing it said. By number, as the lines of a session are found. */
const tools = `(select json_agg(t.envelope order by t.seq) from (
    select m.seq, m.envelope from messages m
    where m.session_id = p.session_id and m.seq between p.seq - ${maxToolLines} and p.seq - 1 and m.turn_id = p.turn_id
      and m.envelope ->> 'type' in ('tool_call', 'tool_result') and m.envelope #>> '{metadata,deleted}' is distinct from 'true') t
  where p.role = 'assistant' and not exists (
    select 1 from messages n where n.session_id = p.session_id and n.seq = p.seq + 1 and n.turn_id = p.turn_id))`

/** Of a page's line `p`: what its turn asked for. Only what the turn itself stored, whatever ids its words may name. */
const waits = `(select json_agg(w) from (
    select a.id::text as id, a.resolver as "decidedBy", ${isoTimeSql('a.resolved_at')} as "decidedAt",
      case when a.status = 'pending' and a.expires_at <= now() then 'expired' when a.status = 'accepted' then 'approved'
        when a.status = 'deleted' then 'withdrawn' else a.status end as state
    from pending_actions a where a.turn_id = p.turn_id and ${preventIndexUseSql('a.tenant')} = $1
    union all
    select r.request_id, r.resolver, ${isoTimeSql('r.resolved_at')},
      case when r.status = 'runtime_tool_completed' then 'completed'
        when r.status = 'runtime_tool_timeout' or r.expires_at <= now() then 'expired' else 'pending' end
    from runtime_tool_requests r where r.turn_id = p.turn_id and ${preventIndexUseSql('r.tenant')} = $1) w
  where p.role = 'assistant')`

/** The same two ways by which a message of theirs finds its conversation: a name they take part under, and one that is theirs alone. */
const readThreadSql = nameStatement(
  'read_thread',
  `
with own as materialized (
  select f.id from json_array_elements_text($3::text::json) agent(slug) cross join lateral (
    select a.conversation_id as id from conversation_aliases a
    where a.tenant = $1 and a.connection = $2 and a.agent = agent.slug and a.external_id = $5
    union
    select c.id from conversations c
    where c.tenant = $1 and c.connection = $2 and c.agent = agent.slug and c.external_id = ${escapedSenderThreadPrefixSql('$4::text')} || $5
  ) f
  where exists (select 1 from participants p where p.conversation_id = f.id and p.subject = $4)
),
said as (
  select m.created_at, m.session_id, m.seq, m.turn_id, m.role, m.envelope from own
  join sessions s on s.conversation_id = own.id and s.tenant = $1 and s.status <> 'deleted'
  join messages m on m.session_id = s.id
  where ${isShown}
),
mark as materialized (
  select created_at, session_id, seq from said where envelope #>> '{metadata,message_id}' = $6
  order by created_at desc, session_id desc, seq desc limit 1
),
page as materialized (
  select * from said
  where $6::text is null or (created_at, session_id, seq) < (select created_at, session_id, seq from mark)
  order by created_at desc, session_id desc, seq desc limit $7
)
select (select count(*)::int from own) as threads, (
  select coalesce(json_agg(json_build_object('sessionId', p.session_id, 'seq', p.seq, 'envelope', p.envelope,
      'tools', ${tools}, 'waits', ${waits})
    order by p.created_at, p.session_id, p.seq), '[]') from page p) as lines`,
)
