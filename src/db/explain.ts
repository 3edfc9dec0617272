// Everything the rows know about one message, for `parley explain`, read in one snapshot. Never its text, never an argument or a
// result of a step, never a rendered call. Errors of the agent's own code are there as they were thrown.

import type { Rejection } from '../identity/rejected-requests.ts'
import type { ErrorSource, ThrownError } from '../lib/errors.ts'
import { auditPersonSql } from './audit.ts'
import { type Db, historyTimeSql, nameStatement } from './client.ts'

/** What an id turned out to name. */
export type Hit = {
  readonly kind: 'message' | 'turn' | 'delivery'
  readonly id: string
  readonly matched: 'inbox id' | 'message id' | 'platform id' | 'delivery id' | 'trace id' | NonMessageId
  readonly connection: string
  readonly at: string
  readonly state: string
  readonly messageId: string | null
}

type NonMessageId = 'turn id' | 'outbox id' | 'vendor message id'

export type MessageFacts = {
  readonly id: string
  readonly connection: string
  readonly agent: string
  /** `message`, why it must be answered on its own such as `command`, or `rejected_event`. */
  readonly kind: string
  readonly event: 'new' | 'edit' | 'delete'
  readonly messageId: string | null
  readonly deliveryId: string | null
  readonly editOf: string | null
  /** For edits and deletes: the message they speak of. */
  readonly original: { readonly id: string; readonly state: string } | null
  readonly state: string
  readonly reason: string | null
  readonly subject: string | null
  readonly principal: string | null
  readonly accessRule: string | null
  readonly conversation: string | null
  readonly isFlagged: boolean
  readonly hasContent: boolean
  readonly hasRaw: boolean
  readonly evidence: Evidence | null
  readonly duplicates: {
    readonly count: number
    readonly lastAt: string
    readonly lastDeliveryId: string | null
  } | null
  readonly lane: LaneFacts | null
  /** What it waits, or waited, for; null: its sender was known. */
  readonly pairing: PairingFacts | null
  /** Ambient context: until when it is remembered, and the turns that were given it. */
  readonly memory: { readonly until: string | null; readonly turns: readonly UsedBy[] }
  readonly platformAt: string | null
  readonly receivedAt: string
  readonly endedAt: string | null
  readonly turnId: string | null
  readonly attempts: number
  readonly traceId: string
}

export type Evidence = {
  readonly address: string
  readonly authMethod: string
  readonly isVerified: boolean
  /** Codes of evidence that came along and was not believed. */
  readonly dropped: readonly string[]
  readonly identities: readonly {
    readonly subject: string
    readonly issuer: string
    readonly method: string
    readonly assurance: string
  }[]
}

export type UsedBy = { readonly id: string; readonly at: string }

export type PairingFacts = {
  readonly code: string
  readonly status: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly decidedAt: string | null
  readonly decidedBy: string | null
}

/** The lane of a message in flight: where it stands in it, and whether a process holds it now. */
export type LaneFacts = {
  readonly mode: string
  readonly ahead: number
  readonly isHeld: boolean
  readonly hasOpenTurn: boolean
  readonly nextAt: string
}

export type TurnFacts = {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly reason: string | null
  readonly agent: string
  readonly attempt: number
  readonly failures: number
  readonly parentTurn: string | null
  readonly runId: string | null
  readonly signal: string | null
  readonly startedAt: string
  readonly outageSince: string | null
  readonly endedAt: string | null
  /** How many messages of ambient context it was given. */
  readonly ambient: number
  readonly members: readonly MemberFacts[]
  readonly steps: readonly StepFacts[]
  readonly history: readonly TurnEvent[]
  /** What the agent, its tools and its hooks threw. */
  readonly errors: readonly ErrorFacts[]
}

export type ErrorFacts = Omit<ErrorSource, 'hide'> & {
  readonly at: string
  readonly attempt: number
  readonly error: ThrownError
}

