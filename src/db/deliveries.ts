// Deliveries as operators see them: those that failed or whose outcome is unknown, retried or discarded by hand.
import type { JsonObject } from '../contract/index.ts'
import { auditedAct } from './audit-lines.ts'
import { historyEntrySql, statement } from './client.ts'

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

export type Delivery = DeliveryLine & {
  readonly call: JsonObject
  readonly ordinal: number
  readonly orderKey: string | null
  readonly primary: boolean
  readonly clientId: string | null
  readonly maybeRepeat: boolean
}

/** Failed calls an operator may send again. */
export type FailedDeliveries = {
  readonly state: 'unknown' | 'refused' | 'dead'
  /** Those that ended then or later. */
  readonly since: string
  /** Null: of all. */
  readonly connection: string | null
}

const bounce = `bounce_kind as "bounceKind", bounce_reason as "bounceReason", bounced_at as "bouncedAt"`

/** $1 states, of which `bounced` is whatever state it came back in; $2 how many, $3 before which seq or null, $4 which connection or null, $5 tenant. */
export const listDeliveriesSql = statement(
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
export const showDelivery = statement(
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
export const findFailedDeliveriesSql = statement(
  'find_failed_deliveries',
  `
select id from outbox
where tenant = $1 and state = $2 and state in ('unknown', 'refused', 'dead') and settled_at >= $3::timestamptz and ($4::text is null or connection = $4)
  and ${isRevivable}
order by seq limit $5`,
)

const deliveryActSql = (what: string) => ({
  action: `'delivery.${what}'`,
  outcome: "'done'",
  connection: 'd.connection',
  conversation_id: 'd.conversation_id',
  object_id: 'd.id::text',
  trace_id: 'd.trace_id',
})

/** $1 outbox id, $2 tenant, $3 by whom. An unknown call is sent again marked as possibly repeated; its messages are in flight again. */
export const retryDeliverySql = statement(
  'retry_delivery',
  `
with revived as (
  update outbox set settled_at = null, state = 'retry', not_before = null, created_at = now(),
    maybe_repeat = maybe_repeat or state = 'unknown', reason = 'resent_by_operator',
    history = ${historyEntrySql('outbox', `'what', 'resent_by_operator', 'attempt', attempt`)}
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
    history = ${historyEntrySql('t', `'what', 'reopened', 'attempt', t.attempt`)}
  from revived r where t.id = r.turn_id and r."primary" and t.state = 'dead' and t.reason like 'delivery_%'
  returning t.id
),
members as (
  update inbox x set state = 'in_turn', reason = null, ended_at = null
  from reopened r where x.turn_id = r.id and x.state = 'dead' and x.reason like 'delivery_%'
),${auditedAct({ from: 'revived', by: '$3', about: 'null::text', columns: deliveryActSql('retry') })}
select count(*)::int as revived from revived`,
)

/** $1 outbox id, $2 tenant, $3 by whom. */
export const dropDeliverySql = statement(
  'drop_delivery',
  `
with dropped as (
  update outbox set state = 'cancelled', reason = 'dropped_by_operator',
    history = ${historyEntrySql('outbox', `'what', 'dropped_by_operator', 'attempt', attempt`)}
  where id = $1 and tenant = $2 and state in ('unknown', 'refused', 'dead') and settled_at is not null
  returning id, tenant, connection, conversation_id, trace_id
),${auditedAct({ from: 'dropped', by: '$3', about: 'null::text', columns: deliveryActSql('drop') })}
select 1 as dropped from dropped`,
)
