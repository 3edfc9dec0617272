// A loopback platform that is asked instead of calling: what was not acknowledged comes again, from where the cursor stands.
import type { PolledBatch } from '../../../src/contract/adapter.ts'
import type { Adapter, ChannelDefinition, TransportAnswer } from '../../../src/contract/index.ts'
import { loopbackArrival } from './fixtures.ts'
import { type LoopbackEvent, loopbackClientId } from './index.ts'

export type PulledPlatform = {
  readonly definition: ChannelDefinition
  readonly say: (event: LoopbackEvent) => void
  /** Cursors as they were asked from. */
  readonly askedFrom: (string | undefined)[]
  readonly acknowledged: { readonly cursor: string; readonly answers: readonly TransportAnswer[] }[]
  /** How many pull at this moment, and how many ever did at once. */
  readonly pulling: { now: number; most: number }
}

export function createPulledPlatform(batchSize: number): PulledPlatform {
  const events: LoopbackEvent[] = []
  const platform = { askedFrom: [], acknowledged: [], pulling: { now: 0, most: 0 } } as Pick<
    PulledPlatform,
    'askedFrom' | 'acknowledged' | 'pulling'
  >
  async function* poll(cursor: string | undefined, signal: AbortSignal): AsyncGenerator<PolledBatch> {
    const { askedFrom, acknowledged, pulling } = platform
    askedFrom.push(cursor)
    pulling.now += 1
    pulling.most = Math.max(pulling.most, pulling.now)
    try {
      for (let at = Number(cursor ?? 0); !signal.aborted; ) {
        const batch = events.slice(at, at + batchSize)
        if (batch.length === 0) {
          await new Promise((resolve) => setTimeout(resolve, 5))
          continue
        }
        at += batch.length
        const next = String(at)
        yield {
          requests: await Promise.all(batch.map((event) => loopbackArrival(event))),
          cursor: next,
          acknowledge: async (answers) => void acknowledged.push({ cursor: next, answers }),
        }
      }
    } finally {
      pulling.now -= 1
    }
  }
  const create: ChannelDefinition['create'] = (settings, deps): Adapter => {
    return { ...loopbackClientId.create(settings, deps), ingress: { poll } }
  }
  return { ...platform, definition: { ...loopbackClientId, create }, say: (event) => void events.push(event) }
}
