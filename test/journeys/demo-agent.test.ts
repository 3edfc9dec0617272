// What people try first: the demo agent, through the loop, its tools, an approval, and a story that grows.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { demoAgent } from '../../src/agents/demo-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const deltas = nameStatement(
  'test_deltas',
  `select event -> 'metadata' ->> 'delta' as delta from run_events where event ->> 'type' = 'text_delta' order by run_id, seq`,
)

describeOnDatabase('the demo agent', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let heard = 0
  const texts = () => vendor.messages.map((message) => message.text)
  const say = async (text: string, answers: number) => {
    heard += 1
    const [, name = '', args = ''] = /^\/(\w+)\s*(.*)$/.exec(text) ?? []
    await gateway.deliver({ id: `m${heard}`, from: 'ada', text, ...(name === '' ? {} : { command: { name, args } }) })
    await settleUntil(gateway, async () => vendor.messages.length >= answers)
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
    gateway = createTestGateway(database(), {
      agents: [demoAgent],
      connections: loopbackConnections(vendor.origin),
    })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('explains what it received, and by what it knows the sender', async () => {
    await say('hello', 1)
    expect(texts()[0]).toMatch(/^You said: hello\nFrom .*known by: .*ada/)
  })

  test('throws three dice with three calls of one turn', async () => {
    await say('/dice 3', 1)
    expect(texts()[0]).toMatch(/^(You rolled [1-6]\. ?){3}$/)
  })

  test('orders nothing before it is approved, and then once', async () => {
    await say('/order two apples', 1)
    expect(texts()[0]).toContain('order two apples')
    await say('are you there?', 2)
    await say('/approve', 4)
    // Decided beside the conversation: which of the two is faster is nobody's promise.
    expect(texts().slice(2).toSorted()).toEqual([
      'Approved: order two apples. I go on with it.',
      'Ordered: two apples. (A demonstration: nothing was bought.)',
    ])
  })

  test('orders nothing when it is told not to', async () => {
    await say('/order two apples', 1)
    await say('/reject', 3)
    expect(texts()).toContain('All right, I did not order it.')
  })

  test('tells its story word by word, and the whole of it in the end', async () => {
    await say('/story', 1)
    const grown = await database().query<{ delta: string }>(deltas, [])
    expect(grown.length).toBeGreaterThan(2)
    expect(grown.map((each) => each.delta).join('')).toBe(texts()[0])
  })
})
