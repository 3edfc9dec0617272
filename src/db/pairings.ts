// Pairings: unknown senders, the codes they were given, what an operator decided about them, and the messages that are held until
// then.
import type { JsonObject } from '../lib/json-value.ts'
import { auditedActs, auditedMessages } from './audit.ts'
import { type Database, type Db, isoTimeSql, nameStatement, type Param, rowVersion } from './client.ts'
import { askPairingRoom, deletePairingOverflows, listPairingGroupsSql } from './pairing-room.ts'
import { notifyPayloadSql } from './resume-signal.ts'

export const pairingStatuses = ['pending', 'approved', 'rejected', 'expired'] as const
export type PairingStatus = (typeof pairingStatuses)[number]

export type PairingLine = {
  readonly id: string
  readonly code: string
  readonly status: PairingStatus
  readonly connection: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  /** The agent they wrote to first. */
  readonly wroteTo: string
  readonly subject: string
  /** How they call themselves; proves nothing. */
  readonly shownName: string | null
  /** Issuer, method and assurance. */
  readonly evidence: JsonObject | null
  /** Messages that wait for it. */
  readonly held: number
  readonly createdAt: string
  readonly expiresAt: string
  readonly decidedAt: string | null
  readonly decidedBy: string | null
}

export type PairingFilter = {
  readonly status: PairingStatus | null
  readonly limit: number
  readonly before: string | null
}

/** Who decides. `subject`: where it is a person in a chat. */
export type Decider = { readonly name: string; readonly subject: string | null }

export type PairingDecision =
  /** `messages`: how many of theirs go on, or end, with it. */
  | { readonly kind: 'decided'; readonly pairing: PairingLine; readonly messages: number }
  | { readonly kind: 'late'; readonly pairing: PairingLine }
  | { readonly kind: 'unknown' }

/** A stranger who would wait: where, of which group, and about which message. */
export type PairingAsk = {
  readonly connection: string
  readonly group: string | null
  readonly perConnection: number
  readonly perGroup: number
  readonly agent: string
  readonly conversationId: string
  readonly inboxId: string
  readonly traceId: string
}

/** `group`: what is full; null: the connection. `isNews`: the operator has not heard of it within the hour. */
export type PairingRoom =
  | { readonly kind: 'free' }
  | { readonly kind: 'full'; readonly group: string | null; readonly isNews: boolean }

/** People of one group who wait, and messages of others whose senders were not taken. `group` null: all of the connection. */
export type PairingGroup = {
  readonly connection: string
  readonly group: string | null
  readonly people: number
  readonly notTaken: number
}

// A decision is committed before the messages it frees are touched; both halves may be repeated.

/** More than any pairing holds. */
const maxMessages = 1_000
const perRound = 200

/** Those that wait first, then the newest. */
export function listPairings(db: Db, { status, limit, before }: PairingFilter): Promise<readonly PairingLine[]> {
  return db.query<PairingLine>(listPairingsSql, [db.tenant, status, limit, before])
}

/** `code` as it is stored. One that waits goes before one that was decided. */
export async function findPairing(db: Db, code: string): Promise<PairingLine | undefined> {
  return (await db.query<PairingLine>(findPairingSql, [db.tenant, code]))[0]
}

/** Groups of which many wait, or some were not taken. */
export function listPairingGroups(db: Db): Promise<readonly PairingGroup[]> {
  return db.query<PairingGroup>(listPairingGroupsSql, [db.tenant])
}

/** Whether one more may wait; where not, the message is counted. The commit that makes the pairing has the last word. */
export async function checkFreePairingSlot(
  db: Db,
  { connection, group, perConnection, perGroup, agent, conversationId, inboxId, traceId }: PairingAsk,
): Promise<PairingRoom> {
  const about = [agent, conversationId, inboxId, traceId]
  const params = [db.tenant, connection, group, perConnection, perGroup, ...about]
  const [full] = await db.query<{ fullGroup: string; isNews: boolean }>(askPairingRoom, params)
  return full === undefined ? { kind: 'free' } : { kind: 'full', group: full.fullGroup || null, isNews: full.isNews }
}

/**
 * Lets them in where the rule that held them asks for it, and nowhere else; with this one agent only, if one is named. Their
 * messages go back to the queue.
 */
