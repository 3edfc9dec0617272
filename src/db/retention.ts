// Retention and repair of lane drift: content is erased first, receipts later, so that a redelivery is known long after its text
// is gone.
import type { Log } from '../lib/log.ts'
import { deleteExpiredEventClaims } from './accept-claims.ts'
import { type Database, nameStatement, type Param, type Statement } from './client.ts'
import { sweepErasedContent } from './erase-traces.ts'
import {
  correctDrift,
  deleteExpiredAmbient,
  deleteExpiredAttachments,
  deleteExpiredAudit,
  deleteExpiredCalls,
  deleteExpiredChains,
  deleteExpiredContent,
  deleteExpiredLimits,
  deleteExpiredPairings,
  deleteExpiredReceipts,
  deleteExpiredRefused,
  deleteExpiredReplyWindows,
  deleteExpiredSignals,
  deleteExpiredTasks,
  deleteExpiredThreadAgents,
  deleteExpiredTimers,
  deleteExpiredTombstones,
  deleteExpiredTranscripts,
  deleteExpiredTtlValues,
  deleteExpiredTurns,
  deleteExpiredUnproven,
  deleteIdleLanes,
  findDrift,
  readOverdue,
} from './expired-rows.ts'
import { foldCounterChanges } from './health-sample.ts'
import { expireAndSettlePairings } from './pairings.ts'
import { eraseSessionSql } from './sessions.ts'
import { deleteExpiredUsedTokens } from './tokens.ts'
import { deleteUnprovenSenders } from './unproven-senders.ts'

export type RetentionPolicy = {
  readonly contentDays: number
  /** What was refused, and what asked for nothing, loses its content sooner: mostly strangers sent it. */
  readonly refusedHours: number
  readonly receiptDays: number
  /** Lines of the audit log: who decided what outlives what it was about. */
  readonly auditDays: number
  readonly batch: number
}

/** `what`: content, transcripts, receipts, calls or turns. */
type Overdue = { readonly what: string; readonly ms: number }

interface SweepStore {
  /** Ends sessions without consent to keep them, after this silence, and erases what was said in them. */
  endUnkept(idleMs: number): Promise<number>
  /** Removes what is due, in bounded batches, until it is gone or the time for it is over; returns how many rows went. */
  sweep(policy: RetentionPolicy): Promise<number>
  /** What is longest beyond its time; undefined where nothing is. */
  oldestOverdue(policy: RetentionPolicy): Promise<Overdue | undefined>
  /** Pairings that have run out, and messages that need not wait for one any more; how many messages went on or ended. */
  settlePairings(): Promise<number>
  /** Lanes whose count disagreed with their rows, corrected. */
  correctDrift(limit: number): Promise<number>
}

export const defaultRetention: RetentionPolicy = {
  contentDays: 90,
  refusedHours: 24,
  receiptDays: 120,
  auditDays: 400,
  batch: 500,
}

/** Sweeping comes every minute: what is this far beyond its time piles up. */
const behindAfterMs = 10 * 60_000

export function retentionProblems(policy: RetentionPolicy): readonly string[] {
  const { contentDays, refusedHours, receiptDays, auditDays } = policy
  const early =
    'retention.receiptDays must be at least 30 and at least contentDays, or redeliveries would be answered again'
  return [
    ...(receiptDays < Math.max(30, contentDays) ? [early] : []),
    ...(refusedHours > 0 ? [] : ['retention.refusedHours must be more than 0']),
    ...(auditDays >= 1 ? [] : ['retention.auditDays must be at least 1']),
  ]
}

/** One round. Drift is a fault: it is corrected, and it is said. */
export async function sweepExpiredDataOnce(
  store: SweepStore,
  { idleMs, ...policy }: RetentionPolicy & { readonly idleMs: number },
  log: Log,
): Promise<void> {
  const swept = (await store.endUnkept(idleMs)) + (await store.sweep(policy))
  if (swept > 0) log.info('retention_swept', { rows: swept })
  const overdue = await store.oldestOverdue(policy)
  if (overdue !== undefined && overdue.ms > behindAfterMs)
    log.warn('retention_behind', { reason: overdue.what, ms: Math.round(overdue.ms) })
  const settled = await store.settlePairings()
  if (settled > 0) log.info('held_messages_settled', { rows: settled })
  const drifted = await store.correctDrift(200)
  if (drifted > 0) log.error('lane_drift_corrected', { lanes: drifted })
}

/** More than an hour's ends at a busy gateway; what is left waits for the next round. */
const changesPerFold = 200_000

/** Longer than any chain of calls goes on; a root is not used again. */
const chainDays = 2

/** Servers try for five days; after that no server asks what became of a mail that nothing proved. */
const unprovenDays = 7

/** A session may be long: few at a time, and the rest in the next minute. */
const sessionsPerRound = 20
const maxRounds = 50
const talkPerRound = 2_000

const keptAsReceipts = [
  deleteExpiredReceipts,
  deleteExpiredCalls,
  deleteExpiredTurns,
  deleteExpiredTombstones,
  deleteExpiredTimers,
  deleteExpiredSignals,
  deleteExpiredPairings,
  deleteExpiredTasks,
  deleteExpiredThreadAgents,
]
const keptAWhile = [
  deleteExpiredLimits,
  deleteIdleLanes,
  deleteExpiredReplyWindows,
  deleteExpiredUsedTokens,
  deleteExpiredEventClaims,
  deleteExpiredTtlValues,
  sweepErasedContent,
]

/** How much of a minute goes to sweeping: `budgetMs`, of which every pass rests for as long as it took. */
export type SweepPace = {
  readonly budgetMs: number
  readonly monotonicMs: () => number
  readonly rest: (ms: number) => Promise<void>
}

