// The limit of open pairings. Each pairing that waits has a numbered slot on its connection, and another in its group of senders;
// unique indexes see to it that no two have the same, so that what is full stays full however many replicas race. A pairing that
// is decided or expires gives its slots back by itself.

import { insertAuditLinesSql } from './audit.ts'
import { nameStatement } from './client.ts'

type Waiting = { readonly tenant: string; readonly connection: string; readonly group: string }

const findFreeSlotSql = (
  limit: string,
  taken: string,
  first = '',
): string => `(select s.n from generate_series(1, ${limit}::int) s(n)
    where not exists (select 1 from pairings p where ${taken} = s.n) order by ${first}random() limit 1)`

/**
 * SQL: a free slot on the connection, or null. Any of them, so that two who ask at once seldom ask for the same. The last fifth is
 * kept for groups of which no sender waits yet, and used when the others are taken: a few domains alone cannot fill it.
 */
export function freeConnectionPairingSlotSql({ tenant, connection, group }: Waiting, limit: string): string {
  const waits = `p.tenant = ${tenant} and p.connection = ${connection} and p.status = 'pending'`
  const usual = `ceil(${limit} * 0.8)`
  const isKnown = `exists (select 1 from pairings p where ${waits} and p.sender_group = ${group})`
  return findFreeSlotSql(
    `(case when ${isKnown} then ${usual} else ${limit} end)`,
    `${waits} and p.connection_slot`,
    `s.n > ${usual}, `,
  )
}

/** SQL: the same in a group of senders. */
export function freeGroupPairingSlotSql({ tenant, connection, group }: Waiting, limit: string): string {
  const waits = `p.tenant = ${tenant} and p.connection = ${connection} and p.status = 'pending'`
  return findFreeSlotSql(limit, `${waits} and p.sender_group = ${group} and p.group_slot`)
}

const place = { tenant: '$1', connection: '$2', group: '$3' }
const connectionSlot = freeConnectionPairingSlotSql(place, '$4::int')
const groupSlot = freeGroupPairingSlotSql(place, '$5::int')

/**
 * $1 tenant, $2 connection, $3 group or null, $4 and $5 how many may wait on the connection and in the group, $6 agent, $7
 * conversation, $8 message, $9 trace. Without room the message is counted, and the operator told once in an hour. One row for each
 * group that is full, of which there cannot be many, and one for the connection.
 */
export const askPairingRoom = nameStatement(
  'check_pairing_slots',
  `
with room as materialized (
  select ${connectionSlot} is not null as on_connection, $3::text is null or ${groupSlot} is not null as in_group
),
lacking as materialized (
  select case when r.in_group then '' else $3::text end as sender_group from room r where not (r.on_connection and r.in_group)
),
counted as (
  insert into pairing_overflows as o (tenant, connection, sender_group, messages, since, last_at, notified_until)
  select $1, $2, l.sender_group, 1, now(), now(), now() + interval '1 hour' from lacking l
  on conflict (tenant, connection, sender_group) do update set messages = o.messages + 1, last_at = now(),
    notified_until = case when o.notified_until <= now() then now() + interval '1 hour' else o.notified_until end
  returning tenant, connection, sender_group, notified_until = now() + interval '1 hour' as is_news
),
told as materialized (select * from counted where is_news),${insertAuditLinesSql({
    from: 'told',
    subject: 'null::text',
    columns: {
      action: "'pairing.full'",
      outcome: "'refused'",
      code: "'pairings_full'",
      actor: "'gateway'",
      rule: "case when d.sender_group = '' then 'the connection' else d.sender_group end",
      connection: 'd.connection',
      agent: '$6::text',
      conversation_id: '$7::uuid',
      inbox_id: '$8::uuid',
      trace_id: '$9::text',
    },
  })}
select c.sender_group as "fullGroup", c.is_news as "isNews" from counted c`,
)

/** $1 tenant. Who waits, by group, where some were not taken or a group is more than a few; the largest first. */
export const listPairingGroupsSql = nameStatement(
  'list_pairing_groups',
  `
with waiting as (
  select p.connection, coalesce(p.sender_group, '') as sender_group, count(*)::int as people
  from pairings p where p.tenant = $1 and p.status = 'pending' and p.expires_at > now() group by 1, 2
)
select coalesce(w.connection, o.connection) as connection, nullif(coalesce(w.sender_group, o.sender_group), '') as "group",
  case when coalesce(w.sender_group, o.sender_group) = ''
    then coalesce((select sum(a.people)::int from waiting a where a.connection = coalesce(w.connection, o.connection)), 0)
    else coalesce(w.people, 0) end as people,
  coalesce(o.messages, 0)::int as "notTaken"
from waiting w full join (select * from pairing_overflows f where f.tenant = $1) o
  on o.connection = w.connection and o.sender_group = w.sender_group
where o.messages > 0 or (w.people > 5 and w.sender_group <> '')
order by coalesce(o.messages, 0) desc, 3 desc, 1, 2 limit 50`,
)

/** $1 tenant. What was not taken longer ago than a pairing lives is history. */
export const deletePairingOverflows = nameStatement(
  'expire_pairing_overflows',
  "delete from pairing_overflows where tenant = $1 and last_at < now() - interval '7 days'",
)
