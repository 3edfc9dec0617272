// What is left of a person once their conversations are erased: receipts, pairings, records, and every other row with their name.
// $1 tenant, $2 the names they go by, as a JSON array.
import { nameStatement, preventIndexUseSql, type Statement } from './client.ts'
import { senderNamedThreadPrefixSql } from './thread-names.ts'

// How far an erasure reaches. The same in all: $1 tenant, $2 whom, as JSON; $3 the conversation where there is one.
//
// a person    $2 is every name they go by: all that was said under one of them, and every turn that ran for one
// an address  $2 is one subject of one connection and until when: what arrived from it by then, and nothing else, whichever person
//             an operator says that it belongs to

export type Reach = {
  /** Ends the names of its statements. */
  readonly name: string
  /** SQL: the column names them. */
  readonly isTheirs: (column: string) => string
  /** SQL: the receipt is of something they said. */
  readonly isSaid: (receipt: string) => string
  /** SQL: something of theirs in the conversation is out of reach, so that it goes on with them. */
  readonly isNewer: string
  /** SQL: only conversations of these, called `c`. */
  readonly isHere: string
  /** CTE `own`: turns of the conversation that were theirs by themselves. */
  readonly own: string
  /** SQL: which turns that signals began, called `t`, are of the person the signal was for. */
  readonly isBegun: string
}

const isSubjectToEraseSql = (column: string): string =>
  `${column} = any(array(select json_array_elements_text($2::text::json)))`

export const aPerson: Reach = {
  name: '',
  isTheirs: isSubjectToEraseSql,
  isSaid: (x) => `(${isSubjectToEraseSql(`${x}.subject`)} or ${isSubjectToEraseSql(`${x}.principal`)})`,
  isNewer: 'false',
  isHere: 'true',
  own: `
own as (
  select t.id from turns t where t.tenant = $1 and t.conversation_id = $3 and ${isSubjectToEraseSql('t.principal')}
)`,
  // Those of timers name no person.
  isBegun: 't.principal is null',
}

const erasureJsonFieldSql = (name: string): string => `($2::text::json ->> '${name}')`
/** SQL for what an address is: JSON of `AccountDeletion`. */
export const leaver = {
  subject: erasureJsonFieldSql('subject'),
  connection: erasureJsonFieldSql('connection'),
  at: `${erasureJsonFieldSql('at')}::timestamptz`,
}

const isSubjectOfDeletedAccountSql = (column: string): string => `${column} = ${leaver.subject}`
const isReceivedBeforeAccountDeletionSql = (x: string): string =>
  `(${x}.connection = ${leaver.connection} and ${isSubjectOfDeletedAccountSql(`${x}.subject`)} and ${x}.received_at <= ${leaver.at})`
const isReceivedAfterAccountDeletionSql = (x: string): string =>
  `(${isSubjectOfDeletedAccountSql(`${x}.subject`)} and ${x}.received_at > ${leaver.at})`

export const anAddress: Reach = {
  name: '_of_address',
  isTheirs: isSubjectOfDeletedAccountSql,
  isSaid: isReceivedBeforeAccountDeletionSql,
  isNewer: `(
    exists (select 1 from inbox x where x.conversation_id = $3 and x.state = 'queued' and ${isReceivedAfterAccountDeletionSql('x')})
    or exists (
      select 1 from turns t join inbox x on x.turn_id = t.id
      where t.tenant = $1 and t.conversation_id = $3 and ${isReceivedAfterAccountDeletionSql('x')})
    or exists (
      select 1 from pairings p join inbox x on x.pairing_id = p.id and x.state = 'held'
      where p.tenant = $1 and p.connection = ${leaver.connection} and ${isSubjectOfDeletedAccountSql('p.subject')} and ${isReceivedAfterAccountDeletionSql('x')}))`,
  isHere: `c.connection = ${leaver.connection}`,
  // By who wrote what they answer, since they run for the person an operator says that is. One that also answers another person, or
  // something later, stays. What is left of a turn that was split answers nothing: it is known by whom it ran for.
  own: `
answering as materialized (
  select t.id, t.kind, t.principal, count(x.id) as members, count(x.id) filter (where ${isReceivedBeforeAccountDeletionSql('x')}) as theirs,
    count(x.id) filter (where x.subject is null) as nobodys
  from turns t left join inbox x on x.turn_id = t.id
  where t.tenant = $1 and t.conversation_id = $3 group by t.id
),
own as (
  select a.id from answering a where a.theirs > 0 and a.theirs + a.nobodys = a.members
  union
  select a.id from answering a
  where a.members = 0 and a.kind <> 'signal' and (${isSubjectOfDeletedAccountSql('a.principal')} or a.principal in (
    select o.principal from answering o where o.theirs > 0 and o.theirs + o.nobodys = o.members))
)`,
  isBegun: 'true',
}