export type MemberFacts = {
  readonly id: string
  readonly messageId: string | null
  readonly event: string
  readonly state: string
}

export type StepFacts = {
  readonly name: string
  /** Of a model's answer: which model gave it. */
  readonly answeredBy?: string | null
  readonly state: string
  readonly error: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
}

export type TurnEvent = {
  readonly at: string
  readonly what: string
  readonly attempt?: number
  readonly code?: string
  readonly retryInMs?: number
  /** How often its process had died by then. */
  readonly crashes?: number
  readonly members?: readonly string[]
}

export type DeliveryFacts = {
  readonly id: string
  readonly turnId: string | null
  readonly purpose: string
  readonly isPrimary: boolean
  readonly ordinal: number
  readonly state: string
  readonly reason: string | null
  readonly attempt: number
  readonly vendorId: string | null
  readonly isMaybeRepeat: boolean
  readonly createdAt: string
  readonly notBefore: string | null
  readonly sendingAt: string | null
  readonly settledAt: string | null
  readonly history: readonly DeliveryEvent[]
}

export type DeliveryEvent = {
  readonly at: string
  readonly what: string
  readonly attempt: number
  readonly startedAt?: string
  readonly reason?: string
  readonly vendorId?: string
  readonly isFinal?: boolean
  readonly retryInMs?: number
  /** Of a bounce. */
  readonly kind?: 'failed' | 'delayed'
}

/** An edit or a delete of the message, and where it ended up. */
export type EditFacts = {
  readonly id: string
  readonly messageId: string | null
  readonly event: string
  readonly state: string
  readonly reason: string | null
  readonly turnId: string | null
  readonly receivedAt: string
}

/** One line of the audit log about the message. */
export type DecisionFacts = {
  readonly at: string
  readonly action: string
  readonly outcome: string
  readonly code: string | null
  readonly rule: string | null
  /** A subject, or `forgotten`. */
  readonly person: string | null
  readonly actor: string | null
  readonly evidence: { readonly issuer: string; readonly method: string; readonly assurance: string } | null
}

export type Facts = {
  /** Null for a turn that no message began, such as one a timer woke. */
  readonly message: MessageFacts | null
  /** Oldest first: the turn that was split or died before the one that took over from it. */
  readonly turns: readonly TurnFacts[]
  readonly deliveries: readonly DeliveryFacts[]
  readonly edits: readonly EditFacts[]
  /** Oldest first. None for messages decided about before there was a log, or after retention. */
  readonly decisions: readonly DecisionFacts[]
  /** Only for rejected events: it has no other facts. */
  readonly rejection?: Rejection
}

/** Ids without an index are looked for among this many arrivals: a fraction of a second, also on a full table. */
const newestArrivals = 50_000

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Everything an index can find under this id; `dedupeKeys` are the claims it may stand for. */
export function findRowsByIndexedId(
  db: Db,
  asked: string,
  dedupeKeys: readonly string[],
  limit: number,
): Promise<readonly Hit[]> {
  const uuid = uuidPattern.test(asked) ? asked : null
  return db.query<Hit>(searchId, [asked, uuid, JSON.stringify(dedupeKeys), limit, db.tenant])
}

/** The newest arrivals by ids that have no index: delivery, trace, and the platform's own message id. */
export function findNewestMessagesByUnindexedId(db: Db, asked: string, limit: number): Promise<readonly Hit[]> {
  return db.query<Hit>(searchNewest, [asked, newestArrivals, limit, db.tenant])
}

export async function readTimelineFacts(db: Db, { kind, id }: Pick<Hit, 'kind' | 'id'>): Promise<Facts> {
  const params = [kind === 'message' ? id : null, kind === 'turn' ? id : null, kind === 'delivery' ? id : null]
  const [facts] = await db.query<Facts>(explainFacts, [...params, db.tenant])
  return facts ?? { message: null, turns: [], deliveries: [], edits: [], decisions: [] }
}

// Columns with content are looked at for their presence alone.

