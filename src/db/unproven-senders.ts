// The daily quota of senders who are not admitted, on connections that any server can send to: counted by all replicas together.
import type { DayShare } from '../contract/access.ts'
import { insertAuditLinesSql } from './audit.ts'
import { type Db, nameStatement } from './client.ts'

/**
 * `unproven`: nothing proves who sent it. `unknown`: proven, and not admitted, or asking for nothing. `report`: about something that
 * we sent, known by a token of ours. Counted apart: a flood of forgeries keeps no newcomer from asking to be
 * let in, and no report from being heard.
 */
export type UnprovenSenderKind = 'unproven' | 'unknown' | 'report'

export type UnprovenSenderCharge = {
  readonly connection: string
  readonly kind: UnprovenSenderKind
  readonly messages: number
  readonly receivedBytes: number
  readonly storedBytes: number
}

/** `isFirst`: no sender was refused for it before on this day. */
type Charged =
  | { readonly kind: 'within' }
  | { readonly kind: 'spent'; readonly isFirst: boolean; readonly secondsLeft: number }

type Row = { readonly isWithin: boolean; readonly isFirst: boolean; readonly secondsLeft: number }

/** Counts what came in one inbound event, if the day's share allows it. */
export async function chargeUnprovenSender(
  db: Db,
  { connection, kind, messages, receivedBytes, storedBytes }: UnprovenSenderCharge,
  limits: DayShare,
): Promise<Charged> {
  const { messagesPerDay, receivedBytesPerDay, storedBytesPerDay } = limits
  const [row] = await db.query<Row>(chargeUnprovenSenders, [
    db.tenant,
    connection,
    kind,
    receivedBytes,
    storedBytes,
    messagesPerDay,
    receivedBytesPerDay,
    storedBytesPerDay,
    messages,
  ])
  if (row === undefined || row.isWithin) return { kind: 'within' }
  return { kind: 'spent', isFirst: row.isFirst, secondsLeft: Math.max(1, row.secondsLeft) }
}

// One row per connection and kind, counted by every replica.

/**
 * $1 tenant, $2 connection, $3 kind, $4 bytes received, $5 bytes stored, $6 to $8 the day's limits of messages and of both, $9
 * messages. What does not fit is counted as refused and as nothing else.
 */
const chargeUnprovenSenders = nameStatement(
  'charge_strangers',
  `
with today as materialized (select (now() at time zone 'UTC')::date as day),
charged as (
  insert into stranger_usage as s (tenant, connection, day, kind, messages, received_bytes, stored_bytes)
  select $1, $2, t.day, $3, $9::bigint, $4::bigint, $5::bigint from today t
  where $9::bigint <= $6::bigint and $4::bigint <= $7::bigint and $5::bigint <= $8::bigint
  on conflict (tenant, connection, day, kind) do update
    set messages = s.messages + excluded.messages, received_bytes = s.received_bytes + excluded.received_bytes,
      stored_bytes = s.stored_bytes + excluded.stored_bytes
    where s.messages + excluded.messages <= $6::bigint and s.received_bytes + excluded.received_bytes <= $7::bigint
      and s.stored_bytes + excluded.stored_bytes <= $8::bigint
  returning 1
),
refused as (
  insert into stranger_usage as s (tenant, connection, day, kind, refused)
  select $1, $2, t.day, $3, $9::bigint from today t where not exists (select 1 from charged)
  on conflict (tenant, connection, day, kind) do update set refused = s.refused + excluded.refused
  returning s.tenant, s.connection, s.kind, s.refused
),
-- The first of a day has its line in the audit log.
told as (select r.* from refused r where r.refused = $9::bigint),${insertAuditLinesSql({
    from: 'told',
    subject: 'null::text',
    columns: {
      action: "'strangers.refuse'",
      outcome: "'refused'",
      code: "'strangers_spent'",
      actor: "'gateway'",
      connection: 'd.connection',
      detail: "jsonb_build_object('kind', d.kind)",
    },
  })}
select exists (select 1 from charged) as "isWithin", exists (select 1 from told) as "isFirst",
  ceil(extract(epoch from (t.day + 1)::timestamp - (now() at time zone 'UTC')))::int as "secondsLeft"
from today t`,
)

/** $1 days, $2 batch, $3 tenant. */
export const deleteUnprovenSenders = nameStatement(
  'expire_stranger_usage',
  `
with old as (
  select ctid from stranger_usage where tenant = $3 and day < (now() at time zone 'UTC')::date - $1::int limit $2 for update skip locked)
delete from stranger_usage s using old where s.ctid = old.ctid returning 1 as swept`,
)