const { isTheirs } = aPerson

/** A decision about a pairing locks it first; what waited for one that is gone is refused with it. */
export const erasePersonPairings = nameStatement(
  'erase_pairings',
  `
with gone as (delete from pairings p where p.tenant = $1 and ${isTheirs('p.subject')} returning p.id),
held as (
  update inbox x set state = 'refused', reason = 'forgotten', ended_at = now(), message = null, raw = null, reply_to = null
  from gone where x.pairing_id = gone.id and x.state = 'held' returning 1
)
select (select count(*)::int from gone) as pairings, (select count(*)::int from held) as "inFlight"`,
)

/** Looked through as a whole: of a room there are never many, and they are there for a while only. */
export const erasePersonAmbient = nameStatement(
  'erase_ambient_context',
  `
with gone as (
  delete from ambient_context o where o.tenant = $1 and (${isTheirs('o.subject')} or ${isTheirs('o.principal')}) returning 1)
select count(*)::int as "ambientContext" from gone`,
)

/** $3 batch. Their objects go with the next sweep, unless another sender sent the same bytes. */
export const erasePersonAttachments = nameStatement(
  'erase_attachments',
  `
with old as materialized (select a.id from attachments a where a.tenant = $1 and ${isTheirs('a.owner')} limit $3),
gone as (delete from attachments a using old where a.tenant = $1 and a.id = old.id returning 1)
select count(*)::int as attachments from gone`,
)

/** Few rows each; the names themselves are not among them. */
export const erasePersonRecords = nameStatement(
  'erase_written',
  `
with granted as (delete from grants g where g.tenant = $1 and ${isTheirs('g.subject')} returning 1),
given as (
  update grants g set created_by = case when ${isTheirs('g.created_by')} then 'forgotten' else g.created_by end,
    revoked_by = case when ${isTheirs('g.revoked_by')} then 'forgotten' else g.revoked_by end
  where g.tenant = $1 and not ${isTheirs('g.subject')} and (${isTheirs('g.created_by')} or ${isTheirs('g.revoked_by')})
),
paired as (
  update pairings p set decided_by = 'forgotten' where p.tenant = $1 and ${isTheirs('p.decided_by')}
),
held as (delete from tokens t where t.tenant = $1 and ${isTheirs('t.principal')} returning 1),
made as (
  update tokens t set created_by = 'forgotten'
  where t.tenant = $1 and ${isTheirs('t.created_by')} and (t.principal is null or not ${isTheirs('t.principal')})
),
agreed as (delete from consents c where c.tenant = $1 and ${isTheirs('c.subject')} returning 1),
noted as (delete from ttl_entries n where n.tenant = $1 and ${isTheirs('n.subject')} returning 1),
recorded as (delete from channel_records r where r.tenant = $1 and ${isTheirs('r.subject')} returning 1),
buried as (delete from tombstones s where s.tenant = $1 and ${isTheirs('s.subject')} returning 1),
parted as (delete from account_deletions f where f.tenant = $1 and ${isTheirs('f.subject')}),
closed as (delete from room_status c where c.tenant = $1 and ${isTheirs('c.subject')}),
called as (
  delete from call_chains c where c.tenant = $1 and (${isTheirs('c.root')} or ${isTheirs('c.host')}) returning 1
),
unsteered as (
  delete from thread_agents a using json_array_elements_text($2::text::json) n(name)
  where a.tenant = $1 and starts_with(a.external_id, ${senderNamedThreadPrefixSql('n.name')})
),
stopped as (update runs r set cancelled_by = 'forgotten' where r.tenant = $1 and ${isTheirs('r.cancelled_by')})
select (select count(*)::int from granted) as grants, (select count(*)::int from held) as tokens,
  (select count(*)::int from agreed) as consents, (select count(*)::int from buried) as tombstones,
  (select count(*)::int from called) as chains, (select count(*)::int from recorded) as records`,
)

