// Receipts: what became of a message, the ledger of all messages, dead letters and their retry.

import type { NormalizedResponse } from '../contract/index.ts'
import type { Page } from '../contract/page.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { insertActAuditLinesSql } from './audit.ts'
import {
  appendHistoryEntrySql,
  type Database,
  type Db,
  nameStatement,
  type Param,
  preventIndexUseSql,
} from './client.ts'
export type DeliveryLine = {
  /** Its place in the list; the next page begins before it. */
  readonly seq: number
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly purpose: string
  readonly attempt: number
  readonly vendorId: string | null
  readonly turnId: string | null
  readonly createdAt: string
  readonly settledAt: string | null
  /** A server on the way said that it came back, or is late; null where none did. Its state stays what it was. */
  readonly bounceKind: 'failed' | 'delayed' | null
  readonly bounceReason: string | null
  readonly bouncedAt: string | null
}

type Delivery = DeliveryLine & {
  readonly call: JsonObject
  readonly ordinal: number
  readonly orderKey: string | null
  readonly primary: boolean
  readonly clientId: string | null
  readonly maybeRepeat: boolean
}

/** Failed calls an operator may send again. */
type FailedDeliveries = {
  readonly state: 'unknown' | 'refused' | 'dead'
  /** Those that ended then or later. */
  readonly since: string
  /** Null: of all. */
  readonly connection: string | null
}

const bounce = `bounce_kind as "bounceKind", bounce_reason as "bounceReason", bounced_at as "bouncedAt"`

/** $1 states, of which `bounced` is whatever state it came back in; $2 how many, $3 before which seq or null, $4 which connection or null, $5 tenant. */
const listDeliveriesSql = nameStatement(
  'list_deliveries',
  `
select seq::float8 as seq, id, connection, state, reason, purpose, attempt, vendor_id as "vendorId", turn_id as "turnId",
  created_at as "createdAt", settled_at as "settledAt", ${bounce}
from outbox where tenant = $5
  and (state = any(string_to_array($1, ',')) or 'bounced' = any(string_to_array($1, ',')) and bounce_kind is not null) and ($3::bigint is null or seq < $3::bigint)
  and ($4::text is null or connection = $4)
order by seq desc limit $2`,
)

/** $1 outbox id, $2 tenant. */
const showDelivery = nameStatement(
  'show_delivery',
  `
select seq::float8 as seq, id, connection, state, reason, purpose, attempt, vendor_id as "vendorId", turn_id as "turnId", ordinal,
  order_key as "orderKey", "primary", call, client_id as "clientId", maybe_repeat as "maybeRepeat",
  created_at as "createdAt", settled_at as "settledAt", ${bounce}
from outbox where id = $1 and tenant = $2`,
)

/** What can be sent again. A live message is finished by what follows it. */
const isRevivable = `settled_at is not null and call <> '{"erased":true}' and purpose <> 'live'`

/** $1 tenant, $2 state, $3 since, $4 which connection or null, $5 how many. */
const findFailedDeliveriesSql = nameStatement(
  'find_failed_deliveries',
  `
select id from outbox
where tenant = $1 and state = $2 and state in ('unknown', 'refused', 'dead') and settled_at >= $3::timestamptz and ($4::text is null or connection = $4)
  and ${isRevivable}
order by seq limit $5`,
)

const deliveryAuditColumns = (what: string) => ({
  action: `'delivery.${what}'`,
  outcome: "'done'",
  connection: 'd.connection',
  conversation_id: 'd.conversation_id',
  object_id: 'd.id::text',
  trace_id: 'd.trace_id',
})

