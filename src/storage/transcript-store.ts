// Transcript, signals and run log on SQL.
import type { Envelope, Json, RunLog } from '../contract/index.ts'
import type { SignalStore } from '../sessions/signal-store.ts'
import type { TranscriptStore } from '../sessions/transcript-store.ts'
import type { Database } from './database.ts'
import { fireTimers } from './statements/signals.ts'
import { appendRunEvent, readSharedState, transcriptWindow } from './statements/transcript.ts'
import { storableJson } from './storable-json.ts'
import type { TakeOver } from './take-over.ts'

export function createTranscriptStore(database: Database, tenant: string): TranscriptStore {
  return {
    async window(sessionId, { head, tail, around, until }) {
      const params = [sessionId, head, tail, tenant, around, until ?? null]
      const rows = await database.query<{ envelope: Envelope }>(transcriptWindow, params)
      return rows.map((row) => row.envelope)
    },
    async sharedState(sessionId) {
      const [row] = await database.query<{ state: Json | null }>(readSharedState, [sessionId, tenant])
      return row?.state ?? undefined
    },
  }
}

/** Asked at least every poll: its answers say that the database is there. */
export function createSignalStore(database: Database, tenant: string, takeOver?: TakeOver): SignalStore {
  return {
    async fireDue(limit) {
      const [row] = await database.query<{ fired: number; databaseMs: number }>(fireTimers, [limit, tenant])
      if (row !== undefined) takeOver?.seen(row.databaseMs)
      return row?.fired ?? 0
    },
  }
}

export function createRunLog(database: Database): RunLog {
  return {
    async append(runId, key, event) {
      await database.query(appendRunEvent, [runId, key, storableJson(event)])
    },
  }
}