/** $3 who did it, $4 how it ended, $5 counts as JSON. Last of all the names; the audit log's lines then name no person. */
export const erasePersonNames = nameStatement(
  'erase_names',
  `
with unlinked as (
  delete from identity_links l where l.tenant = $1 and $4 = 'done' and (${isTheirs('l.subject')} or ${isTheirs('l.principal')})
  returning 1
),
nameless as (delete from principals p where p.tenant = $1 and $4 = 'done' and ${isTheirs('p.subject')} returning 1),
told as (
  insert into audit_log (tenant, action, outcome, actor, detail)
  select $1, 'forget', $4, $3, $5::text::jsonb || jsonb_build_object(
    'links', (select count(*) from unlinked), 'principals', (select count(*) from nameless))
  where exists (select 1 from unlinked) or exists (select 1 from nameless)
    or exists (select 1 from jsonb_each_text($5::text::jsonb) n where n.value <> '0')
)
select (select count(*)::int from unlinked) as links, (select count(*)::int from nameless) as principals`,
)

/** What there is, apart from the receipts. */
export const countPerson = nameStatement(
  'count_person',
  `
with theirs as materialized (
  select p.conversation_id as id, not exists (
      select 1 from participants o where o.conversation_id = p.conversation_id and not ${isTheirs('o.subject')}) as is_alone
  from participants p join conversations c on c.id = p.conversation_id and c.tenant = $1
  where ${isTheirs('p.subject')} group by p.conversation_id
),
mine as materialized (
  select t.id from theirs join turns t on t.conversation_id = theirs.id where theirs.is_alone or ${isTheirs('t.principal')}
),
said as materialized (
  select count(*)::int as lines from theirs join sessions s on s.conversation_id = theirs.id
    join messages m on m.session_id = s.id where theirs.is_alone or m.turn_id in (select id from mine)
)
select (select count(*)::int from theirs where is_alone) as conversations,
  (select count(*)::int from theirs where not is_alone) as "sharedConversations",
  (select count(*)::int from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone) as sessions,
  (select lines from said) as lines, (select count(*)::int from mine) as turns,
  (select count(*)::int from mine join outbox o on o.turn_id = mine.id) as calls,
  (select count(*)::int from mine join pending_actions a on a.turn_id = mine.id)
    + (select count(*)::int from mine join runtime_tool_requests q on q.turn_id = mine.id) as waits,
  (select count(*)::int from mine join timers t on t.origin = mine.id) as timers,
  (select count(*)::int from attachments a where a.tenant = $1 and (${isTheirs('a.owner')} or a.session_id in (
    select s.id from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone))) as attachments,
  (select count(*)::int from ambient_context o where o.tenant = $1 and (${isTheirs('o.subject')} or ${isTheirs('o.principal')})) as "ambientContext",
  (select count(*)::int from grants g where g.tenant = $1 and ${isTheirs('g.subject')}) as grants,
  (select count(*)::int from pairings p where p.tenant = $1 and ${isTheirs('p.subject')}) as pairings,
  (select count(*)::int from tokens t where t.tenant = $1 and ${isTheirs('t.principal')}) as tokens,
  -- What they said, and what was decided about sessions of theirs alone.
  (select count(*)::int from consents c where c.tenant = $1 and (${isTheirs('c.subject')} or c.session_id in (
    select s.id from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone))) as consents,
  (select count(*)::int from tombstones b where b.tenant = $1 and ${isTheirs('b.subject')}) as tombstones,
  (select count(*)::int from channel_records r where r.tenant = $1 and ${isTheirs('r.subject')}) as records,
  (select count(*)::int from call_chains h
    where h.tenant = $1 and (${isTheirs('h.root')} or ${isTheirs('h.host')})) as chains,
  (select count(*)::int from identity_links l
    where l.tenant = $1 and (${isTheirs('l.subject')} or ${isTheirs('l.principal')})) as links,
  (select count(*)::int from principals p where p.tenant = $1 and ${isTheirs('p.subject')}) as principals`,
)