/** $1 outbox id, $2 tenant, $3 by whom. An unknown call is sent again marked as possibly repeated; its messages are in flight again. */
const retryDeliverySql = nameStatement(
  'retry_delivery',
  `
with revived as (
  update outbox set settled_at = null, state = 'retry', not_before = null, created_at = now(),
    maybe_repeat = maybe_repeat or state = 'unknown', reason = 'resent_by_operator',
    history = ${appendHistoryEntrySql('outbox', `'what', 'resent_by_operator', 'attempt', attempt`)}
  where id = $1 and tenant = $2 and state in ('unknown', 'refused', 'dead', 'cancelled') and ${isRevivable}
  returning id, tenant, connection, conversation_id, trace_id, order_key, turn_id, "primary"
),
queued as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select tenant, connection, order_key, 1 from revived
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + 1, next_at = now()
),
reopened as (
  update turns t set state = 'replied', ended_at = null, reason = null,
    history = ${appendHistoryEntrySql('t', `'what', 'reopened', 'attempt', t.attempt`)}
  from revived r where t.id = r.turn_id and r."primary" and t.state = 'dead' and t.reason like 'delivery_%'
  returning t.id
),
members as (
  update inbox x set state = 'in_turn', reason = null, ended_at = null
  from reopened r where x.turn_id = r.id and x.state = 'dead' and x.reason like 'delivery_%'
),${insertActAuditLinesSql({ from: 'revived', by: '$3', about: 'null::text', columns: deliveryAuditColumns('retry') })}
select count(*)::int as revived from revived`,
)

/** $1 outbox id, $2 tenant, $3 by whom. */
const dropDeliverySql = nameStatement(
  'drop_delivery',
  `
with dropped as (
  update outbox set state = 'cancelled', reason = 'dropped_by_operator',
    history = ${appendHistoryEntrySql('outbox', `'what', 'dropped_by_operator', 'attempt', attempt`)}
  where id = $1 and tenant = $2 and state in ('unknown', 'refused', 'dead') and settled_at is not null
  returning id, tenant, connection, conversation_id, trace_id
),${insertActAuditLinesSql({ from: 'dropped', by: '$3', about: 'null::text', columns: deliveryAuditColumns('drop') })}
select 1 as dropped from dropped`,
)

type Receipt = {
  readonly id: string
  readonly state: string
  readonly reason: string | null
  readonly turnId: string | null
  readonly runId: string | null
  readonly response: NormalizedResponse | null
  /** The run that the message, a decision, set going again. Null: none. */
  readonly resumed: { readonly state: string; readonly response: NormalizedResponse | null } | null
}

/** received = answered + merged + refused + dead + inFlight; ignored events and redeliveries stand outside. */
type LedgerLine = {
  readonly tenant: string
  readonly connection: string
  readonly received: number
  readonly answered: number
  readonly merged: number
  readonly refused: number
  readonly dead: number
  readonly inFlight: number
  readonly ignored: number
  readonly duplicates: number
}

/** A message that found an end the operator may want to look at. */
type EndedMessage = {
  /** Its place in the list; the next page begins before it. */
  readonly seq: number
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly reason: string | null
  readonly messageId: string | null
  readonly subject: string | null
  readonly attempts: number
  readonly receivedAt: string
}

type StoredRejectedEvent = {
  readonly connection: string
  readonly raw: JsonObject
  readonly subject: string | null
}

/** `isAnew`: as if nothing had been done for it. Else its turn goes on with its journal. */
export type Resubmission = { readonly isAnew: boolean }

type PastEffect = { readonly label: string; readonly state: string }

type Revived = { readonly revived: number }

export async function findReceipt(db: Db, inboxId: string): Promise<Receipt | undefined> {
  return (await db.query<Receipt>(findReceiptSql, [inboxId, db.tenant]))[0]
}

export function listMessageCountsByConnection(db: Db): Promise<readonly LedgerLine[]> {
  return db.query<LedgerLine>(readLedgerLines, [db.tenant])
}

export function listEndedMessages(
  db: Db,
  state: 'dead' | 'refused' | 'ignored',
  page: Page,
): Promise<readonly EndedMessage[]> {
  return db.query<EndedMessage>(listMessages, [state, ...pageParams(page), db.tenant])
}

