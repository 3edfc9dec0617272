// Everything that was stored of one turn, or of a message that never had one, for a replay. Reads only.

import { maxAmbientMessages } from '../contract/channel.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import { GatewayError } from '../lib/errors.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { recordAuditSql } from './audit.ts'
import { messageColumns } from './claim-lanes.ts'
import { createDbWithoutStatements, type Db, nameStatement, rowVersion, type Statement } from './client.ts'
import type { RecordedStep } from './journal.ts'
import { resolveAction } from './pending-actions.ts'
import { appendRunEventsSql } from './runs.ts'
import { storedAccessSql } from './stored-access.ts'
import { answerToolRequestSql } from './tool-requests.ts'
import { transcriptWindowLinesSql } from './transcripts.ts'
import type { OpenTurn, WaitingMessage, WaitingSignal } from './turn-rows.ts'
import { attachAccessToMessages, type LaneAccess } from './turns.ts'

export type StoredTurn = Omit<OpenTurn, 'outageMs'> & {
  readonly state: string
  readonly reason: string | null
}

/** A message as it lies in the inbox; its content is gone once retention or its author took it away. */
export type StoredMember = Omit<WaitingMessage, 'message' | 'replyTo'> & {
  readonly message: WaitingMessage['message'] | null
  readonly replyTo: JsonObject | null
  /** The redacted original. */
  readonly raw: JsonObject | null
  readonly state: string
  readonly reason: string | null
  readonly receivedAt: string
}

/** What went out, or was to go out, as the vendor gets it. */
export type SentCall = { readonly purpose: string; readonly primary: boolean; readonly call: JsonObject }

export type Stored = {
  readonly tenant: string
  readonly connection: string
  readonly agent: string
  readonly conversationId: string | null
  readonly sessionId: string | null
  readonly replyTo: JsonObject
  /** Null for a message that was never taken into a turn. */
  readonly turn: StoredTurn | null
  readonly members: readonly StoredMember[]
  readonly signal: WaitingSignal | null
  readonly steps: readonly RecordedStep[]
  readonly calls: readonly SentCall[]
  /** Its reply grew before it was final. */
  readonly hasLive: boolean
  /** Names of the timers the turn set. */
  readonly timers: readonly string[]
  /** The transcript as it stood before. */
  readonly history: readonly Envelope[]
}

type Found = Stored & { readonly newest: number; readonly access: LaneAccess }

/** What a run that is told again would write is left out: its own run did. What waits is looked at; `refuse` throws where it would be decided. */
export function createReplayDb(db: Db, refuse: () => Promise<never>): Db {
  const looking = createDbWithoutStatements(db, [appendRunEventsSql, recordAuditSql])
  const decisions: readonly Statement[] = [resolveAction, answerToolRequestSql]
  return { ...looking, query: (asked, params) => (decisions.includes(asked) ? refuse() : looking.query(asked, params)) }
}

/** `id` of a message, a turn or a delivery. `head` and `tail`: lines of the transcript to read. */
export async function findStoredTurnForReplay(
  db: Db,
  id: string,
  head: number,
  tail: number,
): Promise<Stored | undefined> {
  const [found] = await db.query<Found>(findReplaySql, [id, head, tail, db.tenant])
  if (found === undefined) return undefined
  const { newest, access, ...stored } = found
  if (newest <= rowVersion) return { ...stored, members: attachAccessToMessages(stored.members, access) }
  throw new GatewayError('conflict', '[replay] a newer release stored this message; replay it with that release')
}

// One statement: $1 id of a message, a turn or a delivery; $2, $3 transcript lines from the start and from the end; $4 tenant.
// The transcript is cut where it stood when the turn began, or when the message came.

const members = `from inbox x
    where x.turn_id = p.turn_id or (p.turn_id is null and x.id = p.inbox_id) order by x.turn_order, x.seq`

const findReplaySql = nameStatement(
  'find_replay',
  `
with asked as materialized (
  select id as inbox_id, turn_id from inbox where id = $1 and tenant = $4
  union all select null, id from turns where id = $1 and tenant = $4
  union all select null, turn_id from outbox where id = $1 and tenant = $4 and turn_id is not null
  limit 1
),
known as materialized (
  select a.inbox_id, a.turn_id, coalesce(t.tenant, x.tenant) as tenant,
    coalesce(t.connection, x.connection) as connection, coalesce(t.agent, x.agent) as agent,
    coalesce(t.conversation_id, x.conversation_id) as conversation_id, t.session_id,
    coalesce(t.started_at, x.received_at) as began_at, coalesce(t.journal_turn, t.id) as journal_turn
  from asked a left join turns t on t.id = a.turn_id left join inbox x on x.id = a.inbox_id
),
placed as materialized (
  select k.*, coalesce(k.session_id, c.session_id) as session, coalesce(c.reply_to, '{}') as reply_to
  from known k left join conversations c on c.id = k.conversation_id
)
select p.tenant, p.connection, p.agent, p.conversation_id as "conversationId", p.session as "sessionId",
  p.reply_to as "replyTo",
  (select coalesce(max(x.v), 0) from inbox x where x.turn_id = p.turn_id or x.id = p.inbox_id) as newest,
  (select json_build_object('id', t.id, 'kind', t.kind, 'state', t.state, 'reason', t.reason, 'attempt', t.attempt,
      'failures', t.failures, 'sessionId', t.session_id, 'parentTurn', t.parent_turn, 'principal', t.principal,
      'runId', t.run_id, 'traceId', t.trace_id) from turns t where t.id = p.turn_id) as turn,
  coalesce((select json_agg(w) from (
    select ${messageColumns}, x.raw, x.state, x.reason, x.received_at as "receivedAt" ${members}) w), '[]') as members,
  ${storedAccessSql({
    tenant: 'p.tenant',
    connection: 'p.connection',
    conversation: 'p.conversation_id',
    rows: `select x.message ${members}`,
  })} as access,
  (select json_build_object('id', s.id, 'kind', s.kind, 'name', s.name, 'payload', s.payload, 'attempts', s.attempts)
     from signals s where s.turn_id = p.turn_id limit 1) as signal,
  coalesce((select json_agg(w) from (
    select j.step, j.label, j.is_effect as "isEffect", j.state, j.result, j.error
    from journal j where j.turn_id = p.journal_turn order by j.started_at, j.step) w), '[]') as steps,
  coalesce((select json_agg(w) from (
    select o.purpose, o."primary", o.call from outbox o
    where o.origin = p.turn_id and o.purpose not in ('live', 'assertion') order by o.ordinal) w), '[]') as calls,
  exists (select 1 from outbox o where o.origin = p.turn_id and o.purpose = 'live') as "hasLive",
  coalesce((select json_agg(m.name order by m.name) from timers m where m.origin = p.turn_id), '[]') as timers,
  coalesce((select json_agg(l.envelope order by l.seq) from (${transcriptWindowLinesSql({
    session: 'p.session',
    head: '$2',
    tail: '$3',
    around: `${maxAmbientMessages}`,
    // Its ambient context was written down when it began.
    where: `(m.created_at < p.began_at or (m.turn_id = p.turn_id and m.role = 'ambient'))`,
  })}) l), '[]') as history
from placed p`,
)
