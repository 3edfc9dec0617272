// A run's log while it is written: kept back for a tenth of a second, so that a stream of words is a few rows and a fast run
// costs no statement of its own. Only what is committed is ever shown to a client.
import { toJson } from '../agent/fields.ts'
import type { Fields, JsonObject } from '../contract/index.ts'
import type { AppendOutcome } from '../db/runs.ts'
import type { NewRunEvent } from '../db/turn-rows.ts'

export type RunRecorder = {
  readonly emit: (type: string, metadata: Fields) => void
  readonly show: (delta: string) => void
  /** What is not stored yet, for the commit that ends the turn. Nothing is stored by itself after this. */
  readonly rest: () => Promise<readonly NewRunEvent[]>
}

export type RunRecorderDeps = {
  /** Tells one try of the run from every other; a waited-out outage is another try of the same attempt. */
  readonly tryId: number
  readonly isFirstTry: boolean
  readonly append: (events: readonly NewRunEvent[]) => Promise<AppendOutcome>
  readonly onStored: (outcome: AppendOutcome) => void
}

const flushMs = 100
const maxEventBytes = 64 * 1024
/** Longer runs of words are cut into several events. */
const maxDeltaLength = 16_000
/** Per try; what a run says beyond this is dropped. */
const maxEvents = 2_000

export function createRunRecorder({ tryId, isFirstTry, append, onStored }: RunRecorderDeps): RunRecorder {
  let waiting: NewRunEvent[] = []
  let words = ''
  let count = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let storing: Promise<void> | undefined
  let isOver = false

  const addRunEvent = (type: string, metadata: Fields): void => {
    if (count > maxEvents) return
    count += 1
    const event =
      count > maxEvents ? { type: 'truncated', metadata: { max_events: maxEvents } } : limitEventSize(type, metadata)
    waiting.push({ key: `${tryId}:${count}`, event })
  }
  const flushTextDelta = (): void => {
    if (words !== '') addRunEvent('text_delta', { delta: words })
    words = ''
  }
  const storeRunEvents = async (): Promise<void> => {
    flushTextDelta()
    const events = waiting
    waiting = []
    try {
      const outcome = await append(events)
      // Another process has the lane: it writes the log now.
      if (!outcome.isHeld) isOver = true
      onStored(outcome)
    } catch {
      // The same keys again change nothing, so whatever became of them, they may go with the next ones.
      waiting = [...events, ...waiting]
    }
  }
  const armFlushTimer = (): void => {
    if (isOver || timer !== undefined || storing !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      storing = storeRunEvents().finally(() => {
        storing = undefined
        if (waiting.length > 0 || words !== '') armFlushTimer()
      })
    }, flushMs)
  }
  // Watching clients replace what an earlier try showed.
  if (!isFirstTry) addRunEvent('reset', {})
  return {
    emit(type, metadata) {
      flushTextDelta()
      addRunEvent(type, metadata)
      armFlushTimer()
    },
    show(delta) {
      words += delta
      if (words.length >= maxDeltaLength) flushTextDelta()
      armFlushTimer()
    },
    async rest() {
      isOver = true
      if (timer !== undefined) clearTimeout(timer)
      await storing
      flushTextDelta()
      return waiting
    },
  }
}

/** Results as tools gave them are for observers in the process; a log holds what the transcript would. */
function limitEventSize(type: string, { original_result: _full, ...metadata }: Fields): JsonObject {
  // A map in, a map out.
  const event = { type, metadata: (toJson(metadata) ?? {}) as JsonObject }
  const bytes = JSON.stringify(event).length
  return bytes <= maxEventBytes ? event : { type, metadata: { truncated: true, bytes } }
}
