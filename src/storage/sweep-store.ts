// Retention and drift on SQL.
import type { Overdue, SweepStore } from '../inbound/retention.ts'
import type { Database, Param, Statement } from './database.ts'
import { sweepPairings } from './pairing-store.ts'
import { deleteExpiredEventClaims } from './statements/accept-claims.ts'
import { sweepErasedContent } from './statements/forget-traces.ts'
import { deleteUnprovenSenders } from './statements/strangers.ts'
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
} from './statements/sweep.ts'
import { endUnkeptSessions } from './statements/unkept-sessions.ts'
import { deleteExpiredUsedTokens } from './statements/used-tokens.ts'
import { foldTallies } from './statements/vitals.ts'

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
async function sweepInRounds(database: Database, pace: SweepPace, kinds: readonly Sweep[]): Promise<number> {
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
      const aged = (days: number) => (sweeps: Statement) => ({ sweeps, params: [days, batch, tenant], batch })
      const swept = await sweepInRounds(database, pace, [
        aged(refusedHours)(deleteExpiredRefused),
        ...[deleteExpiredContent, deleteExpiredTranscripts, deleteExpiredAttachments].map(aged(contentDays)),
        ...[deleteExpiredUnproven, deleteUnprovenSenders].map(aged(unprovenDays)),
        { sweeps: deleteExpiredAmbient, params: [talkPerRound, tenant], batch: talkPerRound },
        ...keptAsReceipts.map(aged(receiptDays)),
        aged(auditDays)(deleteExpiredAudit),
        ...keptAWhile.map((sweeps) => ({ sweeps, params: [batch, tenant], batch })),
        aged(chainDays)(deleteExpiredChains),
      ])
      await database.query(foldTallies, [changesPerFold])
      return swept
    },
    async oldestOverdue({ contentDays, receiptDays }) {
      const [oldest] = await database.query<Overdue>(readOverdue, [tenant, contentDays, receiptDays])
      return oldest
    },
    settlePairings: () => sweepPairings(database, tenant),
    async correctDrift(limit) {
      const lanes = await database.query<Drift>(findDrift, [limit, tenant])
      let corrected = 0
      for (const { conversationId, pending, actual } of lanes.filter((lane) => lane.pending !== lane.actual)) {
        corrected += (await database.query(correctDrift, [conversationId, actual, pending])).length
      }
      return corrected
    },
  }
}
