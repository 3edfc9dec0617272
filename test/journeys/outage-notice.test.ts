// A model that is away: people are told once that it is still tried, where the channel can show it, and the answer takes that place.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const rows = nameStatement('test_rows', `select purpose, "primary", state from outbox order by seq`)
const fates = nameStatement('test_fates', 'select state from inbox')
const noticed = nameStatement(
  'test_notices',
  `select event -> 'metadata' as said from run_events where event ->> 'type' = 'notice'`,
)
const words = 'This is taking longer than usual. I am still trying, and will answer here.'

describeOnDatabase('a model that is away', (database) => {
  let vendor: VendorStub
  let isAway: boolean
  let tries: number
  const open: { readonly gateway: TestGateway; readonly deadline: AbortController }[] = []
  const start = (outageNoticeMs: number, settings: object = { liveEveryMs: 20 }) => {
    const run = () => {
      tries += 1
      if (!isAway) return 'Here is the answer.'
      throw new GatewayError('provider_unavailable', '[agent] away', { retryable: true })
    }
    const gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin, { settings }),
      turns: { outageNoticeMs, liveAfterMs: 20 },
    })
    const deadline = new AbortController()
    open.push({ gateway, deadline })
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
    return gateway
  }
  const stop = () => {
    for (const { gateway, deadline } of open.splice(0)) {
      deadline.abort()
      gateway.stop()
    }
  }
  const texts = () => vendor.messages.map((message) => message.text)
  const isAnswered = async () =>
    (await database().query<{ state: string }>(fates, [])).every((row) => row.state === 'answered')

  beforeEach(async () => {
    vendor = await startVendorStub()
    isAway = true
    tries = 0
  })
  afterEach(async () => {
    stop()
    await vendor.close()
  })

  test('is told once, also by a process that takes over, and the answer takes the place of these words', async () => {
    const gateway = start(300)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
    await until(() => texts().length > 0)
    expect(texts()).toEqual([words])
    const before = tries
    await until(() => tries > before + 1)
    stop()
    start(300)
    const seen = tries
    await until(() => tries > seen + 1)
    expect(texts()).toEqual([words])
    isAway = false
    await until(isAnswered)
    expect(texts()).toEqual(['Here is the answer.'])
    // Beside them only what says the same once more, since the process before may have had a frame on its way.
    expect(
      (await database().query<{ purpose: string }>(rows, [])).filter((row) => row.purpose !== 'assertion'),
    ).toEqual([
      { purpose: 'live', primary: false, state: 'delivered' },
      { purpose: 'reply', primary: true, state: 'delivered' },
    ])
    expect(await database().query(noticed, [])).toEqual([{ said: { notice: 'still_trying', text: words } }])
  })

  test('is not told where it is back before the sender has waited long', async () => {
    const gateway = start(60_000)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
    await until(() => tries > 2)
    isAway = false
    await until(isAnswered)
    expect(await database().query(rows, [])).toHaveLength(1)
  })

  test('is not told where a channel has no message that could be replaced', async () => {
    const gateway = start(100, {})
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
    await until(() => tries > 5)
    isAway = false
    await until(isAnswered)
    expect(texts()).toEqual(['Here is the answer.'])
    expect(await database().query(rows, [])).toHaveLength(1)
  })
})
