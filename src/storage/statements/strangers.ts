// What people who are not admitted sent today: one row per connection and kind, counted by every replica.
import { statement } from '../database.ts'
import { auditLines } from './audit-lines.ts'

/**
 * $1 tenant, $2 connection, $3 kind, $4 bytes received, $5 bytes stored, $6 to $8 the day's limits of messages and of both, $9
 * messages. What does not fit is counted as refused and as nothing else.
 */
export const chargeUnprovenSenders = statement(
  'charge_strangers',
  `
with today as materialized (select (now() at time zone 'UTC')::date as day),
charged as (
  insert into strangers as s (tenant, connection, day, kind, messages, received, stored)
  select $1, $2, t.day, $3, $9::bigint, $4::bigint, $5::bigint from today t
  where $9::bigint <= $6::bigint and $4::bigint <= $7::bigint and $5::bigint <= $8::bigint
  on conflict (tenant, connection, day, kind) do update
    set messages = s.messages + excluded.messages, received = s.received + excluded.received, stored = s.stored + excluded.stored
    where s.messages + excluded.messages <= $6::bigint and s.received + excluded.received <= $7::bigint and s.stored + excluded.stored <= $8::bigint
  returning 1
),
refused as (
  insert into strangers as s (tenant, connection, day, kind, refused)
  select $1, $2, t.day, $3, $9::bigint from today t where not exists (select 1 from charged)
  on conflict (tenant, connection, day, kind) do update set refused = s.refused + excluded.refused
  returning s.tenant, s.connection, s.kind, s.refused
),
-- The first of a day has its line in the audit log.
told as (select r.* from refused r where r.refused = $9::bigint),${auditLines({
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
export const deleteUnprovenSenders = statement(
  'forget_strangers',
  `
with old as (
  select ctid from strangers where tenant = $3 and day < (now() at time zone 'UTC')::date - $1::int limit $2 for update skip locked)
delete from strangers s using old where s.ctid = old.ctid returning 1 as swept`,
)
