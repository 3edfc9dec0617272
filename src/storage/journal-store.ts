// The journal's port on SQL.
import type { JournalStore, RemoteStep, StepAddress, StepEnd, StepState, TurnPast } from '../agent/journal-store.ts'
import type { Json } from '../contract/index.ts'
import type { Database, Param } from './database.ts'
import { beginStep, finishStep, recordStep, remoteSteps, turnPast } from './statements/journal.ts'

type BeginRow = {
  readonly held: number
  readonly begun: number
  readonly state: string | null
  readonly result: Json
  readonly error: string | null
  readonly stoppedBy: string | null
}

export function createJournalStore(database: Database, { holder }: { readonly holder: string }): JournalStore {
  const fencedStepParams = (at: StepAddress): readonly Param[] => [
    at.conversationId,
    holder,
    at.epoch,
    at.journalTurn,
    at.step,
  ]
  return {
    async begin(at, { isIdempotent, label }) {
      const rows = await database.query<BeginRow>(beginStep, [...fencedStepParams(at), at.turnId, isIdempotent, label])
      return stepState(rows[0], isIdempotent)
    },
    async finish(at, end) {
      const [row] = await database.query<{ ended: number }>(finishStep, [
        ...fencedStepParams(at),
        ...stepEndParams(end),
      ])
      return (row?.ended ?? 0) > 0
    },
    async record(at, end, tookMs) {
      const [row] = await database.query<{ ended: number }>(recordStep, [
        ...fencedStepParams(at),
        ...stepEndParams(end),
        tookMs,
      ])
      return (row?.ended ?? 0) > 0
    },
    async past(turnId) {
      const [row] = await database.query<TurnPast>(turnPast, [turnId])
      return row ?? { journalTurn: turnId, steps: [], view: null, isErased: false }
    },
    remoteSteps: (journalTurn) => database.query<RemoteStep>(remoteSteps, [journalTurn]),
  }
}

function stepEndParams(end: StepEnd): readonly Param[] {
  return end.state === 'finished' ? [end.state, JSON.stringify(end.result), null] : [end.state, null, end.error]
}

function stepState(row: BeginRow | undefined, isIdempotent: boolean): StepState {
  if (row === undefined || row.held === 0) return { kind: 'lease_lost' }
  if (row.begun > 0) return { kind: 'run' }
  if (row.state === 'finished') return { kind: 'finished', result: row.result }
  // It would have run, had the run not been stopped.
  const isOurs = row.state === null || row.state === 'undone' || isIdempotent
  if (row.stoppedBy !== null && isOurs) return { kind: 'stopped', by: row.stoppedBy }
  return { kind: 'unknown', error: row.error }
}
