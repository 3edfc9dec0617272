// Run control: a stop, or messages that the agent's busy policy lets in, reach a run while it goes on.
import { runStopped, type StopCause, stopCause } from '../agents/loop/interrupts.ts'
import type { Envelope, GatewayError } from '../contract/index.ts'
import { interruptedBy } from '../db/runs.ts'
import type { GatewayDeps } from './deps.ts'
import { createReceipts } from './notices.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { reportProgress } from './run-end.ts'
import { createRunRecorder, type RunRecorder } from './run-log.ts'
import { hasOwnersMessage, steer } from './steer.ts'

export type RunControl = {
  readonly stop: AbortSignal
  readonly recorder: RunRecorder
  /** Stops it here, once the database says that it was stopped. */
  readonly onStopped: (by: string) => GatewayError
  readonly cause: () => StopCause | undefined
  /** `fetchFiles`: their files are fetched before the agent hears of them. */
  readonly hear: (fetchFiles: Parameters<typeof steer>[3]) => Promise<Envelope | undefined>
  readonly end: () => void
}

/** A turn that the claimed lane did not have yet has just been opened. */
export function isFirstTry({ lane }: ReadyTurn): boolean {
  return lane.openTurn === null
}

export function openRunControl(deps: GatewayDeps, ready: ReadyTurn): RunControl {
  const { lane, turn } = ready
  const busy = deps.agents.get(lane.agent)?.busy ?? 'queue'
  let questions = 0
  const stopping = new AbortController()
  const onStopped = (by: string): GatewayError => {
    const error = runStopped(by === interruptedBy ? 'interrupt' : 'stop')
    stopping.abort(error)
    return error
  }
  const recorder = createRunRecorder({
    tryId: lane.epoch,
    isFirstTry: isFirstTry(ready),
    append: (events) => deps.runs.append(lane, turn.id, turn.attempt, events),
    onStored({ stoppedBy }) {
      deps.wakeups.events.notify()
      reportProgress(deps, ready)
      if (stoppedBy !== null) onStopped(stoppedBy)
    },
  })
  /** A message of the owner is worth more than the answer to their last one; another person's waits. */
  const giveWay = async (): Promise<void> => {
    if (stopping.signal.aborted || !(await hasOwnersMessage(deps, ready))) return
    const outcome = await deps.runs.cancel(turn.id, interruptedBy)
    if (outcome?.kind === 'stopping') onStopped(interruptedBy)
  }
  const isMarking = deps.agents.get(lane.agent)?.receipts !== false
  const acknowledge =
    busy === 'interrupt' ? undefined : createReceipts(deps, ready, { busy, isMarking, emit: recorder.emit })
  const end = deps.runWatch.watch(turn.id, ({ stoppedBy, hasWaiting }) => {
    if (stoppedBy !== null) onStopped(stoppedBy)
    else if (hasWaiting && busy === 'interrupt') giveWay().catch(() => {})
    else if (hasWaiting) acknowledge?.()
  })
  return {
    stop: stopping.signal,
    recorder,
    onStopped,
    cause: () => stopCause(stopping.signal),
    async hear(fetchFiles) {
      questions += 1
      if (busy === 'interrupt') await giveWay()
      // What joined an earlier try is heard again, also when its agent takes nothing in any more.
      return busy === 'steer' || ready.joined.size > 0 ? steer(deps, ready, questions, fetchFiles) : undefined
    },
    end,
  }
}
