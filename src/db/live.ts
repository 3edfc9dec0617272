// Rows written while a turn runs, under the fence of its lane: live messages, and notices to people who wait behind one.
import type { QueuedCall } from '../contract/delivery.ts'
import type { NormalizedResponse } from '../contract/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Db, nameStatement, rowVersion, storableJson } from './client.ts'

export type NewLiveRow = {
  readonly id: string
  readonly turnId: string
  readonly orderKey: string
  readonly call: JsonObject
  readonly clientId: string
}

/** `reference`: the vendor's id, once it was delivered. */
type LiveRow = { readonly isSettled: boolean; readonly reference: string | null; readonly clientId: string }

/** A message waits behind a turn, and is told so: by calls that do not count as an answer, and in the task it asks for. */
export type WaitNotice = {
  readonly inboxId: string
  readonly taskId: string | null
  readonly said: NormalizedResponse
  readonly calls: readonly Pick<QueuedCall, 'id' | 'ordinal' | 'orderKey' | 'call' | 'clientId'>[]
}

/** `known`: an earlier attempt of the turn wrote it. */
export async function openLiveReply(
  db: Db,
  hold: { readonly conversationId: string; readonly epoch: number },
  { id, turnId, orderKey, call, clientId }: NewLiveRow,
): Promise<'opened' | 'known' | 'lease_lost'> {
  const params = [hold.conversationId, db.holder, hold.epoch, turnId, id, orderKey, storableJson(call), clientId]
  const [row] = await db.query<{ held: number; opened: number }>(openLive, params)
  if ((row?.held ?? 0) === 0) return 'lease_lost'
  return (row?.opened ?? 0) > 0 ? 'opened' : 'known'
}

export async function findLiveReply(db: Db, turnId: string): Promise<LiveRow | undefined> {
  const [row] = await db.query<LiveRow>(findLive, [turnId])
  return row
}

/** Once per message, however often it is asked for; none of a message that is taken up by now. How many calls were written. */
export async function storeWaitNotice(
  db: Db,
  hold: { readonly conversationId: string; readonly epoch: number },
  turnId: string,
  notices: readonly WaitNotice[],
): Promise<number> {
  const params = [hold.conversationId, db.holder, hold.epoch, turnId, storableJson(notices)]
  const [row] = await db.query<{ sent: number }>(tellWaiting, params)
  return row?.sent ?? 0
}

// A live message is ordinal 0 of its turn. These rows are sent in order like any other and not counted as answers.

/** $1 conversation, $2 holder, $3 epoch, $4 turn, $5 row, $6 order key, $7 call as JSON, $8 client id. */
const openLive = nameStatement(
  'open_live',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
turn as (select t.* from lane, turns t where t.id = $4 and t.state = 'running'),
opened as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select $5::uuid, tenant, connection, conversation_id, id, id, 0, $6::text, false, 'live', ${rowVersion}, $7::text::jsonb, $8::text, 'queued',
    trace_id
  from turn
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending) select tenant, connection, order_key, 1 from opened
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + 1
)
select (select count(*)::int from turn) as held, (select count(*)::int from opened) as opened`,
)

/**
 * $1 conversation, $2 holder, $3 epoch, $4 turn, $5 notices as JSON (`WaitNotice`). Only while the turn runs and the message waits; the
 * message is the origin of its rows, so that a turn which is taken over says nothing twice.
 */
const tellWaiting = nameStatement(
  'notify_waiting',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
turn as (select t.* from lane, turns t where t.id = $4 and t.state = 'running'),
notice as materialized (
  select n.* from turn, json_to_recordset($5::text::json) as n("inboxId" uuid, "taskId" uuid, said jsonb, calls json)
  join inbox x on x.id = n."inboxId" and x.state = 'queued'
),
tasked as (
  update tasks t set status_message = n.said from notice n
  where t.id = n."taskId" and t.waiting_inbox_id = n."inboxId" and t.state = 'submitted' and t.status_message is null
),
sent as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select c.id, t.tenant, t.connection, t.conversation_id, t.id, n."inboxId", c.ordinal, c."orderKey", false, 'notice', ${rowVersion}, c.call,
    c."clientId", 'queued', t.trace_id
  from turn t, notice n
  cross join lateral json_to_recordset(n.calls) as c(id uuid, ordinal int, "orderKey" text, call jsonb, "clientId" text)
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select tenant, connection, order_key, count(*)::int from sent group by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
)
select count(*)::int as sent from sent`,
)

/** $1 turn. */
const findLive = nameStatement(
  'find_live',
  `select settled_at is not null as "isSettled", client_id as "clientId",
     case when state = 'delivered' then vendor_id end as reference
   from outbox where origin = $1 and ordinal = 0 and purpose = 'live'`,
)
