// The outbox: send lanes are claimed, calls started, settled and released, every write fenced. One row is one vendor call.
import type { RateLimit } from '../contract/capabilities.ts'
import type { QueuedCall } from '../contract/delivery.ts'
import type { JsonObject } from '../lib/json-value.ts'
import {
  appendHistoryEntrySql,
  type Db,
  historyTimeSql,
  isRowVersionReadableSql,
  nameStatement,
  type Param,
  rowVersion,
  storableJson,
  takeReadableRows,
} from './client.ts'
import { mayTakeOverLeaseSql } from './lease-takeover.ts'
import {
  isCallDeliveredOrDecidedSql,
  isDecisionAlreadyShownSql,
  isQuestionOpenSql,
  messageStateAfterTurnSql,
  questionDecided,
  questionStateJsonSql,
} from './questions.ts'

type SendHold = {
  readonly tenant: string
  readonly connection: string
  readonly orderKey: string
  readonly epoch: number
}

/** The reason of a call that waited in a backup, and may have left before the backup was restored. */
export const restoredReason = 'restored'

export type OpenCall = {
  readonly id: string
  readonly turnId: string | null
  readonly conversationId: string | null
  readonly primary: boolean
  readonly purpose: string
  readonly call: JsonObject
  readonly clientId: string
  readonly state: 'queued' | 'sending' | 'retry' | 'unknown'
  /** Why it stands there, as its last settlement said. */
  readonly reason: string | null
  readonly attempt: number
  readonly maybeRepeat: boolean
  readonly waitMs: number
  readonly isExpired: boolean
  readonly ageMs: number
  readonly replyTo: JsonObject | null
  readonly hasLaterParts: boolean
  readonly traceId: string
  /** Client id of the live message it finishes. */
  readonly finishes: string | null
  /** Vendor id of that, where it was delivered. */
  readonly liveReference: string | null
  /** Its own vendor id, where it has arrived and is to be edited once more. */
  readonly vendorId: string | null
  readonly question: OpenQuestion | null
}

/** What a call asks people to decide. */
export type OpenQuestion = {
  /** The call without it; null where it says nothing else. */
  readonly otherwise: JsonObject | null
  /** `otherwise` has no words of the reply. */
  readonly isPlaceholder: boolean
  /** How it was decided, as of the claim; null: it is still open. */
  readonly outcomes: readonly QuestionOutcome[] | null
}

export type QuestionOutcome = {
  readonly status: string
  readonly summary: string
  /** Who decided, as they are called there. */
  readonly by?: string | null
}

/** A lane's next calls, as far as this release can read them. */
export type HeldSendLane = SendHold & { readonly calls: readonly OpenCall[] }

export type StartResult =
  | { readonly kind: 'started' }
  /** A limit says: not before this many milliseconds from now. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** What it asks was decided after the claim: it must not be sent as it is. */
  | { readonly kind: 'decided' }
  /** It was settled by another statement after the claim, and leaves the lane with that. */
  | { readonly kind: 'settled' }
  | { readonly kind: 'lease_lost' }

/** How a call's try ends. `retry` and an open `unknown` come back when their time has come. */
export type Settlement = {
  readonly state: 'delivered' | 'refused' | 'dead' | 'unknown' | 'retry' | 'cancelled'
  readonly isFinal: boolean
  readonly reason: string | null
  readonly vendorId: string | null
  /** What the conversation is called there from now on, too. */
  readonly name: string | null
  readonly retryInMs: number
  /** Persisted pause of the whole connection or of this order key. */
  readonly pause: { readonly scope: 'connection' | 'conversation'; readonly ms: number; readonly place?: string } | null
  readonly maybeRepeat: boolean
  /** Calls of the same reply that can no longer be sent are cancelled, with one notice in their place. */
  readonly cancelLater: boolean
  readonly notice: readonly QueuedCall[]
  /** State of the messages this reply answers, when a primary call ends without arriving. */
  readonly inboxReason: string | null
  /** A question that arrived after its decision stays open, to be edited into its outcome. */
  readonly maySayOutcome: boolean
}

