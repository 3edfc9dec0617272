// A reply shown as words that are no message yet and vanish by themselves: whatever happens on the way, what stays is one answer.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { cancelRun, listRuns } from '../../src/db/runs.ts'
import { until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const rows = nameStatement('test_rows', 'select purpose, state from outbox order by seq')
const fates = nameStatement('test_fates', 'select state, reason from inbox order by seq')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)

describeOnDatabase('a preview', (database) => {
  let vendor: VendorStub
  const open: { readonly gateway: TestGateway; readonly deadline: AbortController }[] = []
  const start = (run: AgentDefinition['run'], settings = {}) => {
    const gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin, {
        settings: { liveEveryMs: 20, previewMs: 60_000, ...settings },
      }),
      turns: { liveAfterMs: 20 },
    })
    const deadline = new AbortController()
    open.push({ gateway, deadline })
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
    return gateway
  }
  const stopAll = () => {
    for (const { gateway, deadline } of open.splice(0)) {
      deadline.abort()
      gateway.stop()
    }
  }
  const texts = () => vendor.messages.map((message) => message.text)
  const previews = () => vendor.calls.filter(({ route }) => route === 'preview')
  const shown = () => previews().map(({ body }) => (body as { text: string }).text)
  const outbox = () => database().query(rows, [])
  const isEnded = async () => {
    const ended = await database().query<{ state: string }>(fates, [])
    return ended.length > 0 && ended.every(({ state }) => !['queued', 'in_turn'].includes(state))
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    stopAll()
    expect(vendor.unexpected).toEqual([])
    await vendor.close()
  })

  test('grows without a row, and the answer is a message like any other', async () => {
    const gateway = start(async (_message, { show }) => {
      show('Once')
      await until(() => shown().includes('Once'))
      show(' upon')
      await until(() => shown().includes('Once upon'))
      return 'Once upon a time.'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'tell' }, 'loopback-none')
    await until(isEnded)
    expect(texts()).toEqual(['Once upon a time.'])
    expect(await outbox()).toEqual([{ purpose: 'reply', state: 'delivered' }])
    expect(await database().query(fates, [])).toEqual([{ state: 'answered', reason: null }])
  })

  test('of a process that died leaves nothing behind: the next one goes on under the same name and answers once', async () => {
    const run: AgentDefinition['run'] = async (_message, { show, attempt }) => {
      show(attempt === 1 ? 'first try' : 'second')
      if (attempt === 1) await new Promise(() => {})
      await until(() => shown().includes('second'))
      return 'second try, whole'
    }
    await start(run).deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(() => shown().includes('first try'))
    stopAll()
    await database().query(expire, [])
    start(run)
    await until(isEnded)
    expect(texts()).toEqual(['second try, whole'])
    expect(new Set(previews().map(({ path }) => path)).size).toBe(1)
    expect(await outbox()).toEqual([{ purpose: 'reply', state: 'delivered' }])
  })

  test('does not make an answer repeatable: one whose fate is unknown is shown and not sent again', async () => {
    const gateway = start(async (_message, { show }) => {
      show('words')
      await until(() => shown().length > 0)
      return 'the answer'
    })
    vendor.failNext('send', { kind: 'drop', when: 'after' })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(isEnded)
    expect(texts()).toEqual(['the answer'])
    expect(await outbox()).toEqual([{ purpose: 'reply', state: 'unknown' }])
    expect(await database().query(fates, [])).toEqual([{ state: 'dead', reason: 'delivery_unknown' }])
  })

  test('that cannot be shown becomes a live message', async () => {
    vendor.failAlways('preview', { kind: 'answer', status: 404, body: '{}' })
    const gateway = start(async (_message, { show }) => {
      show('words')
      await until(() => texts().includes('words'))
      return 'all the words'
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' }, 'loopback-none')
    await until(isEnded)
    expect(texts()).toEqual(['all the words'])
    expect(previews()).toHaveLength(1)
    expect(await outbox()).toEqual([
      { purpose: 'live', state: 'delivered' },
      { purpose: 'reply', state: 'delivered' },
    ])
  })

  test('is shown again before it would vanish, though no word is new', async () => {
    const gateway = start(
      async (_message, { show }) => {
        show('wait for it')
        await until(() => shown().length >= 3)
        return 'done'
      },
      { previewMs: 60 },
    )
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(isEnded)
    expect(new Set(shown())).toEqual(new Set(['wait for it']))
    expect(texts()).toEqual(['done'])
  })

  test('of a run that is stopped stays as a message', async () => {
    const gateway = start(async (_message, { show, stop }) => {
      show('I begin')
      await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason)))
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => shown().length > 0)
    const [run] = await listRuns(gateway.gateway.db, { limit: 1, before: null, status: null })
    await cancelRun(gateway.gateway.db, run?.id ?? '', 'operator')
    await until(isEnded)
    expect(texts()).toEqual([expect.stringMatching(/^I begin\n.*stopp/is)])
  })
})