const messageHit = `x.id, x.connection, ${historyTimeSql('x.received_at')} as at, x.state, x.message_id as "messageId"`

/**
 * $1 what was asked for, $2 the same as uuid or null, $3 dedupe claims it may stand for (JSON), $4 how many per way, $5 tenant.
 * `known` walks the message index from connection to connection, so that no list of connections is needed.
 */
const searchId = nameStatement(
  'search_id',
  `
with recursive known as (
  (select connection from inbox where tenant = $5 order by connection limit 1)
  union all
  select n.connection from known k cross join lateral (
    select x.connection from inbox x where x.tenant = $5 and x.connection > k.connection
    order by x.connection limit 1) n
)
select 'message' as kind, 'inbox id' as matched, ${messageHit} from inbox x where x.id = $2::uuid and x.tenant = $5
union all
select 'turn', 'turn id', t.id, t.connection, ${historyTimeSql('t.started_at')}, t.state, null from turns t
where t.id = $2::uuid and t.tenant = $5
union all
select 'delivery', 'outbox id', o.id, o.connection, ${historyTimeSql('o.created_at')}, o.state, null from outbox o
where o.id = $2::uuid and o.tenant = $5
union all
select 'message', 'message id', f.* from known k cross join lateral (
  select ${messageHit} from inbox x
  where x.tenant = $5 and x.connection = k.connection and x.message_id = $1 order by x.seq desc limit $4) f
union all
select 'message', case when f.kind in ('rejected_event', 'operation') then 'delivery id' else 'platform id' end,
  f.id, f.connection, f.at, f.state, f."messageId"
from known k cross join json_array_elements_text($3::text::json) d
cross join lateral (
  select x.kind, ${messageHit} from inbox x
  where x.dedupe_key = encode(sha256(convert_to(json_build_array($5::text, k.connection, d.value)::text, 'UTF8')), 'hex')
  limit $4) f
union all
select 'delivery', 'vendor message id', f.* from (
  select o.id, o.connection, ${historyTimeSql('o.created_at')} as at, o.state, null as "messageId" from outbox o
  where o.tenant = $5 and o.vendor_id = $1 order by o.seq desc limit $4) f`,
)

/**
 * $1 what was asked for, $2 how many arrivals to look at, $3 how many to show, $4 tenant. Ids sort by time. The arrivals are
 * the newest of all tenants: looking for a quiet one's among a busy one's would read the whole table.
 */
const searchNewest = nameStatement(
  'search_newest',
  `
select 'message' as kind,
  case when x.delivery_id = $1 then 'delivery id' when x.trace_id = $1 then 'trace id' else 'platform id' end as matched,
  ${messageHit}
from (
  select id, tenant, connection, received_at, state, message_id, delivery_id, trace_id,
    message #>> '{channel,external_message_id}' as external_id
  from inbox order by id desc limit $2) x
where x.tenant = $4 and (x.delivery_id = $1 or x.trace_id = $1 or x.external_id = $1)
limit $3`,
)

const evidence = `case when x.message is not null then json_build_object(
    'address', x.message #>> '{sender,address}', 'authMethod', x.message #>> '{sender,auth_method}',
    'isVerified', (x.message #>> '{sender,verified}')::boolean,
    'dropped', coalesce(x.message #> '{sender,dropped_evidence}', '[]'),
    'identities', coalesce((select json_agg(json_build_object('subject', i ->> 'subject', 'issuer', i ->> 'issuer',
        'method', i ->> 'method', 'assurance', i ->> 'assurance'))
      from jsonb_array_elements(x.message #> '{sender,identities}') i), '[]')) end`

