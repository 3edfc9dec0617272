// A whole gateway in this process, on a given database, with real HTTP to stand-ins for the vendors.

import { type Config, type Environment, loadConfig, type ParleyConfig } from '../../src/config.ts'
import type { ChannelDefinition, ConnectionConfig } from '../../src/contract/index.ts'
import type { ReceiveResult } from '../../src/contract/results.ts'
import type { Database } from '../../src/db/client.ts'
import { type Assembled, assembleGateway, type Runtime } from '../../src/gateway/assemble.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import { createFencedFetch, loadFetchDispatcher } from '../../src/node/runtime.ts'
import { loopbackArrival, loopbackSecret } from './loopback/fixtures.ts'
import { type LoopbackEvent, loopbackClientId, loopbackEdit, loopbackLookup, loopbackNone } from './loopback/index.ts'
import { memoryBlobs } from './memory-blobs.ts'

export type LogLine = { readonly level: string; readonly event: string; readonly facts: JsonObject }

export type TestGateway = Assembled & {
  readonly config: Config
  readonly logged: readonly LogLine[]
  /** Delivers a signed event on a loopback connection, as its platform would. */
  readonly deliver: (event: LoopbackEvent, connection?: string) => Promise<ReceiveResult>
  /** Works until nothing is due any more. */
  readonly settle: () => Promise<void>
}

export const loopbackChannels = [loopbackClientId, loopbackLookup, loopbackEdit, loopbackNone]

/** One connection per class of idempotent sending, named after it, public unless the test says otherwise. */
export function loopbackConnections(
  vendorUrl: string,
  changes: Partial<ConnectionConfig> & { settings?: object } = {},
): readonly ConnectionConfig[] {
  return loopbackChannels.map(({ channel }) => ({
    channel,
    id: channel,
    ...changes,
    settings: { secret: loopbackSecret, vendorUrl, callTimeoutMs: 5_000, ...changes.settings },
  }))
}

// The lease is the product's own: a shorter one is lost whenever the machine is busy for a second.
const quickTurns = { pollMs: 50, retryFirstMs: 1, maxFailures: 3 } as const
const quickSends = {
  backoff: { firstMs: 1, maxMs: 20 },
  unknownPauseMs: 1,
  reconcileAfterMs: 20,
} as const

await loadFetchDispatcher()

/** As on Node. */
const fenceFetch: NonNullable<Runtime['fenceFetch']> = (mayLeave, onSend) =>
  createFencedFetch(mayLeave, () => performance.now(), onSend)

export function createTestGateway(
  database: Database,
  config: ParleyConfig,
  changes: Partial<Runtime> = {},
  channels: readonly ChannelDefinition[] = loopbackChannels,
  env: Environment = {},
): TestGateway {
  const logged: LogLine[] = []
  const write =
    (level: string) =>
    (event: string, facts: JsonObject = {}) =>
      void logged.push({ level, event, facts })
  const file = { ...config, turns: { ...quickTurns, ...config.turns }, sends: { ...quickSends, ...config.sends } }
  const loaded = loadConfig(env, file, channels)
  const assembled = assembleGateway(loaded, database, {
    fetch,
    now: Date.now,
    monotonicMs: () => performance.now(),
    random: () => 0.5,
    files: memoryBlobs(),
    // Handles of files are signed with a key that is sealed.
    ...(loaded.sealKeys.length === 0 ? { sealKeys: async () => [new Uint8Array(32).fill(7)] } : {}),
    log: { info: write('info'), warn: write('warn'), error: write('error') },
    ...(changes.fetch === undefined ? { fenceFetch } : {}),
    ...changes,
  })
  return {
    ...assembled,
    config: loaded,
    logged,
    async deliver(event, connection = 'loopback-client-id') {
      const at = assembled.gateway.connections.find((each) => each.connection.id === connection)
      if (at === undefined) throw new Error(`no connection ${connection}`)
      return assembled.gateway.receive(at, await loopbackArrival(event))
    },
    async settle() {
      await assembled.gateway.drain({ deadline: new AbortController().signal, untilIdle: true })
    },
  }
}

/** Waits, bounded, until `isTrue` holds, letting the gateway work in between. */
export async function settleUntil(
  gateway: TestGateway,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> {
  const until = Date.now() + timeoutMs
  for (;;) {
    await gateway.settle()
    if (await isTrue()) return
    if (Date.now() > until) throw new Error('did not become true in time')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
