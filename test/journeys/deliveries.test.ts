// Delivery through the real gateway: order, retries, unknown outcomes by class, limits, dead letters.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import {
  dropDelivery,
  getDelivery,
  listDeliveries,
  listMessageCountsByConnection,
  retryDelivery,
} from '../../src/db/receipts.ts'
import type { Fault } from '../../src/testing/scripted-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const calls = nameStatement('test_calls', 'select state, reason, purpose, attempt from outbox order by seq')

const pass: Fault = { kind: 'delay', ms: 0 }
const answering = (status: number, retryAfterSeconds?: number): Fault => ({
  kind: 'answer',
  status,
  body: '{}',
  ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
})

describeOnDatabase('a delivery', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  type Config = Parameters<typeof createTestGateway>[1]
  const start = (changes: Config & { settings?: object } = {}) => {
    const { settings = {}, ...config } = changes
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run: (message) => `re: ${textOf(message.parts)}` })],
      connections: loopbackConnections(vendor.origin, { settings }),
      ...config,
    })
  }
  const fate = async (id: string) => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    const row = rows.find((each) => each.id === id)
    return row?.reason == null ? row?.state : `${row.state}(${row.reason})`
  }
  const rows = () =>
    database().query<{ state: string; reason: string | null; purpose: string; attempt: number }>(calls, [])
  const texts = () => vendor.messages.map((message) => message.text)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    expect(vendor.unexpected).toEqual([])
    await vendor.close()
  })

  test('goes out in parts, in order, and only the failed part is tried again', async () => {
    start({ settings: { maxTextLength: 20 } })
    vendor.failNext('send', pass, answering(429, 0))
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'the quick brown fox jumps over the lazy dog' })
    await settleUntil(gateway, async () => (await fate('m1')) === 'answered')
    expect(texts().join(' ')).toBe('re: the quick brown fox jumps over the lazy dog')
    expect((await rows()).map((row) => row.attempt)).toEqual([1, 2, 1])
  })

  test('waits as long as the vendor says, and holds back no other conversation', async () => {
    start()
    vendor.failNext('send', answering(429, 60))
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', conversation: 'c1' })
    await gateway.settle()
    await gateway.deliver({ id: 'm2', from: 'bob', text: 'two', conversation: 'c2' })
    await gateway.deliver({ id: 'm3', from: 'ada', text: 'three', conversation: 'c1' })
    await gateway.settle()
    expect(texts()).toEqual(['re: two'])
    expect(await fate('m1')).toBe('in_turn')
  })

  test('refused for good: the message is dead, later parts are cancelled, one notice tells', async () => {
    start({ settings: { maxTextLength: 20 } })
    vendor.failNext('send', pass, answering(403))
    await gateway.deliver({
      id: 'm1',
      from: 'ada',
      text: 'the quick brown fox jumps over the lazy dog again and again',
    })
    await settleUntil(gateway, async () => (await rows()).every((row) => row.state !== 'queued'))
    expect(await fate('m1')).toBe('dead(delivery_refused)')
    expect((await rows()).map((row) => `${row.purpose} ${row.state}`)).toEqual([
      'reply delivered',
      'reply refused',
      'reply cancelled',
      'reply cancelled',
      'notice delivered',
    ])
  })

  test('gives up by time, and says so in the books', async () => {
    start({ sends: { giveUpAfterMs: 0 } })
    vendor.failAlways('send', answering(429, 0))
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await settleUntil(gateway, async () => (await fate('m1')) === 'dead(delivery_dead)')
    expect((await rows())[0]?.reason).toBe('gave_up:rate_limited')
  })

  describe('an answer that got lost after the vendor had applied the call', () => {
    const lost = { kind: 'drop', when: 'after' } as const
    test.each(['loopback-client-id', 'loopback-lookup', 'loopback-edit'])(
      '%s: arrives once and is known to',
      async (connection) => {
        start()
        vendor.failNext(connection === 'loopback-edit' ? 'edit' : 'send', lost)
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, connection)
        await settleUntil(gateway, async () => (await fate('m1')) === 'answered')
        expect(texts()).toEqual(['re: one'])
      },
    )

    test('loopback-none: is not repeated but shown, and can be sent again by hand', async () => {
      start()
      vendor.failNext('send', lost)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-none')
      await settleUntil(gateway, async () => (await fate('m1')) === 'dead(delivery_unknown)')
      expect(texts()).toEqual(['re: one'])
      const deliveries = openTenantDb(database(), 'default')
      const [unknown] = await listDeliveries(deliveries, ['unknown'], { limit: 10 })
      expect(await getDelivery(deliveries, unknown?.id ?? '')).toMatchObject({
        state: 'unknown',
        call: { text: 're: one' },
      })
      expect(await retryDelivery(deliveries, unknown?.id ?? '', 'operator:test')).toBe(true)
      await settleUntil(gateway, async () => (await fate('m1')) === 'answered')
      expect(texts()).toEqual(['re: one', 'Possibly sent before: re: one'])
    })

    test('loopback-none with retryUnknown once: is repeated one time, marked as such', async () => {
      start({ sends: { retryUnknown: 'once' } })
      vendor.failNext('send', lost, lost)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-none')
      await settleUntil(gateway, async () => (await fate('m1')) === 'dead(delivery_unknown)')
      expect(texts()).toEqual(['re: one', 'Possibly sent before: re: one'])
    })
  })

  test('an unknown call that never arrived is found absent and sent', async () => {
    start()
    vendor.failNext('send', { kind: 'drop', when: 'before' })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-lookup')
    await settleUntil(gateway, async () => (await fate('m1')) === 'answered')
    expect(texts()).toEqual(['re: one'])
  })

  test('keeps to the rate its channel allows, over all conversations of a connection', async () => {
    start({ settings: { limits: { connection: { count: 2, perMs: 60_000 } } } })
    for (const id of ['m1', 'm2', 'm3', 'm4']) await gateway.deliver({ id, from: 'ada', text: id, conversation: id })
    await gateway.settle()
    expect(texts()).toHaveLength(2)
  })

  test('a dead delivery can be dropped, and then no longer be sent', async () => {
    start()
    vendor.failNext('send', answering(403))
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await gateway.settle()
    const deliveries = openTenantDb(database(), 'default')
    const [dead] = await listDeliveries(deliveries, ['refused'], { limit: 10 })
    expect(await dropDelivery(deliveries, dead?.id ?? '', 'operator:test')).toBe(true)
    expect(await dropDelivery(deliveries, dead?.id ?? '', 'operator:test')).toBe(false)
    expect(await listDeliveries(deliveries, ['refused'], { limit: 10 })).toEqual([])
  })

  test('the books balance, and agree with what the vendor saw', async () => {
    start()
    vendor.failNext('send', answering(403))
    for (const id of ['m1', 'm2', 'm3']) await gateway.deliver({ id, from: 'ada', text: id, conversation: id })
    await gateway.settle()
    const [line] = await listMessageCountsByConnection(gateway.deps.db)
    expect(line).toMatchObject({ received: 3, answered: 2, merged: 0, refused: 0, dead: 1, inFlight: 0 })
    expect(vendor.messages).toHaveLength(2)
  })
})