const message = `select x.id, x.connection, x.agent, x.kind, x.event, x.message_id as "messageId",
    x.delivery_id as "deliveryId", x.edit_of as "editOf", x.state, x.reason, x.subject, x.principal,
    x.access_rule as "accessRule", c.external_id as conversation, x.is_flagged as "isFlagged",
    x.message is not null as "hasContent", x.raw is not null as "hasRaw", ${evidence} as evidence,
    (select json_build_object('id', o.id, 'state', o.state) from inbox o
      where o.tenant = x.tenant and o.connection = x.connection and o.message_id = x.edit_of and o.event = 'new'
        and o.agent = x.agent order by o.seq limit 1) as original,
    (select json_build_object('count', d.count, 'lastAt', ${historyTimeSql('d.last_at')}, 'lastDeliveryId', d.last_delivery_id)
      from duplicates d where d.inbox_id = x.id) as duplicates,
    case when x.state in ('queued', 'in_turn') then (
      select json_build_object('mode', l.mode, 'nextAt', ${historyTimeSql('l.next_at')}, 'hasOpenTurn', l.turn_id is not null,
        'isHeld', coalesce(l.lease_until > now(), false),
        'ahead', (select count(*) from inbox q where q.conversation_id = x.conversation_id and q.state = 'queued'
                  and q.seq < x.seq))
      from lanes l where l.conversation_id = x.conversation_id) end as lane,
    (select json_build_object('code', p.code, 'status', p.status, 'agent', p.agent, 'createdAt', ${historyTimeSql('p.created_at')},
        'expiresAt', ${historyTimeSql('p.expires_at')}, 'decidedAt', ${historyTimeSql('p.decided_at')}, 'decidedBy', p.decided_by)
      from pairings p where p.tenant = x.tenant and p.id = x.pairing_id) as pairing,
    json_build_object(
      'until', (select ${historyTimeSql('o.expires_at')} from ambient_context o where o.inbox_id = x.id and o.expires_at > now()),
      'turns', coalesce((select json_agg(json_build_object('id', k.turn_id, 'at', ${historyTimeSql('k.created_at')}) order by k.created_at)
        from messages k where k.inbox_id = x.id and k.role = 'ambient' and k.turn_id is not null), '[]')) as memory,
    ${historyTimeSql('x.platform_at')} as "platformAt", ${historyTimeSql('x.received_at')} as "receivedAt", ${historyTimeSql('x.ended_at')} as "endedAt",
    x.turn_id as "turnId", x.attempts, x.trace_id as "traceId"
  from inbox x left join conversations c on c.id = x.conversation_id
  where x.id = (select id from lead) and x.tenant = $4`

const turn = `select t.id, t.kind, t.state, t.reason, t.agent, t.attempt, t.failures, t.parent_turn as "parentTurn",
    t.run_id as "runId", ${historyTimeSql('t.started_at')} as "startedAt", ${historyTimeSql('t.outage_since')} as "outageSince",
    ${historyTimeSql('t.ended_at')} as "endedAt", t.history,
    (select s.kind || ' ' || s.name from signals s where s.turn_id = t.id order by s.seq limit 1) as signal,
    (select count(*)::int from messages k
      where k.session_id = t.session_id and k.turn_id = t.id and k.role = 'ambient') as ambient,
    coalesce((select json_agg(json_build_object('id', m.id, 'messageId', m.message_id, 'event', m.event,
        'state', m.state) order by m.turn_order) from inbox m where m.turn_id = t.id), '[]') as members,
    coalesce((select json_agg(json_build_object('name', j.step, 'state', j.state, 'error', j.error,
        'answeredBy', j.result #>> '{answer,request_metadata,answered_by}',
        'startedAt', ${historyTimeSql('j.started_at')}, 'finishedAt', ${historyTimeSql('j.finished_at')}) order by j.started_at, j.step)
      from journal j where j.turn_id = t.id), '[]') as steps,
    coalesce((select json_agg(jsonb_build_object('at', ${historyTimeSql('e.created_at')}, 'attempt', e.attempt) || (e.event -> 'metadata') order by e.seq)
      from run_events e where e.run_id = t.id and e.event ->> 'type' = 'exception'), '[]') as errors
  from chain join turns t on t.id = chain.id where t.tenant = $4`