/** Queues the turn of a dead message again, or the message anew, and writes down by whom; false: nothing to queue. */
export async function resubmitMessage(
  db: Db,
  inboxId: string,
  by: string,
  { isAnew }: Resubmission = { isAnew: false },
): Promise<boolean> {
  const [row] = await db.query<Revived>(resubmitMessageSql, [inboxId, db.tenant, by, isAnew])
  return (row?.revived ?? 0) > 0
}

/** What was done for a message, or may have been: anew, it may happen again. */
export function listPastEffectsOfMessage(db: Db, inboxId: string): Promise<readonly PastEffect[]> {
  return db.query<PastEffect>(mayRepeat, [inboxId, db.tenant])
}

/** What was kept of an unparsable event, to be read by a newer release. */
export async function findRejectedEvent(db: Db, inboxId: string): Promise<StoredRejectedEvent | undefined> {
  return (await db.query<StoredRejectedEvent>(findRejectedEventSql, [inboxId, db.tenant]))[0]
}

/** The event has become a message of its own; what was kept of it no longer counts. */
export async function markEventRedriven(db: Db, inboxId: string, by: string): Promise<void> {
  await db.query(markRedriven, [inboxId, db.tenant, by])
}

export function listDeliveries(db: Db, states: readonly string[], page: Page): Promise<readonly DeliveryLine[]> {
  return db.query<DeliveryLine>(listDeliveriesSql, [states.join(','), ...pageParams(page), db.tenant])
}

export async function getDelivery(db: Db, id: string): Promise<Delivery | undefined> {
  return (await db.query<Delivery>(showDelivery, [id, db.tenant]))[0]
}

/** Sends a failed or unknown call again, and writes down by whom; false when it is not one. */
export async function retryDelivery(db: Db, id: string, by: string): Promise<boolean> {
  const [row] = await db.query<Revived>(retryDeliverySql, [id, db.tenant, by])
  return (row?.revived ?? 0) > 0
}

/** Counted up to 10 000. */
export async function countFailedDeliveries(db: Db, failed: FailedDeliveries): Promise<number> {
  return (await listFailedDeliveryIds(db, db.tenant, failed, maxCounted)).length
}

/** The oldest first, so that each conversation gets them in order. */
export function findFailedDeliveryIds(db: Db, failed: FailedDeliveries, limit: number): Promise<readonly string[]> {
  return listFailedDeliveryIds(db, db.tenant, failed, limit)
}

export async function dropDelivery(db: Db, id: string, by: string): Promise<boolean> {
  return (await db.query(dropDeliverySql, [id, db.tenant, by])).length > 0
}

const maxCounted = 10_000

async function listFailedDeliveryIds(
  database: Database,
  tenant: string,
  { state, since, connection }: FailedDeliveries,
  limit: number,
): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(findFailedDeliveriesSql, [tenant, state, since, connection, limit])
  return rows.map(({ id }) => id)
}

function pageParams({ limit, before, connection }: Page): readonly Param[] {
  return [limit, before ?? null, connection ?? null]
}

// An id comes as $1 with its tenant as $2.

export const findReceiptSql = nameStatement(
  'find_receipt',
  `
select x.id, x.state, x.reason, x.turn_id as "turnId", t.run_id as "runId", t.response,
  -- A decision wakes the run that waited for it: what that came to is the answer to the decision.
  (select json_build_object('state', coalesce(r.state, 'queued'), 'response', r.response)
    from signals s left join turns r on r.id = s.turn_id
    where s.id = (t.response #>> '{control,action_id}')::uuid and ${preventIndexUseSql('s.tenant')} = $2) as resumed
from inbox x left join turns t on t.id = x.turn_id where x.id = $1 and ${preventIndexUseSql('x.tenant')} = $2`,
)

/** $1 tenant. */
const readLedgerLines = nameStatement(
  'read_ledger',
  `
select tenant, connection, received, answered, merged, refused, dead, in_flight as "inFlight", ignored,
  duplicates
from ledger where tenant = $1 order by connection`,
)

