// The loopback channels against their vendor: each class of idempotent sending does what its name promises.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Adapter, ChannelDefinition, DeliveryResult } from '../../../src/contract/index.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { createAttempt } from '../../../src/testing/adapter-contract-outbound.ts'
import { loopbackArrival, loopbackSecret } from '../../doubles/loopback/fixtures.ts'
import {
  type LoopbackEvent,
  loopbackClientId,
  loopbackEdit,
  loopbackLookup,
  loopbackNone,
} from '../../doubles/loopback/index.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'

const connection = { tenant: 'default', id: 'loop', agent: 'demo', domain: 'parley.localhost' }
const call: JsonObject = { conversation: 'c1', text: 'hello' }

let vendor: VendorStub
beforeEach(async () => {
  vendor = await startVendorStub()
})
afterEach(async () => {
  expect(vendor.unexpected).toEqual([])
  await vendor.close()
})

function adapterOf(definition: ChannelDefinition): Adapter {
  const settings = { secret: loopbackSecret, vendorUrl: vendor.origin }
  return definition.create(settings, { connection, fetch, now: Date.now, hmac: createWebHmac() })
}

describe('a send whose answer is lost, repeated', () => {
  test.each<[string, ChannelDefinition, 'send' | 'edit', number]>([
    ['once with a client id', loopbackClientId, 'send', 1],
    ['once as an edit', loopbackEdit, 'edit', 1],
    ['twice after a lookup nobody made', loopbackLookup, 'send', 2],
    ['twice without anything', loopbackNone, 'send', 2],
  ])('arrives %s', async (_name, definition, route, arrivals) => {
    const adapter = adapterOf(definition)
    vendor.failNext(route, { kind: 'drop', when: 'after' })
    const outcomes: DeliveryResult[] = []
    for (const number of [1, 2]) outcomes.push(await adapter.deliver(call, createAttempt(number)))
    expect(outcomes).toMatchObject([{ kind: 'unknown' }, { kind: 'delivered' }])
    expect(vendor.messages).toHaveLength(arrivals)
  })
})

test('a lookup tells a send that arrived from one that did not', async () => {
  const adapter = adapterOf(loopbackLookup)
  vendor.failNext('send', { kind: 'drop', when: 'before' }, { kind: 'drop', when: 'after' })
  await adapter.deliver(call, createAttempt(1))
  expect(await adapter.reconcile?.(call, createAttempt(1))).toEqual({ kind: 'absent' })
  await adapter.deliver(call, createAttempt(2))
  expect(await adapter.reconcile?.(call, createAttempt(2))).toEqual({ kind: 'found', vendorId: 'v1' })
})

test('events carry what tests of the core need', async () => {
  const event: LoopbackEvent = {
    id: 'e9',
    from: 'eve',
    text: 'x',
    conversation: 'c9',
    claims: ['c1'],
    replyToken: 'r',
    exclusive: true,
  }
  const reception = await adapterOf(loopbackNone).receive(await loopbackArrival(event), connection)
  expect(reception).toMatchObject({
    events: [
      {
        thread: { candidates: ['c1'], platformVerified: false, newThreadKey: 'c9', replyToken: 'r' },
        isExclusive: true,
      },
    ],
  })
})