/** `late`: it stays open, to be edited into the outcome of its question. `lease_lost`: nothing was written. */
export type SettleResult = 'settled' | 'late' | 'lease_lost'

/** Calls read per claimed lane: a long reply goes out in one hold, a longer one in several. */
const callsPerHold = 8

type StartRow = {
  readonly held: number
  readonly begun: number
  readonly waitMs: number
  readonly isOpen: boolean
}

type ClaimedLane = HeldSendLane & { readonly calls: readonly (OpenCall & { readonly v: number })[] }

type StandingRow = { readonly state: string; readonly reason: string | null; readonly isSettled: boolean }

/** Free lanes of other connections than `full`, apart from those whose next call only a newer release can read. */
export async function claimSends(
  db: Db,
  limit: number,
  full: readonly string[] = [],
): Promise<readonly HeldSendLane[]> {
  const gap = [db.takeOver?.lastSeen() ?? null, db.takeOver?.gapMs ?? 0]
  const params = [limit, db.holder, db.leaseMs, callsPerHold, db.tenant, ...gap]
  const lanes = await (full.length === 0
    ? db.query<ClaimedLane>(claimSendsSql, params)
    : db.query<ClaimedLane>(claimOtherSends, [...params, storableJson(full)]))
  const held: HeldSendLane[] = []
  for (const lane of lanes) held.push({ ...lane, calls: takeReadableRows(lane.calls) })
  return held
}

export async function startSend(
  db: Db,
  hold: SendHold,
  call: OpenCall,
  limits: { readonly connection?: RateLimit; readonly conversation?: RateLimit },
  {
    place,
    mustBeAsked = false,
    isRepeat = false,
  }: {
    /** What the conversation shares its limit with; without it: nothing. */
    readonly place?: string | undefined
    /** It asks what was open when it was claimed: begun only if it still is. */
    readonly mustBeAsked?: boolean
    /** An earlier start of the same try may have been committed: it counts. */
    readonly isRepeat?: boolean
  } = {},
): Promise<StartResult> {
  // A second start would be rejected by the limit that the first one used up.
  if (isRepeat && (await findCallBegunUnderLease(db, hold, call))?.state === 'sending') return { kind: 'started' }
  const buckets = [...rateLimitParams(limits.connection), ...rateLimitParams(limits.conversation)]
  const params = [...sendFenceParams(db, hold), call.id, ...buckets, place ?? hold.orderKey, mustBeAsked]
  const [row] = await db.query<StartRow>(startSendSql, params)
  if (row === undefined || row.held === 0) return { kind: 'lease_lost' }
  if (row.begun > 0) return { kind: 'started' }
  if (!row.isOpen) return { kind: 'settled' }
  if (row.waitMs <= 0 && mustBeAsked) return { kind: 'decided' }
  return { kind: 'wait', waitMs: Math.max(1, Math.ceil(row.waitMs)) }
}

/** `isRepeat`: an earlier try to settle it so may have been committed, and counts. */
export async function settleSend(
  db: Db,
  hold: SendHold,
  call: OpenCall,
  settlement: Settlement,
  isRepeat: boolean = false,
): Promise<SettleResult> {
  const stored = isRepeat ? await findCallBegunUnderLease(db, hold, call) : undefined
  if (stored !== undefined && stored.state !== 'sending')
    return !stored.isSettled && stored.reason === 'decided_meanwhile' ? 'late' : 'settled'
  const params = [...sendFenceParams(db, hold), call.id, storableJson(settlement)]
  const [row] = await db.query<{ settled: number; isLate: boolean }>(settleSendSql, params)
  if (row === undefined || row.settled === 0) return 'lease_lost'
  return row.isLate ? 'late' : 'settled'
}