/** $1 batch, $2 tenant. Conversations that a person was erased from, once no delivery that was under way can mean them. */
export const sweepErasedContent = nameStatement(
  'sweep_erased',
  `
with old as materialized (
  select c.id, c.tenant, c.connection from conversations c join lanes l on l.conversation_id = c.id
  where c.tenant = $2 and c.external_id like '~~erased %' and c.last_activity_at < now() - interval '1 hour'
    and l.pending = 0 and l.turn_id is null and l.lease_until is null
    and not exists (select 1 from participants p where p.conversation_id = c.id)
  limit $1 for update of l skip locked
),
lane as (delete from lanes l using old where l.conversation_id = old.id),
sends as (
  delete from send_lanes l using old
  where l.tenant = old.tenant and l.connection = old.connection and l.order_key = old.id::text and l.pending = 0
)
delete from conversations c using old where c.id = old.id returning 1 as swept`,
)

// Receipts have no index by sender, since every inbound event would pay for it: they are walked. Those of no conversation are few
// and have one: a person who deleted their account and took part in nothing is found by it.
// $1 tenant, $2 whom (`Reach`), $3 after which row or null, $4 how many rows to look at.

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
const lockProtocolReplyLanesStatement = (name: string, rows: string): Statement =>
  nameStatement(
    `lock_erased_answers${name}`,
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
const eraseReceiptPageStatement = (name: string, rows: string): Statement =>
  nameStatement(
    `erase_receipt_page${name}`,
    `
with ${rows},
emptied as (
  update inbox x set message = null, raw = null, reply_to = null, subject = null, principal = null, message_id = null,
    delivery_id = null, recipient = null, edit_of = null, trace_id = ''
  from page where x.id = page.id and page.is_theirs returning x.id, x.blob
),
unattached as (delete from attachments a using emptied where ${preventIndexUseSql('a.tenant')} = $1 and a.inbox_id = emptied.id returning 1),
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
export const countReceiptPage = nameStatement(
  'count_receipt_page',
  `
with ${receiptPageSql(aPerson)}
select (select id from page order by id desc limit 1) as last, (select count(*)::int from page where is_theirs) as receipts,
  (select count(*)::int from page) as looked`,
)

export type ReceiptStatements = Readonly<Record<'lockAnswers' | 'forgetReceiptPage', Statement>>

const receiptErasureStatementsOverRows = (name: string, rows: string): ReceiptStatements => ({
  lockAnswers: lockProtocolReplyLanesStatement(name, rows),
  forgetReceiptPage: eraseReceiptPageStatement(name, rows),
})

export function receiptErasureStatements(reach: Reach): ReceiptStatements {
  return receiptErasureStatementsOverRows(reach.name, receiptPageSql(reach))
}

/** $2 whom as `anAddress` has it. */
export const strayStatements = receiptErasureStatementsOverRows('_of_stray', strayPage)