const calmPace: SweepPace = {
  budgetMs: 25_000,
  monotonicMs: () => performance.now(),
  rest: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

type Sweep = { readonly sweeps: Statement; readonly params: readonly Param[]; readonly batch: number }

/** Batch by batch, every kind in turn, until none is full: what is promised to be gone goes, however much a busy hour left. */
async function deleteExpiredInBatches(database: Database, pace: SweepPace, kinds: readonly Sweep[]): Promise<number> {
  const deadline = pace.monotonicMs() + pace.budgetMs
  let swept = 0
  for (let left = kinds; left.length > 0; ) {
    const startedAt = pace.monotonicMs()
    const full: Sweep[] = []
    for (const kind of left) {
      const rows = (await database.query(kind.sweeps, kind.params)).length
      swept += rows
      if (rows >= kind.batch) full.push(kind)
    }
    left = full
    const now = pace.monotonicMs()
    if (now >= deadline) break
    // Messages that arrive meanwhile have the database to themselves for as long again.
    if (left.length > 0) await pace.rest(now - startedAt)
  }
  return swept
}

type Drift = { readonly conversationId: string; readonly pending: number; readonly actual: number }

export function createSweepStore(database: Database, tenant: string, pace = calmPace): SweepStore {
  return {
    async endUnkept(idleMs) {
      let ended = 0
      for (let round = 0; round < maxRounds; round += 1) {
        const rows = await database.query(endUnkeptSessions, [idleMs, sessionsPerRound, tenant])
        ended += rows.length
        if (rows.length < sessionsPerRound) break
      }
      return ended
    },
    async sweep(policy) {
      const { contentDays, refusedHours, receiptDays, auditDays, batch } = policy
      const deletionByAge = (days: number) => (sweeps: Statement) => ({ sweeps, params: [days, batch, tenant], batch })
      const swept = await deleteExpiredInBatches(database, pace, [
        deletionByAge(refusedHours)(deleteExpiredRefused),
        ...[deleteExpiredContent, deleteExpiredTranscripts, deleteExpiredAttachments].map(deletionByAge(contentDays)),
        ...[deleteExpiredUnproven, deleteUnprovenSenders].map(deletionByAge(unprovenDays)),
        { sweeps: deleteExpiredAmbient, params: [talkPerRound, tenant], batch: talkPerRound },
        ...keptAsReceipts.map(deletionByAge(receiptDays)),
        deletionByAge(auditDays)(deleteExpiredAudit),
        ...keptAWhile.map((sweeps) => ({ sweeps, params: [batch, tenant], batch })),
        deletionByAge(chainDays)(deleteExpiredChains),
      ])
      await database.query(foldCounterChanges, [changesPerFold])
      return swept
    },
    async oldestOverdue({ contentDays, receiptDays }) {
      const [oldest] = await database.query<Overdue>(readOverdue, [tenant, contentDays, receiptDays])
      return oldest
    },
    settlePairings: () => expireAndSettlePairings(database, tenant),
    async correctDrift(limit) {
      const lanes = await database.query<Drift>(findDrift, [limit, tenant])
      let corrected = 0
      for (const { conversationId, pending, actual } of lanes) {
        corrected += (await database.query(correctDrift, [conversationId, actual, pending])).length
      }
      return corrected
    },
  }
}

// Sessions without consent to keep them: once over, and nothing of them in flight, their transcript is deleted.

/**
 * $1 after how long a silence in ms a session is over (a tenant's own configuration), $2 batch, $3 tenant. When one expires
 * is looked at only then: one that was used meanwhile expires later, so that no turn has to move it.
 */
const endUnkeptSessions = nameStatement(
  'end_unretained_sessions',
  `
with due as materialized (
  select s.id, s.tenant, s.conversation_id,
    s.status <> 'open' or s.last_activity_at < now() - $1::float8 * interval '1 ms' as is_over
  from sessions s where s.tenant = $3 and not s.is_retained and s.expires_at < now() order by s.expires_at limit $2
),
-- Locked first, as in every statement about turns.
lane as materialized (
  select due.id from due join lanes l on l.conversation_id = due.conversation_id
  where due.is_over and l.mode = 'active' and l.pending = 0 and l.turn_id is null
    and (l.lease_until is null or l.lease_until < now())
  order by l.conversation_id for update of l skip locked
),
gone as (
  update sessions s set status = case when s.status = 'open' then 'closed' else s.status end,
    ended_at = coalesce(s.ended_at, now()), expires_at = null, title = null, metadata = '{}', provider_response_id = null
  from due
  where s.id = due.id and due.id in (select id from lane)
    -- Asked of the row as it is once it is ours: a turn may have ended in it while we waited.
    and (s.status <> 'open' or s.last_activity_at < now() - $1::float8 * interval '1 ms')
    and not exists (
      select 1 from turns t where t.conversation_id = due.conversation_id and t.session_id = due.id and t.ended_at is null)
    and not exists (
      select 1 from pending_actions a
      where a.conversation_id = due.conversation_id and a.session_id = due.id and a.status = 'pending')
    and not exists (
      select 1 from runtime_tool_requests q
      where q.tenant = due.tenant and q.status = 'runtime_tool_pending' and q.session_id = due.id)
  returning s.id, s.conversation_id
),
later as (
  update sessions s set expires_at = case when due.is_over then now() + interval '1 minute'
    else s.last_activity_at + $1::float8 * interval '1 ms' end
  from due where s.id = due.id and due.id not in (select id from gone)
),${eraseSessionSql({ lines: 'deleted', resolver: `'gateway'` })}
select 1 as swept from gone`,
)