export async function releaseSendLane(db: Db, hold: SendHold, delayMs: number): Promise<boolean> {
  return (await db.query(releaseSend, [...sendFenceParams(db, hold), delayMs])).length > 0
}

export function recountSendLanePending(db: Db, hold: SendHold): Promise<boolean> {
  return db.transaction(async (sql) => {
    const [lane] = await sql.query<{ pending: number }>(lockSendLane, sendFenceParams(db, hold))
    if (lane === undefined) return false
    const key = [hold.tenant, hold.connection, hold.orderKey]
    const [counted] = await sql.query<{ pending: number }>(recountSendLane, key)
    return counted?.pending !== lane.pending
  })
}

/** Undefined: this hold has not begun it. */
async function findCallBegunUnderLease(db: Db, hold: SendHold, { id }: OpenCall): Promise<StandingRow | undefined> {
  const [row] = await db.query<StandingRow>(callUnder, [hold.tenant, id, hold.epoch])
  return row
}

function sendFenceParams(db: Db, hold: SendHold): Param[] {
  return [hold.tenant, hold.connection, hold.orderKey, db.holder, hold.epoch]
}

/** Interval between two calls, and how far ahead a burst may run, in milliseconds. */
function rateLimitParams(limit: RateLimit | undefined): [number | null, number | null] {
  if (limit === undefined) return [null, null]
  const interval = limit.perMs / limit.count
  return [interval, limit.perMs - interval]
}

// Send lanes are claimed like turn lanes; every later write is fenced by $1 tenant, $2 connection, $3 order key, $4 holder,
// $5 epoch.

const lane = `lane as materialized (
  select tenant, connection, order_key from send_lanes
  where tenant = $1 and connection = $2 and order_key = $3 and holder = $4 and epoch = $5 for update)`

/** Of the call that goes out next. A lane whose next call a newer release wrote is left to it. */
const nextVersion = `(
  select o.v from outbox o
  where o.tenant = l.tenant and o.connection = l.connection and o.order_key = l.order_key and o.settled_at is null
  order by o.seq limit 1)`

/** $1 how many, $2 holder, $3 lease in ms, $4 calls per lane, $5 tenant, $6 and $7 as for lanes of turns. */
const claimSendLanesSql = (condition = ''): string => `
with free as materialized (
  select l.tenant, l.connection, l.order_key from send_lanes l
  where l.tenant = $5 and l.pending > 0 and l.next_at <= now() and (l.lease_until is null or (l.lease_until < now() and ${mayTakeOverLeaseSql('$6', '$7')}))
    and ${isRowVersionReadableSql(nextVersion)}${condition}
  order by l.next_at limit $1 for update skip locked
),
held as (
  update send_lanes l set lease_until = now() + $3::float8 * interval '1 ms', holder = $2, epoch = l.epoch + 1
  from free where l.tenant = free.tenant and l.connection = free.connection and l.order_key = free.order_key
  returning l.tenant, l.connection, l.order_key, l.epoch
)
select h.tenant, h.connection, h.order_key as "orderKey", h.epoch::float8 as epoch,
  coalesce((select json_agg(w) from (
    select o.id, o.v, o.turn_id as "turnId", o.conversation_id as "conversationId", o."primary", o.purpose, o.call,
      o.client_id as "clientId", o.state, o.reason, o.attempt, o.maybe_repeat as "maybeRepeat", o.trace_id as "traceId",
      greatest(0, coalesce(extract(epoch from o.not_before - now()) * 1000, 0))::float8 as "waitMs",
      coalesce(o.expires_at < now(), false) as "isExpired",
      (extract(epoch from now() - o.created_at) * 1000)::float8 as "ageMs",
      (select c.reply_to from conversations c where c.id = o.conversation_id) as "replyTo",
      exists (select 1 from outbox p where p.origin = o.origin and p.ordinal > o.ordinal and p.order_key = o.order_key
        and p.settled_at is null) as "hasLaterParts",
      o.live_reference as finishes,
      case when o.live_reference is not null then (
        select p.vendor_id from outbox p where p.origin = o.origin and p.ordinal = 0 and p.purpose = 'live'
          and p.state = 'delivered') end as "liveReference",
      o.vendor_id as "vendorId", ${questionStateJsonSql('o')} as question
    from outbox o
    where o.tenant = h.tenant and o.connection = h.connection and o.order_key = h.order_key and o.settled_at is null
    order by o.seq limit $4) w), '[]') as calls
from held h`

