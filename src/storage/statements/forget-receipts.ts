// Receipts of a person who is erased. They have no index by sender, since every arrival would pay for it: they are walked.
// Those of no conversation are few and have one: a person who has left and took part in nothing is found by it.
// $1 tenant, $2 whom (forget-reach.ts), $3 after which row or null, $4 how many rows to look at.
import { type Statement, statement } from '../database.ts'
import { unindexed } from './by-key-alone.ts'
import { anAddress, aPerson, leaver, type Reach } from './forget-reach.ts'

const receiptPageSql = ({ isSaid }: Reach): string => `
page as materialized (
  select x.id, x.ended_at is not null and ${isSaid('x')} as is_theirs
  from inbox x where x.tenant = $1 and ($3::uuid is null or x.id > $3::uuid) order by x.id limit $4
)`

/**
 * Sorted by id only when they are found, and asked for in the order that no other index has: no plan, not even one that was made for
 * an empty table, goes through the receipts of all senders.
 */
const strayPage = `
stray as materialized (
  select x.id, x.ended_at is not null and ${anAddress.isSaid('x')} as is_theirs
  from inbox x
  where x.tenant = $1 and x.connection = ${leaver.connection} and x.subject between ${leaver.subject} and ${leaver.subject}
    and x.conversation_id is null and x.subject is not null and ($3::uuid is null or x.id > $3::uuid)
  order by x.subject
),
page as materialized (select s.id, s.is_theirs from stray s order by s.id limit $4)`

/** The same page. Lanes of what their arrivals were answered with, locked before anything is read, as the send worker does. */
const lockAnswers = (name: string, rows: string): Statement =>
  statement(
    `lock_forgotten_answers${name}`,
    `
with ${rows}
select 1 as locked from send_lanes l
where l.tenant = $1 and (l.connection, l.order_key) in (
  select o.connection, o.order_key from page join outbox o on o.origin = page.id
  where page.is_theirs and o.tenant = $1 and o.purpose = 'protocol' and o.settled_at is null)
order by l.connection, l.order_key for update`,
  )

/**
 * The two hashes that tell a redelivery stay, and so do times, counts and the outcome. What the message brought goes with it,
 * whichever person it was stored for.
 */
const forgetReceiptPage = (name: string, rows: string): Statement =>
  statement(
    `forget_receipt_page${name}`,
    `
with ${rows},
emptied as (
  update inbox x set message = null, raw = null, reply_to = null, subject = null, principal = null, message_id = null,
    delivery_id = null, recipient = null, edit_of = null, trace_id = ''
  from page where x.id = page.id and page.is_theirs returning x.id, x.blob
),
unattached as (delete from attachments a using emptied where ${unindexed('a.tenant')} = $1 and a.inbox_id = emptied.id returning 1),
uncounted as (update duplicates d set last_delivery_id = null from emptied where d.inbox_id = emptied.id),
answers as materialized (
  select o.id, o.order_key, o.settled_at is null as is_open from emptied join outbox o on o.origin = emptied.id and o.purpose = 'protocol'
),
unsaid as (
  update outbox o set call = '{"erased":true}', question = null, vendor_id = null, client_id = o.id::text, trace_id = '', history = '[]',
    order_key = o.origin::text,
    state = case when a.is_open then 'cancelled' else o.state end,
    reason = case when a.is_open then 'forgotten' else o.reason end, settled_at = coalesce(o.settled_at, now())
  from answers a where o.id = a.id
  returning o.connection, a.order_key, a.is_open
),
unsent as (
  update send_lanes l set pending = l.pending - w.calls, epoch = l.epoch + 1, holder = null, lease_until = null, next_at = now()
  from (select connection, order_key, count(*)::int as calls from unsaid where is_open group by 1, 2) w
  where l.tenant = $1 and l.connection = w.connection and l.order_key = w.order_key
)
select (select id from page order by id desc limit 1) as last, (select count(*)::int from emptied) as receipts,
  (select count(*)::int from page) as looked, (select count(*)::int from unsaid) as calls,
  (select count(*)::int from unsaid where is_open) as unsent, (select count(*)::int from unattached) as attachments`,
  )

/** The same without a change, for an operator who wants to know first. */
export const countReceiptPage = statement(
  'count_receipt_page',
  `
with ${receiptPageSql(aPerson)}
select (select id from page order by id desc limit 1) as last, (select count(*)::int from page where is_theirs) as receipts,
  (select count(*)::int from page) as looked`,
)

export type ReceiptStatements = Readonly<Record<'lockAnswers' | 'forgetReceiptPage', Statement>>

const createReceiptStatements = (name: string, rows: string): ReceiptStatements => ({
  lockAnswers: lockAnswers(name, rows),
  forgetReceiptPage: forgetReceiptPage(name, rows),
})

export function receiptStatements(reach: Reach): ReceiptStatements {
  return createReceiptStatements(reach.name, receiptPageSql(reach))
}

/** $2 whom as `anAddress` has it. */
export const strayStatements = createReceiptStatements('_of_stray', strayPage)
