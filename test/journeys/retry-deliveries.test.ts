// Many deliveries sent again at once: only those that were meant, in order, as often as allowed, each as by itself.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const unsettled = nameStatement('test_unsettled', `select 1 from inbox where state in ('queued', 'in_turn')`)
const unknown = nameStatement('test_unknown', `select count(*)::int as count from outbox where state = 'unknown'`)
const age = nameStatement(
  'test_age',
  `update outbox set settled_at = now() - interval '1 day' where call ->> 'text' = 're: old'`,
)
const retries = nameStatement(
  'test_retries',
  `select count(*)::int as count from audit_log where action = 'delivery.retry'`,
)

const connection = 'loopback-none/loopback-none'
const other = 'loopback-none/other'

describeOnDatabase('deliveries sent again together', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const ask = async (body: unknown) => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await createTestApp(gateway, database()).request('/admin/deliveries/retry', request)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const settled = () => settleUntil(gateway, async () => (await database().query(unsettled, [])).length === 0)
  const say = async (text: string, conversation: string, at = 'loopback-none') => {
    vendor.failNext('send', { kind: 'drop', when: 'before' })
    await gateway.deliver({ id: `${at} ${text}`, from: 'ada', text, conversation }, at)
    await settled()
  }
  const count = async (asked: typeof unknown) => (await database().query<{ count: number }>(asked, []))[0]?.count
  const anHourAgo = () => new Date(Date.now() - 3_600_000).toISOString()

  beforeEach(async () => {
    vendor = await startVendorStub()
    const none = loopbackConnections(vendor.origin).filter(({ channel }) => channel === 'loopback-none')
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run: ({ parts }) => `re: ${textOf(parts)}` })],
      connections: [...none, ...none.map((each) => ({ ...each, id: 'other' }))],
    })
    for (const text of ['old', 'one', 'two', 'three']) await say(text, 'room')
    await say('elsewhere', 'room', 'other')
    await database().query(age, [])
    expect([await count(unknown), vendor.messages]).toEqual([5, []])
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('are counted first, and nothing is sent for that', async () => {
    const counted = await ask({ state: 'unknown', since: anHourAgo(), dry_run: true })
    expect(counted).toEqual({ status: 200, body: { matching: 4, retried: 0 } })
    await gateway.settle()
    expect([await count(unknown), vendor.messages, await count(retries)]).toEqual([5, [], 0])
  })

  test('are those of the connection and the time that were named, the oldest first, marked and audited', async () => {
    const asked = { state: 'unknown', since: anHourAgo(), connection, limit: 2 }
    expect((await ask(asked)).body).toEqual({ matching: 3, retried: 2 })
    await settled()
    expect(vendor.messages.map(({ text }) => text)).toEqual([
      'Possibly sent before: re: one',
      'Possibly sent before: re: two',
    ])
    expect((await ask(asked)).body).toEqual({ matching: 1, retried: 1 })
    expect((await ask(asked)).body).toEqual({ matching: 0, retried: 0 })
    await settled()
    expect(vendor.messages.map(({ text }) => text).slice(2)).toEqual(['Possibly sent before: re: three'])
    expect([await count(unknown), await count(retries)]).toEqual([2, 3])
    expect((await ask({ ...asked, connection: other })).body).toEqual({ matching: 1, retried: 1 })
    await settled()
    const [line] = (await listMessageCountsByConnection(gateway.deps.db)).filter(
      (each) => each.connection === connection,
    )
    expect(line).toMatchObject({ received: 4, answered: 3, dead: 1, inFlight: 0 })
  })

  test.each<[string, object]>([
    ['no time', { state: 'unknown' }],
    ['a time that is none', { state: 'unknown', since: 'yesterday' }],
    ['a state that did not fail', { state: 'delivered', since: '2026-01-31T08:00:00Z' }],
    ['more than a call may', { state: 'unknown', since: '2026-01-31T08:00:00Z', limit: 501 }],
    ['a misspelled limit', { state: 'unknown', since: '2026-01-31T08:00:00Z', connections: 'x' }],
  ])('with %s are refused, and nothing is sent', async (_what, body) => {
    expect((await ask(body)).status).toBe(400)
    expect(await count(unknown)).toBe(5)
  })
})