export const claimSendsSql = nameStatement('claim_sends', claimSendLanesSql())

/** $8: keys of the connections whose share of the slots is taken, as JSON. */
const claimOtherSends = nameStatement(
  'claim_other_sends',
  claimSendLanesSql(` and l.connection <> all (select json_array_elements_text($8::text::json))`),
)

/**
 * How long a bucket has to be waited for. It runs ahead of now by at most its burst and one interval, and by as long as a statement
 * waits for it; where it is further ahead the clock went back, and it is as good as just used up.
 */
const rateLimitWaitSql = (interval: string, burst: string): string => `(
  select case when w.ms > ${interval}::float8 + 5000 then 0 else w.ms end
  from (select extract(epoch from l.spent_until - now()) * 1000 - ${burst}::float8 as ms) w)`

/**
 * $6 call. $7, $8: the connection's interval and burst in ms (null = no limit); $9, $10: the conversation's; $11: what it shares
 * them with, or its own order key. $12: whether it is sent now; a call whose question is over is not begun then.
 * A limit is a bucket kept as one instant: it may run ahead of now by at most the burst.
 */
export const startSendSql = nameStatement(
  'start_send',
  `
with ${lane},
-- Locked before it is read: lanes that ask at the same moment would all find the bucket as full as before.
bucket as materialized (
  select l.* from lane, connection_limits l
  where l.tenant = $1 and l.connection = $2 and l.scope in ('', $11) order by l.scope for update of l
),
limited as materialized (
  select greatest(
    coalesce(max(extract(epoch from l.not_before - now()) * 1000), 0),
    coalesce(max(case when l.scope = '' then ${rateLimitWaitSql('$7', '$8')} end), 0),
    coalesce(max(case when l.scope = $11 then ${rateLimitWaitSql('$9', '$10')} end), 0))::float8
    as wait_ms
  from bucket l
),
spent as (
  insert into connection_limits (tenant, connection, scope, spent_until)
  select $1, $2, s.scope, now() + s.every * interval '1 ms'
  from lane, limited, (values ('', $7::float8), ($11::text, $9::float8)) as s(scope, every)
  where s.every is not null and limited.wait_ms <= 0
  order by s.scope
  on conflict (tenant, connection, scope) do update
    set spent_until = (excluded.spent_until - now()) + greatest(now(), least(connection_limits.spent_until,
      now() + case when excluded.scope = '' then $8::float8 else $10::float8 end * interval '1 ms'))
),
begun as (
  update outbox o set state = 'sending', attempt = o.attempt + 1, epoch = $5, sending_at = now(),
    history = case when o.state = 'sending' and o.sending_at is not null
      then ${appendHistoryEntrySql('o', `'what', 'abandoned', 'attempt', o.attempt, 'startedAt', ${historyTimeSql('o.sending_at')}`)}
      else o.history end
  from lane, limited where o.id = $6 and o.settled_at is null and limited.wait_ms <= 0
    and (not $12::boolean or o.question is null or ${isQuestionOpenSql('o')})
  returning 1
)
select (select count(*)::int from lane) as held, (select count(*)::int from begun) as begun,
  (select wait_ms from limited) as "waitMs", exists (select 1 from outbox o where o.id = $6 and o.settled_at is null) as "isOpen"`,
)