/** $1 state, $2 how many, $3 before which seq or null, $4 which connection or null, $5 tenant. */
const listMessages = nameStatement(
  'list_messages',
  `
select seq::float8 as seq, id, connection, state, reason, message_id as "messageId", subject, attempts, received_at as "receivedAt"
from inbox where tenant = $5 and state = $1 and ($3::bigint is null or seq < $3::bigint) and ($4::text is null or connection = $4)
order by seq desc limit $2`,
)

/** What an operator did to a dead message stands among the decisions about it. */
const resubmitted = {
  action: "'message.resubmit'",
  outcome: "'done'",
  connection: 'd.connection',
  agent: 'd.agent',
  conversation_id: 'd.conversation_id',
  inbox_id: 'd.id',
  trace_id: 'd.trace_id',
}

/**
 * $3 by whom, $4 anew. The whole turn with its journal, so that what it has done is not done again: all of its messages can be
 * read and none was run anew, or none is queued: with fewer of them it would be asked to do something else. Anew: this message
 * alone, as if nothing had been done for it.
 */
const resubmitMessageSql = nameStatement(
  'resubmit_message',
  `
with asked as materialized (
  select x.id, x.turn_id from inbox x
  where x.id = $1 and x.tenant = $2 and x.state = 'dead' and x.message is not null and x.conversation_id is not null
),
whole as materialized (
  select x.id, x.message is not null as is_readable from asked a
  join inbox x on case when a.turn_id is null or $4::boolean then x.id = a.id else x.turn_id = a.turn_id end
  where x.state = 'dead'
),
revived as (
  update inbox x set state = 'queued', reason = null, ended_at = null, turn_id = null, turn_order = null, attempts = 0,
    joined_at_poll = case when $4::boolean then null else x.joined_at_poll end, runs_alone = $4::boolean or x.turn_id is null,
    continues_turn = not $4::boolean and x.turn_id is not null, parent_turn = coalesce(x.turn_id, x.parent_turn)
  where x.id in (select id from whole) and not exists (select 1 from whole where not is_readable)
    and ($4::boolean or x.turn_id is null
      or exists (select 1 from turns t where t.id = x.turn_id and not t.history @> '[{"what": "anew"}]'))
  returning x.id, x.conversation_id, x.tenant, x.connection, x.parent_turn, x.agent, x.subject, x.trace_id
),
told as (
  update turns t set history = ${appendHistoryEntrySql('t', `'what', case when $4::boolean then 'anew' else 'resubmitted' end, 'members', (select jsonb_agg(r.id order by r.id) from revived r)`)}
  where t.id in (select parent_turn from revived)
),
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select conversation_id, tenant, connection, count(*)::int from revived group by 1, 2, 3
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
),${insertActAuditLinesSql({ from: 'revived', by: '$3', about: 'd.subject', columns: resubmitted })}
select count(*)::int as revived from revived`,
)

/** $1 a message, $2 tenant. What the turns before it did or may have done: it may happen again. */
const mayRepeat = nameStatement(
  'may_repeat',
  `
select coalesce(j.label, j.step) as label, j.state from inbox x
join turns t on t.id = coalesce(x.turn_id, x.parent_turn) join journal j on j.turn_id = coalesce(t.journal_turn, t.id)
where x.id = $1 and x.tenant = $2 and j.is_effect and j.state <> 'undone' order by j.started_at, j.step`,
)

const findRejectedEventSql = nameStatement(
  'find_rejected_event',
  `select connection, raw, subject from inbox
   where id = $1 and tenant = $2 and kind = 'rejected_event' and raw is not null and reason is distinct from 'redriven'`,
)

/** $3 by whom. */
const markRedriven = nameStatement(
  'mark_redriven',
  `
with revived as (
  update inbox set state = 'ignored', reason = 'redriven', raw = null where id = $1 and tenant = $2 and kind = 'rejected_event'
  returning id, conversation_id, tenant, connection, agent, subject, trace_id
),${insertActAuditLinesSql({ from: 'revived', by: '$3', about: 'd.subject', columns: resubmitted })}
select count(*)::int as revived from revived`,
)
