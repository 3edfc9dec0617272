// A message that the gateway itself fails on, before an agent runs, around a turn or while sending: named, tried a bounded number of
// times, dead with a story; its conversation, its connection and all others go on.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { type ChannelDefinition, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createAccessPolicy } from '../../src/identity/access-policy.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import {
  createTestGateway,
  loopbackChannels,
  loopbackConnections,
  settleUntil,
  type TestGateway,
} from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const messages = nameStatement('test_messages', 'select id, message_id as name, state, reason from inbox order by seq')
const pending = nameStatement('test_pending', 'select sum(pending)::int as pending from lanes')
const calls = nameStatement('test_calls', 'select state, reason, attempt from outbox order by id')

type Row = { readonly id: string; readonly name: string; readonly state: string; readonly reason: string | null }

describeOnDatabase('a message the gateway fails on', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const start = (
    changes: ParleyConfig = {},
    run: AgentDefinition['run'] = ({ parts }) => `re: ${textOf(parts)}`,
    channels: readonly ChannelDefinition[] = loopbackChannels,
  ) => {
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run })], connections: loopbackConnections(vendor.origin), ...changes },
      {},
      channels,
    )
  }
  const rows = () => database().query<Row>(messages, [])
  const settled = () =>
    settleUntil(gateway, async () => (await rows()).every(({ state }) => !['queued', 'in_turn'].includes(state)), 5_000)
  const explained = async (id: string) => {
    const headers = { authorization: `Bearer ${operatorToken}` }
    const response = await createTestApp(gateway, database()).request(`/admin/explain/${id}`, { headers })
    return JSON.stringify(await response.json())
  }
  /** Throws about eve as often as told, and decides about all others as the gateway itself does. */
  const failingFor = (times: number, error: () => Error = () => new TypeError('a port broke')) => {
    const own = createAccessPolicy()
    let left = times
    return {
      tries: () => times - left,
      fail(more: number) {
        left = more
      },
      ports: {
        access: {
          decide(...asked: Parameters<typeof own.decide>) {
            const isEve = (asked[0].identities ?? []).some(({ subject }) => subject === 'loopback:eve')
            if (!isEve || left === 0) return own.decide(...asked)
            left -= 1
            throw error()
          },
        },
      },
    }
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('is none on a connection whose access is a mode and no more', async () => {
    start({ connections: loopbackConnections(vendor.origin, { access: { mode: 'public' } }) })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await settled()
    expect(await rows()).toMatchObject([{ state: 'answered' }])
  })

  test('while the database is away, it is named in the log by its id', async () => {
    start({ ports: failingFor(1, () => new GatewayError('storage_unavailable', 'planted')).ports })
    await gateway.deliver({ id: 'm1', from: 'eve', text: 'one' })
    await settled()
    const [found] = await rows()
    expect(found).toMatchObject({ state: 'answered' })
    expect(gateway.logged.filter(({ event }) => event === 'drain_failed')).toMatchObject([
      { facts: { code: 'storage_unavailable', connection: expect.any(String), inbox: found?.id } },
    ])
  })

  test('where nobody could decide about it, it is named, tried three times and dead; those around it are answered', async () => {
    start({ ports: failingFor(1_000).ports })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', conversation: 'room' })
    await gateway.deliver({ id: 'm2', from: 'eve', text: 'two', conversation: 'room' })
    await gateway.deliver({ id: 'm3', from: 'ada', text: 'three', conversation: 'room' })
    await gateway.deliver({ id: 'm4', from: 'ada', text: 'four', conversation: 'elsewhere' })
    await settled()
    const found = await rows()
    expect(found.map(({ name, state, reason }) => `${name} ${state} ${reason}`)).toEqual([
      'm1 answered null',
      'm2 dead internal',
      'm3 answered null',
      'm4 answered null',
    ])
    expect(await database().query(pending, [])).toEqual([{ pending: 0 }])
    const failures = gateway.logged.filter(({ event }) => event === 'message_failed')
    expect(failures.map(({ facts }) => facts['next'])).toEqual(['again', 'again', 'dead'])
    expect(failures[0]).toMatchObject({
      level: 'error',
      facts: {
        connection: 'loopback-client-id/loopback-client-id',
        inbox: found[1]?.id,
        code: 'internal',
        error: 'TypeError',
        at: expect.stringContaining('failing-messages.test.ts'),
        attempt: 1,
      },
    })
    expect(gateway.logged.filter(({ event }) => event === 'drain_failed')).toEqual([])
    const story = await explained(found[1]?.id ?? '')
    expect(story).toContain('Given up')
    expect(story).toContain('message_failed')
    expect(story).toContain(`parley dead-letters resubmit ${found[1]?.id}`)
  })

  test('a failure that passes costs a delay and no message', async () => {
    start({ ports: failingFor(2).ports })
    await gateway.deliver({ id: 'm1', from: 'eve', text: 'one' })
    await settled()
    expect(await rows()).toMatchObject([{ state: 'answered' }])
  })

  test('what a port calls an outage is waited for, and not counted', async () => {
    const away = () => new GatewayError('provider_unavailable', 'the directory is away', { retryable: true })
    const failing = failingFor(5, away)
    start({ ports: failing.ports })
    await gateway.deliver({ id: 'm1', from: 'eve', text: 'one' })
    await settleUntil(gateway, async () => failing.tries() === 5, 20_000)
    await settled()
    expect(await rows()).toMatchObject([{ state: 'answered' }])
  })

  test('a dead one runs again once the cause is gone and an operator asks for it', async () => {
    start({ ports: failingFor(3).ports })
    await gateway.deliver({ id: 'm1', from: 'eve', text: 'one' })
    await settled()
    const [dead] = await rows()
    expect(dead).toMatchObject({ state: 'dead', reason: 'internal' })
    expect(await gateway.gateway.resubmit(dead?.id ?? '', 'the test')).toBe(true)
    await settled()
    expect(await rows()).toMatchObject([{ state: 'answered' }])
  })

  test('a dead turn that is tried again and fails before it begins keeps together, and what it has done is not done again', async () => {
    const failing = failingFor(0)
    let effects = 0
    let isBroken = true
    start({ ports: failing.ports, turns: { maxFailures: 3 } }, async ({ parts }, { step }) => {
      await step('order', async () => {
        effects += 1
        return effects
      })
      if (isBroken) throw new Error('after the order')
      return `ordered ${textOf(parts)}`
    })
    for (const id of ['m1', 'm2']) await gateway.deliver({ id, from: 'eve', text: id })
    await settled()
    const [first] = await rows()
    expect((await rows()).map(({ state, reason }) => `${state} ${reason}`)).toEqual([
      'dead agent_failed',
      'dead agent_failed',
    ])
    isBroken = false
    failing.fail(6)
    expect(await gateway.gateway.resubmit(first?.id ?? '', 'the test')).toBe(true)
    await settled()
    expect((await rows()).map(({ state, reason }) => `${state} ${reason}`)).toEqual(['dead internal', 'dead internal'])
    failing.fail(0)
    expect(await gateway.gateway.resubmit(first?.id ?? '', 'the test')).toBe(true)
    await settled()
    expect((await rows()).map(({ state }) => state)).toEqual(['merged', 'answered'])
    expect(effects).toBe(1)
  })

  test('one whose session cannot be begun is told so, and ends', async () => {
    start({
      ports: {
        consent() {
          throw new RangeError('no consent service')
        },
      },
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await settled()
    expect(await rows()).toMatchObject([{ state: 'dead', reason: 'internal' }])
    await settleUntil(gateway, () => vendor.messages.length === 1, 5_000)
  })

  test('a turn whose apology cannot be written either ends all the same, after its tries', async () => {
    const breaking = loopbackChannels.map(
      (channel): ChannelDefinition => ({
        ...channel,
        create(settings, deps) {
          const adapter = channel.create(settings, deps)
          const capabilities = {
            ...adapter.capabilities,
            get appends(): boolean {
              throw new TypeError('broken')
            },
          }
          return { ...adapter, capabilities }
        },
      }),
    )
    start({}, undefined, breaking)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await settled()
    const [row] = await rows()
    expect(row).toMatchObject({ state: 'dead', reason: 'internal' })
    const failures = gateway.logged.filter(({ event }) => event === 'message_failed')
    expect(failures.map(({ facts }) => [facts['inbox'], facts['next']])).toEqual([[row?.id, 'dead']])
  })

  test('a call that its adapter cannot place is tried three times, named and dead, and the next reply leaves', async () => {
    let isBroken = true
    const breaking = loopbackChannels.map(
      (channel): ChannelDefinition => ({
        ...channel,
        create(settings, deps) {
          const adapter = channel.create(settings, deps)
          return {
            ...adapter,
            limitedBy(call) {
              if (isBroken) throw new TypeError('no place in it')
              return adapter.limitedBy(call)
            },
          }
        },
      }),
    )
    start({}, undefined, breaking)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
    await settled()
    expect(await database().query(calls, [])).toEqual([{ state: 'dead', reason: 'send_threw', attempt: 3 }])
    const failures = gateway.logged.filter(({ event }) => event === 'send_threw')
    expect(failures.map(({ facts }) => [facts['error'], facts['attempt']])).toEqual([
      ['TypeError', 1],
      ['TypeError', 2],
      ['TypeError', 3],
    ])
    isBroken = false
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'two' })
    await settled()
    expect((await rows()).map(({ state }) => state)).toEqual(['dead', 'answered'])
  })
})