/**
 * $6 call, $7 settlement as JSON. A final settlement leaves the lane; the last primary call that arrives makes its turn
 * and its messages answered; one that cannot arrive makes them dead, cancels the later parts and leaves one notice. A question that
 * arrived after its decision stays open once more, to be edited into its outcome.
 */
export const settleSendSql = nameStatement(
  'settle_send',
  `
with ${lane},
told as materialized (
  select s.*, coalesce(s."maySayOutcome", false) and exists (
    select 1 from outbox o where o.id = $6 and o.vendor_id is null and o.question is not null and not ${isQuestionOpenSql('o')}
      and not ${isDecisionAlreadyShownSql('o', 's."vendorId"')}) as is_late
  from lane, json_to_record($7::text::json) as s(
    state text, "isFinal" boolean, reason text, "vendorId" text, name text, "retryInMs" float8, pause json, "maybeRepeat" boolean,
    "cancelLater" boolean, notice json, "inboxReason" text, "maySayOutcome" boolean)
),
given as materialized (
  select case when is_late then 'retry' else state end as state, "isFinal" and not is_late as "isFinal",
    case when is_late then 'decided_meanwhile' else reason end as reason, "vendorId", name, "retryInMs", pause, "maybeRepeat",
    "cancelLater", notice, "inboxReason"
  from told
),
-- A decision cancels such calls of the same reply: read locked, they are as it left them.
asking as materialized (
  select o.id, o.state, o.reason from lane, outbox s join outbox o on o.origin = s.origin
  where s.id = $6 and s."primary" and o."primary" and o.id <> s.id and o.order_key = $3 and o.question is not null for update of o
),
settled as (
  update outbox o set state = g.state, reason = g.reason, vendor_id = coalesce(g."vendorId", o.vendor_id),
    maybe_repeat = g."maybeRepeat",
    not_before = case when g."isFinal" then o.not_before else now() + g."retryInMs" * interval '1 ms' end,
    settled_at = case when g."isFinal" then now() end,
    history = ${appendHistoryEntrySql(
      'o',
      `'what', case when g.reason = 'decided_meanwhile' then g.reason else g.state end, 'attempt', o.attempt, 'startedAt', ${historyTimeSql('o.sending_at')}, 'reason', g.reason, 'vendorId', g."vendorId",
      'isFinal', g."isFinal", 'retryInMs', case when g."isFinal" then null else g."retryInMs" end`,
    )}
  from given g where o.id = $6 and o.epoch = $5 and o.settled_at is null
  returning o.id, o.tenant, o.connection, o.conversation_id, o.turn_id, o.origin, o.ordinal, o."primary", o.trace_id
),
named as (
  insert into conversation_aliases (tenant, connection, agent, external_id, conversation_id)
  select s.tenant, s.connection, c.agent, g.name, c.id from settled s join conversations c on c.id = s.conversation_id, given g
  where g.name is not null
  on conflict do nothing
),
cancelled as (
  update outbox o set state = 'cancelled', reason = 'earlier_part_failed', settled_at = now()
  from settled s, given g
  where g."cancelLater" and o.origin = s.origin and o.ordinal > s.ordinal and o.settled_at is null and o.order_key = $3
  returning o.id
),
noticed as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id)
  select c.id, s.tenant, s.connection, s.conversation_id, s.turn_id, s.id, c.ordinal, $3, false, c.purpose, ${rowVersion},
    c.call,
    c."clientId", 'queued', s.trace_id
  from settled s, given g, json_to_recordset(g.notice) as c(id uuid, ordinal int, purpose text, call jsonb, "clientId" text)
  on conflict (origin, ordinal) do nothing
  returning id
),
paused as (
  insert into connection_limits (tenant, connection, scope, not_before)
  select s.tenant, s.connection, case when g.pause ->> 'scope' = 'connection' then '' else coalesce(g.pause ->> 'place', $3) end,
    now() + (g.pause ->> 'ms')::float8 * interval '1 ms'
  from settled s, given g where g.pause is not null and json_typeof(g.pause) = 'object'
  on conflict (tenant, connection, scope) do update
    set not_before = greatest(connection_limits.not_before, excluded.not_before)
),
moved as (
  update send_lanes l set
    pending = l.pending - case when g."isFinal" then 1 else 0 end - (select count(*)::int from cancelled)
      + (select count(*)::int from noticed),
    next_at = case when g."isFinal" and g."retryInMs" <= 0 then l.next_at else now() + g."retryInMs" * interval '1 ms' end
  from lane, settled, given g
  where l.tenant = lane.tenant and l.connection = lane.connection and l.order_key = lane.order_key
),
parts as materialized (
  select a.state, ${isCallDeliveredOrDecidedSql('a')} as is_over from asking a
  union all
  select o.state, ${isCallDeliveredOrDecidedSql('o')} from settled s join outbox o on o.origin = s.origin
  where s."primary" and o."primary" and o.id <> s.id and o.id not in (select id from asking)
),
fate as (
  select s.turn_id, f.state, coalesce(g."inboxReason", case when f.state = 'silent' then '${questionDecided}' end) as reason
  from settled s, given g, lateral (select case when g.state not in ('delivered', 'cancelled') then 'dead'
    when g.state = 'delivered' or exists (select 1 from parts where state = 'delivered') then 'answered' else 'silent' end as state) f
  where s."primary" and g."isFinal" and (f.state = 'dead' or not exists (select 1 from parts where not is_over))
),
ended as (
  update turns t set state = f.state, ended_at = now(), reason = coalesce(f.reason, t.reason),
    history = ${appendHistoryEntrySql('t', `'what', f.state, 'attempt', t.attempt, 'code', f.reason`)}
  from fate f where t.id = f.turn_id and t.state = 'replied'
  returning t.id, f.state, f.reason
),
members as (
  update inbox x set ended_at = now(), reason = e.reason, state = ${messageStateAfterTurnSql('x', 'e')}
  from ended e where x.turn_id = e.id and x.state = 'in_turn'
)
select count(*)::int as settled, coalesce(bool_or(g.reason = 'decided_meanwhile'), false) as "isLate" from settled, given g`,
)

