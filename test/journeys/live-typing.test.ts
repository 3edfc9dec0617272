// Signs of life while a turn takes a while: few, never in the way, and none where a growing reply says it already.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('a sign of typing', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let deadline: AbortController
  const start = (run: AgentDefinition['run'], typingAfterMs: number) => {
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin, { settings: { typing: true, liveEveryMs: 20 } }),
      turns: { typingAfterMs, liveAfterMs: 5 },
    })
    deadline = new AbortController()
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
    return gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
  }
  const signs = () => vendor.calls.filter(({ route }) => route === 'typing')
  const texts = () => vendor.messages.map(({ text }) => text)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    deadline.abort()
    gateway.stop()
    await vendor.close()
  })

  test('is shown where the answer will be, and once only', async () => {
    await start(async () => {
      await until(() => signs().length > 0)
      return 'done'
    }, 10)
    await until(() => texts().length > 0)
    expect(texts()).toEqual(['done'])
    expect(signs().map(({ body }) => body)).toEqual([{ conversation: 'main' }])
  })

  test('that the platform does not answer keeps nobody waiting', async () => {
    vendor.failAlways('typing', { kind: 'hang' })
    await start(async () => {
      await until(() => signs().length > 0)
      return 'done'
    }, 10)
    await until(() => texts()[0] === 'done')
  })

  test('is not shown by an answer that is there soon', async () => {
    await start(() => 'soon', 10_000)
    await until(() => texts()[0] === 'soon')
    expect(signs()).toEqual([])
  })

  test('is not shown beside a reply that grows', async () => {
    const afterMs = 1_500
    await start(async (_message, { show }) => {
      const begun = Date.now()
      for (let words = 1; Date.now() < begun + afterMs * 1.2; words += 1) {
        show('growing ')
        await until(() => texts()[0] === 'growing '.repeat(words))
      }
      return 'grown'
    }, afterMs)
    await until(() => texts()[0] === 'grown')
    expect(signs()).toEqual([])
  })
})