export function approvePairing(
  db: Db,
  code: string,
  { name, subject }: Decider,
  onlyAgent?: string,
): Promise<PairingDecision> {
  return decidePairingByCode(db, code, ['approved', name, subject, 'allow', onlyAgent ?? null])
}

/** Their messages end. With `isBlocked` whatever else they write there is refused as well. */
export function rejectPairing(
  db: Db,
  code: string,
  { name, subject }: Decider,
  isBlocked: boolean,
): Promise<PairingDecision> {
  return decidePairingByCode(db, code, ['rejected', name, subject, isBlocked ? 'deny' : null, null])
}

async function decidePairingByCode(db: Db, code: string, decision: readonly Param[]): Promise<PairingDecision> {
  const params = [db.tenant, code, ...decision, db.newId()]
  const [decided] = await db.query<PairingLine>(decidePairing, params)
  const pairing = decided ?? (await findPairing(db, code))
  if (pairing === undefined) return { kind: 'unknown' }
  // Also when another operator decided: that process may have died before this.
  const messages = await settleHeldMessagesOfPairing(db, pairing.id)
  return decided === undefined ? { kind: 'late', pairing } : { kind: 'decided', pairing, messages }
}

/** After a grant or a link: pairings of that person that it decides. Returns how many messages go on, or end. */
export async function settlePairingsOfPerson(database: Database, tenant: string, subject: string): Promise<number> {
  const decided = await database.query<{ id: string }>(decideKnownPairings, [tenant, subject, perRound])
  let messages = 0
  for (const { id } of decided) messages += await settleHeldMessagesOfPairing(database, id)
  return messages
}

/** The sweeper's round: what has run out, what was settled in another way, and what a dead process left half done. */
export async function expireAndSettlePairings(database: Database, tenant: string): Promise<number> {
  await database.query(expirePairings, [perRound, tenant])
  await database.query(decideKnownPairings, [tenant, null, perRound])
  await database.query(deletePairingOverflows, [tenant])
  return countSettledMessages(
    await database.query<Settled>(settleHeldMessages, [maxMessages, database.isShared, tenant]),
  )
}

async function settleHeldMessagesOfPairing(database: Database, id: string): Promise<number> {
  return countSettledMessages(await database.query<Settled>(settlePairedMessages, [maxMessages, database.isShared, id]))
}

type Settled = { readonly released: number; readonly refused: number }

function countSettledMessages([row]: readonly Settled[]): number {
  return (row?.released ?? 0) + (row?.refused ?? 0)
}

// Held messages, once their pairing is decided, go back to the queue for a new decision, or end. A person who is let in and has
// taken back all they wrote would hear nothing by that: they are told that they are in, once for each pairing. Runs after the
// decision is committed, so that its snapshot holds every message that was held before it; may run again at any time.

/** Held, and not taken back by a deletion that waits beside it. */
const pairingHasHeldMessageSql = (pairing: string): string => `exists (
      select 1 from inbox y where y.pairing_id = ${pairing} and y.state = 'held' and y.event = 'new' and not exists (
        select 1 from inbox w where w.pairing_id = y.pairing_id and w.state = 'held' and w.event = 'delete' and w.edit_of = y.message_id))`