/** $1 tenant, $2 call, $3 epoch. How a call stands that this holder began: what became of a commit whose answer went missing. */
const callUnder = nameStatement(
  'find_call_end',
  `select o.state, o.reason, o.settled_at is not null as "isSettled" from outbox o where o.tenant = $1 and o.id = $2 and o.epoch = $3`,
)

/** $6 delay in ms. */
const releaseSend = nameStatement(
  'release_send',
  `
with ${lane}
update send_lanes l set holder = null, lease_until = null,
  next_at = case when $6::float8 > 0 then now() + $6::float8 * interval '1 ms' else greatest(l.next_at, now()) end
from lane where l.tenant = lane.tenant and l.connection = lane.connection and l.order_key = lane.order_key
returning 1 as held`,
)

const lockSendLane = nameStatement(
  'lock_send_lane',
  `select pending from send_lanes
   where tenant = $1 and connection = $2 and order_key = $3 and holder = $4 and epoch = $5 for update`,
)

const recountSendLane = nameStatement(
  'recount_send_lane',
  `
with was as materialized (select pending from send_lanes where tenant = $1 and connection = $2 and order_key = $3),
counted as (
  update send_lanes l set holder = null, lease_until = null, next_at = now(), pending =
    (select count(*)::int from outbox o where o.tenant = l.tenant and o.connection = l.connection
       and o.order_key = l.order_key and o.settled_at is null)
  where tenant = $1 and connection = $2 and order_key = $3 returning tenant, connection, pending
),
told as (
  insert into counter_changes select 'drift', c.tenant, c.connection, 'send_lane', 'claimed', 1, now()
  from counted c, was where c.pending <> was.pending
)
select pending from counted`,
)
