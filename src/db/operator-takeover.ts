// Operator takeover: an operator takes a conversation over, speaks in it, gives it back (`lanes.mode`).
import type { QueuedCall } from '../contract/delivery.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Db, nameStatement, rowVersion, storableJson } from './client.ts'
import { notifyPayloadSql } from './resume-signal.ts'

/** Where a session is held; what waits there is answered once its lane is `active` again. */
export type SessionRoom = {
  readonly conversationId: string
  readonly connection: string
  readonly agent: string
  readonly replyTo: JsonObject
  readonly mode: 'active' | 'paused' | 'operator'
  /** False: the conversation has gone on to another session, or this one is over. */
  readonly isCurrent: boolean
}

/** One thing said by a person: a line of the transcript, and the calls that bring it there. */
export type OperatorMessage = {
  readonly turnId: string
  readonly traceId: string
  readonly envelope: Envelope
  readonly response: NormalizedResponse
  readonly calls: readonly QueuedCall[]
  /** Said only in the first mode; what is said moves the lane to the second. */
  readonly from: SessionRoom['mode']
  readonly to: SessionRoom['mode']
}

export async function findSessionConversation(db: Db, sessionId: string): Promise<SessionRoom | undefined> {
  return (await db.query<SessionRoom>(findSessionRoomSql, [db.tenant, sessionId]))[0]
}

/** False: the lane is in another mode, or the session is no longer its conversation's. */
export async function storeOperatorMessage(db: Db, sessionId: string, spoken: OperatorMessage): Promise<boolean> {
  const params = [db.tenant, sessionId, storableJson(spoken), db.isShared]
  const [row] = await db.query<{ spoken: number }>(speakInSessionSql, params)
  return (row?.spoken ?? 0) > 0
}

// The mode of a lane and what the operator says are one commit.

/** $1 tenant, $2 session. */
const findSessionRoomSql = nameStatement(
  'find_session_room',
  `
select s.conversation_id as "conversationId", s.connection, s.agent, coalesce(c.reply_to, '{}') as "replyTo",
  coalesce(l.mode, 'active') as mode, s.status = 'open' and coalesce(c.session_id = s.id, false) as "isCurrent"
from sessions s left join conversations c on c.id = s.conversation_id left join lanes l on l.conversation_id = s.conversation_id
where s.tenant = $1 and s.id = $2 and s.status <> 'deleted'`,
)

/** $1 tenant, $2 session, $3 what is said as JSON, $4 whether to NOTIFY. A turn without members: its calls end it. */
const speakInSessionSql = nameStatement(
  'speak_in_session',
  `
with given as materialized (
  select e.* from json_to_record($3::text::json) as e(
    "turnId" uuid, "traceId" text, envelope jsonb, response jsonb, calls json, "from" text, "to" text)
),
lane as materialized (
  select s.id, s.tenant, s.connection, s.conversation_id, s.agent, s.owner
  from given g, sessions s join conversations c on c.id = s.conversation_id and c.session_id = s.id
    join lanes l on l.conversation_id = s.conversation_id
  where s.tenant = $1 and s.id = $2 and s.status = 'open' and l.mode = g."from" for update of l
),
moved as (
  update lanes l set mode = g."to", next_at = case when g."to" = 'active' then now() else l.next_at end
  from lane, given g where l.conversation_id = lane.conversation_id
),
turn as (
  insert into turns (id, tenant, connection, conversation_id, session_id, agent, kind, state, attempt, epoch, v, principal,
    response, trace_id)
  select g."turnId", lane.tenant, lane.connection, lane.conversation_id, lane.id, lane.agent, 'operator', 'replied', 1, 0,
    ${rowVersion}, lane.owner, g.response, g."traceId"
  from lane, given g
  returning id, tenant, connection, conversation_id, session_id, trace_id
),
numbered as (
  update sessions s set next_seq = s.next_seq + 1, last_activity_at = now() from turn where s.id = turn.session_id
  returning s.id, s.tenant, s.next_seq - 1 as seq
),
written as (
  insert into messages (session_id, seq, tenant, turn_id, role, envelope)
  select n.id, n.seq, n.tenant, turn.id, g.envelope ->> 'role', g.envelope from numbered n, turn, given g
),
sent as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select c.id, turn.tenant, turn.connection, turn.conversation_id, turn.id, turn.id, c.ordinal, c."orderKey", c."primary",
    c.purpose, ${rowVersion}, c.call, c."clientId", 'queued', turn.trace_id
  from turn, given g, json_to_recordset(g.calls) as c(
    id uuid, ordinal int, "orderKey" text, "primary" boolean, purpose text, call jsonb, "clientId" text)
  order by c.ordinal
  returning tenant, connection, order_key
),
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select tenant, connection, order_key, count(*) from sent group by 1, 2, 3 order by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
),
woken as (
  select case when $4::boolean and exists (select 1 from sent) then pg_notify('parley_wake', ${notifyPayloadSql('sends')}) end as done
)
select (select count(*)::int from turn) as spoken from woken`,
)
