// What the journal remembers across outages, splits and resubmissions: an effect is made once, and its result is its own.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agent/agent.ts'
import { GatewayError, textOf } from '../../src/contract/index.ts'
import { statement } from '../../src/storage/database.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = statement(
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

  test('that failed by itself is not tried again', async () => {
    let tries = 0
    start((_message, { step }) =>
      step('charge', async () => {
        tries += 1
        throw new Error('declined')
      }),
    )
    await deliver('m1')
    await settleUntil(gateway, settled)
    expect(tries).toBe(1)
  })

  test('never gives one message of a split merge what it did for another', async () => {
    const effects: string[] = []
    const told: string[] = []
    start(async (_message, { step, members }) => {
      for (const member of members) {
        const text = textOf(member.parts)
        const done = await step('note', async () => {
          effects.push(text)
          return `noted ${text}`
        })
        told.push(`${text}: ${done}`)
      }
      if (members.length > 1) throw new Error('only alone')
      return 'ok'
    })
    await deliver('one', 'two')
    await settleUntil(gateway, settled)
    expect(effects).toEqual(['one', 'two'])
    expect(told).toEqual(['one: noted one', 'two: noted two'])
    expect(await fate()).toEqual({ one: 'dead(tool_outcome_unknown)', two: 'dead(tool_outcome_unknown)' })
  })

  test('with arguments is found again by each message of a split merge', async () => {
    const effects: string[] = []
    start(async (_message, { step, members }) => {
      const done: string[] = []
      for (const member of members) {
        const text = textOf(member.parts)
        const note = async () => {
          effects.push(text)
          return `noted ${text}`
        }
        done.push(await step('note', note, { args: member.id }))
      }
      if (members.length > 1) throw new Error('only alone')
      return done.join()
    })
    await deliver('one', 'two')
    await settleUntil(gateway, () => vendor.messages.length === 2)
    expect(effects).toEqual(['one', 'two'])
    expect(vendor.messages.map((message) => message.text)).toEqual(['noted one', 'noted two'])
  })

  test('keeps its key and its result through a merge, a split, a death and a resubmission', async () => {
    let isBroken = true
    let charges = 0
    const keys: string[] = []
    start(async (_message, { step }) => {
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
      return `charged ${charged} time`
    })
    await deliver('one', 'two')
    await settleUntil(gateway, settled)
    expect(await fate()).toEqual({ one: 'dead(agent_failed)', two: 'dead(agent_failed)' })
    isBroken = false
    for (const dead of await gateway.deps.receipts.list('dead', { limit: 10 }))
      await gateway.deps.receipts.resubmit(dead.id, 'operator:test')
    await settleUntil(gateway, async () => Object.values(await fate()).every((state) => state === 'answered'))
    expect(charges).toBe(1)
    expect(new Set(keys).size).toBe(1)
  })
})
