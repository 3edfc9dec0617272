// The journal's port on SQL.
import type { JournalStore, RemoteStep, StepState } from '../agent/journal-store.ts'
import type { Json } from '../contract/index.ts'
import type { Database } from './database.ts'
import { beginStep, finishStep, remoteSteps } from './statements/journal.ts'

type BeginRow = {
  readonly held: number
  readonly begun: number
  readonly state: string | null
  readonly result: Json
  readonly error: string | null
  readonly keyTurn: string | null
  readonly stoppedBy: string | null
}

export function createJournalStore(database: Database, { holder }: { readonly holder: string }): JournalStore {
  return {
    async begin(at, { isIdempotent }) {
      const fence = [at.conversationId, holder, at.epoch, at.turnId]
      const rows = await database.query<BeginRow>(beginStep, [
        ...fence,
        at.parentTurn,
        at.step,
        at.argsHash,
        isIdempotent,
        at.isNameOnly,
      ])
      return stepState(rows[0], isIdempotent)
    },
    async finish(at, end) {
      const result = end.state === 'finished' ? JSON.stringify(end.result) : null
      const error = end.state === 'finished' ? null : end.error
      const fence = [at.conversationId, holder, at.epoch, at.turnId]
      const [row] = await database.query<{ ended: number }>(finishStep, [...fence, at.step, end.state, result, error])
      return (row?.ended ?? 0) > 0
    },
    remoteSteps: (turnId, parentTurn) => database.query<RemoteStep>(remoteSteps, [turnId, parentTurn]),
  }
}

function stepState(row: BeginRow | undefined, isIdempotent: boolean): StepState {
  if (row === undefined || row.held === 0) return { kind: 'lease_lost' }
  if (row.begun > 0) return row.keyTurn === null ? { kind: 'run' } : { kind: 'run', keyTurn: row.keyTurn }
  switch (row.state) {
    case 'finished':
      return { kind: 'finished', result: row.result }
    case 'failed':
      return { kind: 'failed', error: row.error ?? 'failed' }
    case 'started':
      // It would have run again, had nobody stopped the run.
      return row.stoppedBy !== null && isIdempotent ? { kind: 'stopped', by: row.stoppedBy } : { kind: 'unknown' }
    case null:
      return row.stoppedBy === null ? { kind: 'unknown' } : { kind: 'stopped', by: row.stoppedBy }
    default:
      return { kind: 'unknown' }
  }
}
