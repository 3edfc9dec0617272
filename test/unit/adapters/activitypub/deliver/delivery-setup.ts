// What it takes to deliver in tests: stores in memory, keys, a clock that is moved by hand, and a fetch that may go to this machine.

import { postOperations } from '../../../../../adapters/activitypub/admin/posts.ts'
import { type DeliverDeps, deliverActivityPub } from '../../../../../adapters/activitypub/deliver/deliver-activity.ts'
import { createRecipientExpander } from '../../../../../adapters/activitypub/deliver/expand-recipients.ts'
import { createDocumentUrls } from '../../../../../adapters/activitypub/documents/urls.ts'
import type { ActivityPubCall, InboxCall } from '../../../../../adapters/activitypub/wire/delivery.ts'
import type { Attempt, DeliveryResult, RenderedCall } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createPinnedFetch } from '../../../../../src/node/guarded-fetch.ts'
import { createMemoryRecords, type MemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { memoryNotes } from '../../../../doubles/memory-ttl-store.ts'
import { type Outcome, operated } from '../admin/run-operation.ts'
import type { TestKeys } from '../own-keys.ts'
import { origin } from '../render/reply-setup.ts'

export type DeliveryScene = {
  readonly clock: { at: number }
  readonly records: MemoryRecords
  readonly notes: ReturnType<typeof memoryNotes>
  expand(calls: readonly RenderedCall[]): Promise<readonly RenderedCall[]>
  deliver(call: ActivityPubCall, attempt?: Partial<Attempt>): Promise<DeliveryResult>
  /** Something an operator asks about posts; what it changes is changed. */
  operate(name: string, input: JsonObject): Promise<Outcome>
  /** The same stores, another process. */
  restart(): DeliveryScene
}

export const startedAt = Date.parse('2026-03-01T10:00:00.000Z')

export function deliveryScene(
  keys: TestKeys,
  origins: readonly string[],
  changes: Partial<DeliverDeps> = {},
  kept: Partial<Pick<DeliveryScene, 'clock' | 'records' | 'notes'>> = {},
): DeliveryScene {
  const clock = kept.clock ?? { at: startedAt }
  const now = () => clock.at
  const stores = { clock, records: kept.records ?? createMemoryRecords(), notes: kept.notes ?? memoryNotes(now) }
  const { records } = stores
  let ids = 0
  const guardedFetch = createPinnedFetch({ isPublic: (address) => origins.length > 0 && address === '127.0.0.1' })
  const deliver = deliverActivityPub({
    ttlStore: stores.notes,
    guardedFetch,
    origins,
    origin,
    now,
    ...stores,
    ownKeysOf: async () => keys,
    userAgent: 'Parley test',
    timeoutMs: 4000,
    ...changes,
  })
  const agents = () => [{ slug: 'demo', label: 'Demo', description: '', skills: [] }]
  const settings = { follow: 'accept', isDiscoverable: false, isIndexable: false, retired: [] } as const
  const posts = { records, agents, settings, places: createDocumentUrls(changes.origin ?? origin), limit: 500 }
  return {
    ...stores,
    expand: createRecipientExpander({ origin, records, now, newId: () => `id-${ids++}` }),
    deliver: (call, attempt = {}) => deliver(call, attemptOf(attempt)),
    operate: (name, input) => operated(postOperations(posts), records, { name, input, at: clock.at }),
    restart: () => deliveryScene(keys, origins, changes, stores),
  }
}

function attemptOf(changes: Partial<Attempt>): Attempt {
  return {
    outboxId: 'outbox-1',
    runId: 'run-1',
    number: 1,
    clientId: 'turn-1:0',
    isMaybeRepeat: false,
    signal: AbortSignal.timeout(10_000),
    ...changes,
  }
}

/** Any activity, to this inbox. */
export function plainCall(inbox: string, activity: JsonObject = {}): InboxCall {
  return {
    op: 'deliver',
    agent: 'demo',
    inbox,
    is_shared: false,
    activity: { id: `${origin}/ap/demo#accepts/1`, type: 'Accept', actor: `${origin}/ap/demo`, ...activity },
  }
}
