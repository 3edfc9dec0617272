// A run's events as a stream: what is stored first, then what is stored while one listens, from any replica. It only reads:
// a listener that goes away stops the reading, and can go on at another replica from the last number it saw.

import type { Run, RunEvent } from '../db/runs.ts'
import type { Gateway } from '../gateway.ts'

export type RunEventStream = {
  readonly body: ReadableStream<Uint8Array>
  /** Resolves when the client has left, or there is nothing more to hear. */
  readonly closed: Promise<void>
}

const batchSize = 200
/** Events stored by this process wake at once; those of another are found by asking. */
const pollMs = 500
const heartbeatMs = 15_000

type Runs = Pick<Gateway, 'runs' | 'waitForEvents'>

/** Paused runs are over: what comes of them is a run of its own. */
export function isRunOver({ status }: Pick<Run, 'status'>): boolean {
  return status !== 'running'
}

export function streamRunEvents(gateway: Runs, run: Run, after: number): RunEventStream {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const encoder = new TextEncoder()
  let seen = after
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    // Asked for when the listener has read what it was given: a slow one is not written ahead of.
    async pull(controller) {
      try {
        const { text, isLast, lastSeq } = await nextEventFrames(gateway, run.id, seen, () => isCancelled)
        seen = lastSeq
        if (isCancelled) return
        controller.enqueue(encoder.encode(text))
        if (!isLast) return
        controller.close()
        close()
      } catch (error) {
        close()
        throw error
      }
    },
    cancel() {
      isCancelled = true
      close()
    },
  })
  return { body, closed }
}

type Frames = { readonly text: string; readonly lastSeq: number; readonly isLast: boolean }

async function nextEventFrames(gateway: Runs, id: string, after: number, isGone: () => boolean): Promise<Frames> {
  for (let waitedMs = 0; waitedMs < heartbeatMs && !isGone(); waitedMs += pollMs) {
    // In this order: what ended the run was stored with its last events.
    const [run] = await gateway.runs.find(id)
    const events = await gateway.runs.events(id, after, batchSize)
    const lastSeq = events.at(-1)?.seq ?? after
    const isLast = (run === undefined || isRunOver(run)) && events.length < batchSize
    const end = isLast ? runEndFrame(run?.status ?? 'forgotten') : ''
    if (events.length > 0 || isLast) return { text: events.map(runEventFrame).join('') + end, lastSeq, isLast }
    await gateway.waitForEvents(pollMs)
  }
  return { text: ': still running\n\n', lastSeq: after, isLast: false }
}

/** JSON has no line breaks of its own, so one data line holds it. */
function runEventFrame({ seq, attempt, createdAt, event }: RunEvent): string {
  const name = typeof event['type'] === 'string' ? event['type'].replace(/[^\w.-]/g, '_') : 'event'
  return `id: ${seq}\nevent: ${name}\ndata: ${JSON.stringify({ seq, attempt, createdAt, ...event })}\n\n`
}

function runEndFrame(status: string): string {
  return `event: end\ndata: ${JSON.stringify({ status })}\n\n`
}
