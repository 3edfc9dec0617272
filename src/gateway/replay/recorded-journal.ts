// The journal of a replay: what was finished is answered again, and nothing is ever begun.

import { createStepLog, type StepLog } from '../../agent/step-log.ts'
import { GatewayError } from '../../contract/index.ts'
import type { JournalStore, RecordedStep } from '../../db/journal.ts'

export type StepReport = {
  /** Answered from the journal, in the order they were asked for. */
  readonly replayed: readonly string[]
  /** Not in the journal: today's agent would do this. The replay ends there. */
  readonly wouldRun: readonly string[]
  /** In the journal, and not asked for today. */
  readonly unused: readonly string[]
}

export type RecordedJournal = {
  readonly journal: JournalStore
  readonly log: StepLog
  readonly report: () => StepReport
}

/** `stop` is called with the reason before the step is refused, so that no agent can answer past it. */
export function createRecordedJournal(
  steps: readonly RecordedStep[],
  stop: (reason: GatewayError) => void,
): RecordedJournal {
  const replayed: string[] = []
  const wouldRun: string[] = []
  const wouldBegin = (step: string): never => {
    wouldRun.push(step)
    const reason = notRecorded(steps, step)
    stop(reason)
    throw reason
  }
  const log: StepLog = {
    ...createStepLog(steps),
    /** Asked for every step that is about to run: what is not there ends the replay, before anything begins. */
    reach(step) {
      const found = steps.find((each) => each.step === step)
      if (found === undefined || found.state === 'undone' || (!found.isEffect && found.state !== 'finished'))
        return wouldBegin(step)
      replayed.push(step)
      return found
    },
  }
  const journal: JournalStore = {
    async begin({ step }, { isIdempotent }) {
      replayed.splice(replayed.indexOf(step), 1)
      if (isIdempotent) return wouldBegin(step)
      replayed.push(step)
      return { kind: 'unknown', error: steps.find((each) => each.step === step)?.error ?? null }
    },
    finish: async () => true,
    record: async () => true,
    past: async (turnId) => ({ journalTurn: turnId, steps: [], view: null, isErased: false }),
    // A replay tells remote agents nothing.
    remoteSteps: async () => [],
  }
  const isUnused = ({ step }: RecordedStep): boolean => !replayed.includes(step) && !wouldRun.includes(step)
  return {
    journal,
    log,
    report: () => ({ replayed, wouldRun, unused: [...new Set(steps.filter(isUnused).map(({ step }) => step))] }),
  }
}

function notRecorded(steps: readonly RecordedStep[], step: string): GatewayError {
  const name = step.split(':')[0]
  const isKnownByName = steps.some((each) => each.step.split(':')[0] === name)
  const why = isKnownByName ? 'the journal has it with other arguments only' : 'the journal does not have it'
  return new GatewayError('replay_stopped', `[replay] would run: ${step}; ${why}`, { details: { step } })
}