const releaseOrRefuseHeldMessagesSql = (which: string): string => `
with free as materialized (
  select x.id, coalesce(p.status, '') as status, p.subject, p.evidence, p.id as pairing_id, x.tenant, x.connection,
    x.conversation_id, x.event, x.seq, x.reply_to, x.task_id, x.trace_id, x.message -> 'channel' ->> 'room_kind' as room
  from inbox x left join pairings p on p.tenant = x.tenant and p.id = x.pairing_id
  where x.state = 'held' and p.status is distinct from 'pending' and ${which}
  order by x.seq limit $1 for update of x skip locked
),
released as (
  -- Where the sender was told a code stays known: explain follows it.
  update inbox x set state = 'queued', reason = null, turn_id = null, turn_order = null,
    parent_turn = coalesce(x.turn_id, x.parent_turn)
  from free f where x.id = f.id and f.status not in ('rejected', 'expired')
  returning x.tenant, x.connection, x.conversation_id
),
refused as (
  update inbox x set state = 'refused', reason = 'pairing_' || f.status, ended_at = now()
  from free f where x.id = f.id and f.status in ('rejected', 'expired')
  returning x.id, x.tenant, x.connection, x.agent, x.conversation_id, x.trace_id, x.reason, x.access_rule, f.subject, f.evidence
),
decided as (
  select r.tenant, r.id as inbox_id, r.subject, 'refused' as outcome, r.reason as code, r.access_rule as rule, r.evidence,
    r.connection, r.agent, r.conversation_id, r.trace_id
  from refused r
),${auditedMessages},
queued as (
  insert into lanes (conversation_id, tenant, connection, pending)
  select conversation_id, min(tenant), min(connection), count(*) from released
  group by conversation_id order by conversation_id
  on conflict (conversation_id) do update set pending = lanes.pending + excluded.pending
  returning 1
),
-- Rendered when it is sent; where a task waits, its caller asks again by itself.
welcomed as (
  insert into outbox (id, tenant, connection, conversation_id, origin, ordinal, order_key, "primary", purpose, v, call,
    client_id, state, trace_id)
  select distinct on (f.pairing_id) gen_random_uuid(), f.tenant, f.connection, f.conversation_id, f.pairing_id, 0,
    f.conversation_id::text, false, 'welcome', ${rowVersion}, jsonb_build_object('to', f.reply_to, 'room', f.room),
    f.pairing_id || ':welcome', 'queued', f.trace_id
  from free f
  where f.status = 'approved' and f.event = 'new' and f.task_id is null and f.reply_to is not null and not ${pairingHasHeldMessageSql('f.pairing_id')}
  order by f.pairing_id, f.seq desc
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
-- After the lanes of the conversations, as every turn that ends does.
ordered as (
  insert into send_lanes (tenant, connection, order_key, pending)
  select w.tenant, w.connection, w.order_key, count(*) from welcomed w where (select count(*) from queued) >= 0
  group by 1, 2, 3 order by 1, 2, 3
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + excluded.pending
),
woken as (
  select case when $2::boolean and exists (select 1 from queued) then pg_notify('parley_wake', ${notifyPayloadSql('turns')}) end as done
)
select (select count(*)::int from released) as released, (select count(*)::int from refused) as refused from woken`

/** $1 how many, $2 whether to NOTIFY, $3 tenant. */
const settleHeldMessages = nameStatement('settle_held_messages', releaseOrRefuseHeldMessagesSql('x.tenant = $3'))

/** $1 how many, $2 whether to NOTIFY, $3 pairing. */
const settlePairedMessages = nameStatement(
  'settle_paired_messages',
  releaseOrRefuseHeldMessagesSql('x.pairing_id = $3::uuid'),
)

// A decision locks the pairing alone, commits, and only then frees its messages: turns lock their lane first and a pairing second,
// so a transaction with both would deadlock with them. What a process leaves undone between the two commits the sweeper does.

/** One that has run out is over, also while the sweeper has not come round. */
const status = `case when p.status = 'pending' and p.expires_at <= now() then 'expired' else p.status end`

const line = `p.id, p.code, ${status} as status, p.connection, p.agent, p.subject, p.shown_name as "shownName", p.evidence,
  coalesce((select c.agent from conversations c where c.id = p.conversation_id), p.agent) as "wroteTo",
  (select count(*)::int from inbox h where h.pairing_id = p.id and h.state = 'held') as held,
  ${isoTimeSql('p.created_at')} as "createdAt", ${isoTimeSql('p.expires_at')} as "expiresAt",
  ${isoTimeSql('p.decided_at')} as "decidedAt", p.decided_by as "decidedBy"`

/** $1 tenant, $2 status or null, $3 how many, $4 behind which id or null. */
const listPairingsSql = nameStatement(
  'list_pairings',
  `
select ${line} from pairings p
where p.tenant = $1 and ($2::text is null or ${status} = $2)
  and ($4::uuid is null
    or (p.status = 'pending', p.id) < (select b.status = 'pending', b.id from pairings b where b.tenant = $1 and b.id = $4))
order by p.status = 'pending' desc, p.id desc limit $3`,
)

/** $1 tenant, $2 code. */
const findPairingSql = nameStatement(
  'find_pairing',
  `
select ${line} from pairings p where p.tenant = $1 and p.code = $2
order by p.status = 'pending' desc, p.id desc limit 1`,
)

