// What the journal remembers across outages, failures and second chances: an effect is made once, and its result is its own.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listEndedMessages, listPastEffectsOfMessage, resubmitMessage } from '../../src/db/receipts.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement(
  'test_step_fates',
  "select message_id as id, state || coalesce('(' || reason || ')', '') as fate from inbox order by seq",
)

describeOnDatabase('a step', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const start = (run: AgentDefinition['run']) => {
    const connections = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), { agents: [defineAgent({ slug: 'demo', run })], connections })
  }
  const deliver = async (...texts: string[]) => {
    for (const text of texts) await gateway.deliver({ id: text, from: 'ada', text })
  }
  const fate = async () => {
    const rows = await database().query<{ id: string; fate: string }>(fates, [])
    return Object.fromEntries(rows.map((row) => [row.id, row.fate]))
  }
  /** A turn ends before its words are delivered. */
  const told = async () => vendor.messages.length > 0 && (await settled())
  const settled = async () => !Object.values(await fate()).some((state) => /queued|in_turn/.test(state))

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('that met an outage runs again when the outage is over', async () => {
    let tries = 0
    start((_message, { step }) =>
      step('model', async () => {
        tries += 1
        if (tries < 6) throw new GatewayError('provider_unavailable', 'the model does not answer', { retryable: true })
        return 'back'
      }),
    )
    await deliver('m1')
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect({ tries, said: vendor.messages[0]?.text, fate: await fate() }).toEqual({
      tries: 6,
      said: 'back',
      fate: { m1: 'answered' },
    })
  })

  test('gives on a replay what it gave when it was made, key for key: what depends on it is the same step', async () => {
    const made: string[] = []
    let tries = 0
    start(async (_message, { step }) => {
      const order = await step('make', async () => ({ zone: 'north', id: 7, lines: [{ price: 3, art: 'lamp' }] }))
      await step('send', async () => made.push(JSON.stringify(order)), { args: order })
      tries += 1
      if (tries === 1) throw new GatewayError('storage_unavailable', 'the database went away', { retryable: true })
      return JSON.stringify(order)
    })
    await deliver('m1')
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect({ tries, made }).toEqual({ tries: 2, made: [vendor.messages[0]?.text] })
  })

  test('that failed by itself is not tried again, and the person is told that it may have happened', async () => {
    let tries = 0
    let runs = 0
    start(async (_message, { step }) => {
      runs += 1
      await step('charge', async () => {
        tries += 1
        throw new Error('declined')
      })
    })
    await deliver('m1')
    await settleUntil(gateway, told)
    expect({ tries, runs, fate: await fate() }).toEqual({
      tries: 1,
      runs: 1,
      fate: { m1: 'dead(tool_outcome_unknown)' },
    })
    expect(vendor.messages[0]?.text).toContain('I cannot tell whether this took effect: charge. The rest was not done.')
  })

  test('that failed before a byte of it was sent is undone, and tried again', async () => {
    const shop = await startShop()
    await shop.close()
    let tries = 0
    start(async (_message, { step }) => {
      tries += 1
      if (tries === 3) await shop.open()
      return step('charge', async ({ fetch }) => (await fetch(shop.url, { method: 'POST', body: 'tea' })).text())
    })
    await deliver('m1')
    await settleUntil(gateway, settled)
    expect({ tries, fate: await fate(), orders: shop.orders }).toEqual({
      tries: 3,
      fate: { m1: 'answered' },
      orders: ['tea'],
    })
    await shop.close()
  })

  test('whose request was cut after it arrived is not made again', async () => {
    const shop = await startShop({ isCutting: true })
    start(async (_message, { step }) =>
      step('charge', async ({ fetch }) => (await fetch(shop.url, { method: 'POST', body: 'tea' })).text()),
    )
    await deliver('m1')
    await settleUntil(gateway, settled)
    expect({ fate: await fate(), orders: shop.orders }).toEqual({
      fate: { m1: 'dead(tool_outcome_unknown)' },
      orders: ['tea'],
    })
    await shop.close()
  })

  test('of a merged turn is made once when its agent fails afterwards, and one apology names it', async () => {
    const effects: string[] = []
    const keys = new Set<string>()
    let tries = 0
    start(async (message, { step }) => {
      tries += 1
      const order = async ({ key }: { key: string }) => {
        keys.add(key)
        return effects.push(textOf(message.parts))
      }
      await step('order', order, { args: textOf(message.parts), label: 'order tea' })
      throw new Error('broken')
    })
    await deliver('one', 'two')
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect({ tries, effects, keys: keys.size }).toEqual({ tries: 3, effects: ['one\ntwo'], keys: 1 })
    expect(await fate()).toEqual({ one: 'dead(agent_failed)', two: 'dead(agent_failed)' })
    expect(vendor.messages).toHaveLength(1)
    expect(vendor.messages[0]?.text).toContain('Done: order tea. The rest was not done.')
  })

  test('by its name alone is told apart by how often it came, in every try', async () => {
    const keys: string[] = []
    let tries = 0
    start(async (_message, { step, members }) => {
      for (const member of members)
        await step('note', async ({ key }) => {
          keys.push(key)
          return textOf(member.parts)
        })
      tries += 1
      if (tries === 1) throw new Error('only the first time')
      return 'ok'
    })
    await deliver('one', 'two')
    await settleUntil(gateway, () => vendor.messages.length > 0)
    expect(keys.map((key) => key.replace(/^[^:]+:/, ''))).toEqual(['note', 'note#2'])
    expect(await fate()).toEqual({ one: 'merged', two: 'answered' })
  })

  test('that only looks lets a merged turn be split, and is made anew by each of its messages', async () => {
    const looks: string[] = []
    start(async (message, { step, members }) => {
      await step('look', async () => looks.push(textOf(message.parts)), { effect: false })
      if (members.length > 1) throw new Error('only alone')
      return 'ok'
    })
    await deliver('one', 'two')
    await settleUntil(gateway, () => vendor.messages.length === 2)
    expect(looks).toEqual(['one\ntwo', 'one', 'two'])
    expect(await fate()).toEqual({ one: 'answered', two: 'answered' })
  })

  test('keeps its key and its result when its dead turn is tried again as a whole', async () => {
    let isBroken = true
    let charges = 0
    const keys: string[] = []
    start(async (_message, { step, members }) => {
      const charged = await step('charge', async () => (charges += 1))
      await step(
        'ship',
        async ({ key }) => {
          keys.push(key)
          if (isBroken) throw new Error('the warehouse is closed')
          return 'shipped'
        },
        { idempotent: true },
      )
      return `charged ${charged} time for ${members.length}`
    })
    await deliver('one', 'two')
    await settleUntil(gateway, settled)
    expect(await fate()).toEqual({ one: 'dead(agent_failed)', two: 'dead(agent_failed)' })
    isBroken = false
    const [dead] = await listEndedMessages(gateway.deps.db, 'dead', { limit: 10 })
    expect(await resubmitMessage(gateway.deps.db, dead?.id ?? '', 'operator:test')).toBe(true)
    await settleUntil(gateway, () => vendor.messages.length === 2)
    expect(vendor.messages.at(-1)?.text).toBe('charged 1 time for 2')
    expect(charges).toBe(1)
    expect(new Set(keys).size).toBe(1)
    expect(await fate()).toEqual({ one: 'merged', two: 'answered' })
  })

  test('that is unknown stays unknown when its turn is tried again, and is made again anew only', async () => {
    let charges = 0
    start(async (_message, { step }) => {
      await step('charge', async () => {
        charges += 1
        if (charges === 1) throw new Error('cut')
        return charges
      })
      return 'charged'
    })
    await deliver('m1')
    await settleUntil(gateway, settled)
    const [dead] = await listEndedMessages(gateway.deps.db, 'dead', { limit: 10 })
    const id = dead?.id ?? ''
    expect(await listPastEffectsOfMessage(gateway.deps.db, id)).toEqual([{ label: 'charge', state: 'failed' }])
    expect(await resubmitMessage(gateway.deps.db, id, 'operator:test')).toBe(true)
    await settleUntil(gateway, settled)
    expect({ charges, fate: await fate() }).toEqual({ charges: 1, fate: { m1: 'dead(tool_outcome_unknown)' } })
    expect(await resubmitMessage(gateway.deps.db, id, 'operator:test', { isAnew: true })).toBe(true)
    await settleUntil(gateway, settled)
    expect({ charges, fate: await fate() }).toEqual({ charges: 2, fate: { m1: 'answered' } })
  })

  test('is not made again for the others when one message of its dead turn was run anew', async () => {
    const effects: string[] = []
    let isBroken = true
    start(async (message, { step }) => {
      const text = textOf(message.parts)
      await step('order', async () => effects.push(text), { args: text })
      if (isBroken) throw new Error('broken')
      return `ordered ${text}`
    })
    await deliver('one', 'two')
    await settleUntil(gateway, settled)
    isBroken = false
    const dead = await listEndedMessages(gateway.deps.db, 'dead', { limit: 10 })
    const [one, two] = ['one', 'two'].map((text) => dead.find(({ messageId }) => messageId === text)?.id ?? '')
    expect(await resubmitMessage(gateway.deps.db, one ?? '', 'operator:test', { isAnew: true })).toBe(true)
    await settleUntil(gateway, settled)
    // What was done for both is done; alone the other one would be another order.
    expect(await resubmitMessage(gateway.deps.db, two ?? '', 'operator:test')).toBe(false)
    await settleUntil(gateway, settled)
    expect(effects).toEqual(['one\ntwo', 'one'])
    expect(await resubmitMessage(gateway.deps.db, two ?? '', 'operator:test', { isAnew: true })).toBe(true)
    await settleUntil(gateway, settled)
    expect(effects).toEqual(['one\ntwo', 'one', 'two'])
    expect(await fate()).toEqual({ one: 'answered', two: 'answered' })
  })

  test('of a branch that nobody waits for any more ends before its turn does, and none begins after it', async () => {
    const effects: string[] = []
    const { promise: isCut, resolve: cut } = Promise.withResolvers<void>()
    start(async (_message, { step }) => {
      const pack = async () => {
        await step('pack', async () => {
          cut()
          await new Promise((resolve) => setTimeout(resolve, 50))
          return effects.push('pack')
        })
        await step('seal', async () => effects.push('seal'))
      }
      const bill = () =>
        step('bill', async () => {
          await isCut
          throw new Error('cut')
        })
      await Promise.all([pack(), bill()])
      return 'done'
    })
    await deliver('m1')
    await settleUntil(gateway, told)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(effects).toEqual(['pack'])
    expect(vendor.messages[0]?.text).toContain(
      'Done: pack. I cannot tell whether this took effect: bill. The rest was not done.',
    )
  })

  test('that may have happened stays unknown when a later try cannot send it', async () => {
    const shop = await startShop({ isCutting: true })
    start(async (_message, { step }) =>
      step(
        'charge',
        async ({ fetch }) => {
          const response = fetch(shop.url, { method: 'POST', body: 'tea' })
          await response.catch(() => undefined)
          if (shop.orders.length === 1) await shop.close().catch(() => undefined)
          return (await response).text()
        },
        { idempotent: true },
      ),
    )
    await deliver('m1')
    await settleUntil(gateway, told)
    expect(shop.orders).toEqual(['tea'])
    expect(vendor.messages[0]?.text).toContain('I cannot tell whether this took effect: charge.')
  })
})

/** A shop on loopback that may be closed, or cut the line as soon as an order has arrived. */
async function startShop({ isCutting = false } = {}) {
  const orders: string[] = []
  const server = createServer((request, response) => {
    request.setEncoding('utf8').once('data', (body: string) => {
      orders.push(body)
      if (isCutting) request.socket.destroy()
      else response.end('ordered')
    })
  })
  const open = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()))
  let port = 0
  await open()
  port = (server.address() as AddressInfo).port
  return { orders, url: `http://127.0.0.1:${port}/`, open, close }
}