const delivery = `select o.id, o.turn_id as "turnId", o.purpose, o."primary" as "isPrimary", o.ordinal, o.state, o.reason,
    o.attempt, o.vendor_id as "vendorId", o.maybe_repeat as "isMaybeRepeat", ${historyTimeSql('o.created_at')} as "createdAt",
    ${historyTimeSql('o.not_before')} as "notBefore", ${historyTimeSql('o.sending_at')} as "sendingAt", ${historyTimeSql('o.settled_at')} as "settledAt",
    o.history
  from outbox o where o.id = any(array(
    select s.id from chain join outbox s on s.turn_id = chain.id
    union
    select s.id from lead join outbox s on s.origin = lead.id and s.purpose = 'protocol'
    union
    select $3::uuid)) and o.tenant = $4
  order by o.seq`

/** Absorbed by the same turn, still waiting, or recorded by a later turn of the conversation. */
const edit = `select e.id, e.message_id as "messageId", e.event, e.state, e.reason, e.turn_id as "turnId",
    ${historyTimeSql('e.received_at')} as "receivedAt"
  from inbox x cross join lateral (
    select e.* from inbox e where e.turn_id = x.turn_id
    union all
    select e.* from inbox e where e.conversation_id = x.conversation_id and e.state = 'queued'
    union all
    select e.* from (
      select t.id from turns t where t.conversation_id = x.conversation_id and t.started_at >= x.received_at
        and t.kind = 'amendment' order by t.started_at limit 50) t
    join inbox e on e.turn_id = t.id) e
  where x.id = (select id from lead) and x.tenant = $4 and x.event = 'new' and e.event <> 'new' and e.edit_of = x.message_id
    and e.agent = x.agent`

/** The log has an index for this. Its lines about messages carry no text. */
const decision = `select ${historyTimeSql('l.at')} as at, l.seq, l.action, l.outcome, l.code, l.rule, ${auditPersonSql('l')} as person, l.actor, l.evidence
  from audit_log l where l.inbox_id = (select id from lead) and l.tenant = $4`

/**
 * $1 inbox id, $2 turn id, $3 outbox id: one of them; $4 tenant. `lead` is the message the turn answers; a turn whose member has
 * moved on still names it in its history. `chain` goes back through the turns that were split or died before.
 */
const explainFacts = nameStatement(
  'explain_facts',
  `
with recursive asked as (select coalesce($2::uuid, (select turn_id from outbox where id = $3::uuid and tenant = $4)) as turn_id),
moved as (
  select min(m.value) as id from asked join turns t on t.id = asked.turn_id
  cross join jsonb_array_elements(t.history) h cross join jsonb_array_elements_text(h.value -> 'members') m
  having count(distinct m.value) = 1
),
lead as (
  select coalesce($1::uuid,
    (select x.id from asked join inbox x on x.turn_id = asked.turn_id order by (x.event = 'new') desc, x.turn_order desc limit 1),
    (select id::uuid from moved),
    (select o.origin from outbox o where o.id = $3::uuid and o.tenant = $4 and o.purpose = 'protocol')) as id
),
chain as (
  select t.id, t.parent_turn, 1 as depth from turns t
  where t.id = coalesce((select coalesce(x.turn_id, x.parent_turn) from inbox x where x.id = (select id from lead)),
    (select turn_id from asked))
  union all
  select t.id, t.parent_turn, c.depth + 1 from chain c join turns t on t.id = c.parent_turn where c.depth < 20
)
select
  (select row_to_json(f) from (${message}) f) as message,
  coalesce((select json_agg(f order by f."startedAt", f.id) from (${turn}) f), '[]') as turns,
  coalesce((select json_agg(f) from (${delivery}) f), '[]') as deliveries,
  coalesce((select json_agg(f order by f."receivedAt") from (${edit}) f), '[]') as edits,
  coalesce((select json_agg(f order by f.seq) from (${decision}) f), '[]') as decisions`,
)
