// What an agent returns that is no reply: a mistake that would be made again, so it ends at once, with words for person and operator.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentReply, defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')

describeOnDatabase('what an agent returns', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let runs = 0

  beforeEach(async () => {
    runs = 0
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  /** The messages' ends, for an agent that returns this to each of two that came together. */
  const returning = async (value: unknown) => {
    const run = () => {
      runs += 1
      return value as AgentReply
    }
    const agents = [defineAgent({ slug: 'demo', run })]
    gateway = createTestGateway(database(), { agents, connections: loopbackConnections(vendor.origin) })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'two' })
    const ended = async () => {
      const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
      return rows.some(({ state }) => ['queued', 'in_turn'].includes(state)) ? undefined : rows
    }
    await settleUntil(gateway, async () => (await ended()) !== undefined)
    await gateway.settle()
    return (await ended())?.map(({ id, state, reason }) => `${id} ${state} ${reason}`)
  }

  test.each<[string, unknown]>([
    ['a number', 42],
    ['null', null],
    ['a truth', true],
    ['a list', ['hello']],
    ['an object of another kind', { text: 'hello' }],
    ['nothing in an object', {}],
    ['parts of no kind', { parts: [{ kind: 'text' }] }],
  ])('%s is no reply: the agent ran once, the person has an apology, the operator a reason', async (_what, value) => {
    expect(await returning(value)).toEqual(['m1 dead reply_invalid', 'm2 dead reply_invalid'])
    expect(runs).toBe(1)
    expect(vendor.messages.map(({ text }) => text)).toEqual([expect.stringContaining('could not answer your message')])
    const failed = gateway.logged.filter(({ event }) => event === 'turn_failed')
    expect(failed.map(({ facts }) => [facts['code'], facts['next']])).toEqual([['reply_invalid', 'dead']])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an empty text', ''],
    ['a state without parts', { status: 'completed' }],
  ])('%s says nothing, on purpose', async (_what, value) => {
    expect(await returning(value)).toEqual(['m1 merged null', 'm2 refused silent'])
    expect([runs, vendor.messages.length]).toEqual([1, 0])
  })

  test('a text beyond the limit is not run again: the person is told it was too long, the operator how long', async () => {
    expect(await returning('x'.repeat(1024 * 1024 + 1))).toEqual(['m1 dead reply_too_long', 'm2 dead reply_too_long'])
    expect(runs).toBe(1)
    expect(vendor.messages.map(({ text }) => text)).toEqual([expect.stringContaining('too long to be sent')])
    const failed = gateway.logged.filter(({ event }) => event === 'turn_failed')
    expect(failed.map(({ facts }) => facts)).toMatchObject([
      { code: 'reply_too_long', length: 1_048_577, next: 'dead' },
    ])
  })
})