/** Where one is let in: what the rule that held them asks for. */
const reach = `d.connection, coalesce(nullif(d.agent, '*'), $7)`

/**
 * $1 tenant, $2 code, $3 approved or rejected, $4 by whom, $5 subject of a person in a chat or null, $6 effect of a grant or
 * null, $7 the one agent or null, $8 id for the grant.
 */
const decidePairing = nameStatement(
  'decide_pairing',
  `
with closed as (
  update pairings p set status = $3, decided_at = now(), decided_by = $4
  where p.tenant = $1 and p.code = $2 and p.status = 'pending' and p.expires_at > now()
  returning p.*
),
granted as (
  insert into grants (tenant, id, subject, effect, connection, agent, source, created_by)
  select d.tenant, $8::uuid, d.subject, $6, ${reach}, 'pairing', $4 from closed d where $6::text is not null
),
acted as (
  select d.tenant, case when $3 = 'approved' then 'pairing.approve' else 'pairing.reject' end as action, $3 as outcome,
    case when $6::text is not null then 'grant ' || $8::text end as rule, coalesce($5, d.subject) as subject,
    case when $5::text is null then $4 else 'chat' end as actor, d.evidence, d.connection, nullif(d.agent, '*') as agent,
    d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select ${line} from closed p`,
)

/** $1 how many, $2 tenant. */
const expirePairings = nameStatement(
  'expire_pairings',
  `
with lapsed as materialized (
  select p.tenant, p.id from pairings p where p.tenant = $2 and p.status = 'pending' and p.expires_at <= now()
  order by p.expires_at limit $1 for update skip locked
),
closed as (
  update pairings p set status = 'expired', decided_at = now(), decided_by = 'gateway' from lapsed l
  where p.tenant = l.tenant and p.id = l.id returning p.*
),
acted as (
  select d.tenant, 'pairing.expire' as action, 'expired' as outcome, null as rule, d.subject, 'gateway' as actor, d.evidence,
    d.connection, nullif(d.agent, '*') as agent, d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select p.id from closed p`,
)

/** The subject itself, or the person an operator said it is. */
const isAbout = `(g.subject = p.subject or g.subject = (
        select l.principal from identity_links l where l.tenant = p.tenant and l.subject = p.subject))`

/** A denial closes what it covers whole; what allows one agent admits those who wrote to that agent. */
const isHere = `(g.connection is null or g.connection = p.connection) and (g.agent is null or g.agent = p.agent
        or g.effect = 'allow' and p.agent = '*' and g.agent = (select c.agent from conversations c where c.id = p.conversation_id))
      and (g.workspace_id is null
        or g.workspace_id = (select c.workspace_id from conversations c where c.id = p.conversation_id))`

/**
 * $1 tenant, $2 a subject or a person or null, $3 how many. Pairings of people about whom a grant says by now what
 * the pairing asks. The messages are decided about anew all the same.
 */
const decideKnownPairings = nameStatement(
  'decide_known_pairings',
  `
with known as materialized (
  select p.tenant, p.id, g.id as grant_id, g.effect, g.created_by
  from pairings p cross join lateral (
    select g.id, g.effect, g.created_by from grants g
    where g.tenant = p.tenant and g.revoked_at is null and (g.expires_at is null or g.expires_at > now())
      and ${isAbout} and ${isHere} and (g.effect = 'deny' or g.role is distinct from 'viewer')
    order by g.effect desc limit 1) g
  where p.status = 'pending' and p.expires_at > now() and p.tenant = $1
    and ($2::text is null or p.subject = $2
      or p.subject in (select l.subject from identity_links l where l.tenant = p.tenant and l.principal = $2))
  order by p.id limit $3 for update of p
),
closed as (
  update pairings p set status = case when k.effect = 'allow' then 'approved' else 'rejected' end, decided_at = now(),
    decided_by = k.created_by
  from known k where p.tenant = k.tenant and p.id = k.id returning p.*, k.grant_id
),
acted as (
  select d.tenant, case when d.status = 'approved' then 'pairing.approve' else 'pairing.reject' end as action,
    d.status as outcome, 'grant ' || d.grant_id as rule, d.subject, 'gateway' as actor, d.evidence, d.connection,
    nullif(d.agent, '*') as agent, d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select p.id from closed p`,
)
