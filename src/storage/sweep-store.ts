// Retention and drift on SQL.
import type { SweepStore } from '../inbound/retention.ts'
import type { Database } from './database.ts'
import { sweepPairings } from './pairing-store.ts'
import { sweepForgotten } from './statements/forget-traces.ts'
import {
  correctDrift,
  findDrift,
  forgetAttachments,
  forgetAudit,
  forgetCalls,
  forgetChains,
  forgetContent,
  forgetIdleLanes,
  forgetLimits,
  forgetNotes,
  forgetOverheard,
  forgetPairings,
  forgetReceipts,
  forgetReplyWindows,
  forgetSignals,
  forgetTasks,
  forgetThreadAgents,
  forgetTimers,
  forgetTombstones,
  forgetTranscripts,
  forgetTurns,
} from './statements/sweep.ts'
import { endUnkeptSessions } from './statements/unkept-sessions.ts'
import { forgetUsedTokens } from './statements/used-tokens.ts'
import { foldTallies } from './statements/vitals.ts'

/** More than an hour's ends at a busy gateway; what is left waits for the next round. */
const changesPerFold = 200_000

/** Longer than any chain of calls goes on; a root is not used again. */
const chainDays = 2

/** A session may be long: few at a time, and the rest in the next minute. */
const sessionsPerRound = 20
const maxRounds = 50
const talkPerRound = 2_000

/** What is promised to be gone goes at once, however much a busy hour left. */
async function forgetTalk(database: Database, tenant: string): Promise<number> {
  let swept = 0
  for (let round = 0; round < maxRounds; round += 1) {
    const rows = await database.query(forgetOverheard, [talkPerRound, tenant])
    swept += rows.length
    if (rows.length < talkPerRound) break
  }
  return swept
}

type Drift = { readonly conversationId: string; readonly pending: number; readonly actual: number }

export function createSweepStore(database: Database, tenant: string): SweepStore {
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
    async sweep({ contentDays, receiptDays, auditDays, batch }) {
      let swept = 0
      for (const each of [forgetContent, forgetTranscripts, forgetAttachments])
        swept += (await database.query(each, [contentDays, batch, tenant])).length
      for (const each of [
        forgetReceipts,
        forgetCalls,
        forgetTurns,
        forgetTombstones,
        forgetTimers,
        forgetSignals,
        forgetPairings,
        forgetTasks,
        forgetThreadAgents,
      ]) {
        swept += (await database.query(each, [receiptDays, batch, tenant])).length
      }
      swept += (await database.query(forgetAudit, [auditDays, batch, tenant])).length
      swept += await forgetTalk(database, tenant)
      for (const each of [forgetLimits, forgetIdleLanes, forgetReplyWindows, forgetUsedTokens, forgetNotes])
        swept += (await database.query(each, [batch, tenant])).length
      swept += (await database.query(forgetChains, [chainDays, batch, tenant])).length
      swept += (await database.query(sweepForgotten, [batch, tenant])).length
      await database.query(foldTallies, [changesPerFold])
      return swept
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
