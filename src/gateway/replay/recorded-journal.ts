// The journal of a replay: what was finished is answered again, and nothing is ever begun.
import type { JournalStore, StepAddress, StepState } from '../../agent/journal-store.ts'
import { GatewayError } from '../../contract/index.ts'
import type { RecordedStep } from './replay-store.ts'

export type StepReport = {
  /** Answered from the journal, in the order they were asked for. */
  readonly replayed: readonly string[]
  /** Not in the journal: today's agent would do this. The replay ends there. */
  readonly wouldRun: readonly string[]
  /** In the journal, and not asked for today. */
  readonly unused: readonly string[]
}

export type RecordedJournal = { readonly journal: JournalStore; readonly report: () => StepReport }

/** `stop` is called with the reason before the step is refused, so that no agent can answer past it. */
export function createRecordedJournal(
  steps: readonly RecordedStep[],
  stop: (reason: GatewayError) => void,
): RecordedJournal {
  const replayed: string[] = []
  const wouldRun: string[] = []
  const journal: JournalStore = {
    async begin(address, { isIdempotent }) {
      const found = recorded(steps, address)
      const isVague = found !== undefined && isUsedTwice(steps, found, address)
      if (found === undefined || (isIdempotent && found.state !== 'finished' && !isVague)) {
        wouldRun.push(address.step)
        const reason = notRecorded(steps, address)
        stop(reason)
        throw reason
      }
      replayed.push(address.step)
      return isVague ? { kind: 'unknown' } : stateOf(found)
    },
    finish: async () => true,
    // A replay tells nobody anything.
    remoteSteps: async () => [],
  }
  const isUnused = ({ step }: RecordedStep): boolean => !replayed.includes(step) && !wouldRun.includes(step)
  return {
    journal,
    report: () => ({ replayed, wouldRun, unused: [...new Set(steps.filter(isUnused).map(({ step }) => step))] }),
  }
}

/** The journal's own rule (begin_step): our step, else what the turns before this one did for the same arguments. */
function recorded(steps: readonly RecordedStep[], at: StepAddress): RecordedStep | undefined {
  return steps
    .filter((each) => each.step === at.step && (each.depth === 0 || each.argsHash === at.argsHash))
    .filter((each) => each.state !== 'undone' && (each.depth === 0 || each.state !== 'failed'))
    .toSorted((one, other) => one.depth - other.depth)[0]
}

/** By an earlier turn, more than once under one name: whose effect it was cannot be told any more. */
function isUsedTwice(steps: readonly RecordedStep[], found: RecordedStep, at: StepAddress): boolean {
  const isTwin = (each: RecordedStep): boolean => each.depth === found.depth && each.step === `${at.step}#2`
  return found.depth > 0 && at.isNameOnly && steps.some(isTwin)
}

function stateOf({ state, result, error }: RecordedStep): StepState {
  switch (state) {
    case 'finished':
      return { kind: 'finished', result }
    case 'failed':
      return { kind: 'failed', error: error ?? 'failed' }
    case 'started':
    case 'undone':
      return { kind: 'unknown' }
  }
}

function notRecorded(steps: readonly RecordedStep[], { step }: StepAddress): GatewayError {
  const name = step.split(':')[0]
  const isKnownByName = steps.some((each) => each.step.split(':')[0] === name)
  const why = isKnownByName ? 'the journal has it with other arguments only' : 'the journal does not have it'
  return new GatewayError('replay_stopped', `[replay] would run: ${step}; ${why}`, { details: { step } })
}
