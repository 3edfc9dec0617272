// A channel where people follow an agent: a follow is answered by rule, a reply goes to whoever asked and to the followers, each in
// their own order, and whoever blocks gets nothing more.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { type ChannelDefinition, type InboundEvent, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { listDeliveries, listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'
import { loopbackClientId } from '../doubles/loopback/index.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const open = nameStatement('test_open', 'select count(*)::int as n from outbox where settled_at is null')
const replies = nameStatement(
  'test_replies',
  `select order_key as lane, "primary" as "isPrimary", ordinal, state, reason from outbox where purpose = 'reply' order by ordinal`,
)
const drift = nameStatement(
  'test_lane_drift',
  `select l.order_key from send_lanes l where l.pending <> (
     select count(*) from outbox o where o.order_key = l.order_key and o.settled_at is null)`,
)

const inboxOf = (name: string): string => `https://peer.test/${name}/inbox`

/** `follow`, `block` and whatever else somebody writes. */
function federated([arrived]: readonly InboundEvent[]): readonly InboundEvent[] {
  if (arrived?.kind !== 'message') return []
  const [word = '', key = ''] = [textOf(arrived.message.parts), arrived.subject?.split(':').at(-1)]
  const nothing = { kind: 'ignored', reason: word, isNoise: true, deliveryId: arrived.message.id, raw: {} } as const
  const about = { ...nothing, subject: arrived.subject }
  if (word === 'block') return [{ ...about, cancelPending: { orderKeyPrefix: inboxOf(key) } }]
  if (word === 'too much')
    return [{ ...about, recordWrites: [{ kind: 'remove', family: 'follower', key: 'x'.repeat(3_000) }] }]
  if (word !== 'follow') return [arrived]
  const call = { conversation: key, text: `accepted ${key}` }
  const sends = [{ call, orderKey: inboxOf(key), clientId: `accept:${arrived.message.id}` }]
  return [
    {
      ...about,
      recordWrites: [{ kind: 'put', family: 'follower', key, value: {}, subject: key }],
      protocolReplies: sends,
    },
  ]
}

const channel: ChannelDefinition = {
  ...loopbackClientId,
  create(settings, deps) {
    const adapter = loopbackClientId.create(settings, deps)
    return {
      ...adapter,
      async receive(arrival, connection) {
        const reception = await adapter.receive(arrival, connection)
        return reception.kind === 'read' ? { kind: 'read', events: federated(reception.events) } : reception
      },
      async expand(calls, to) {
        const followers = (await deps.records?.list('follower', { limit: 100 })) ?? []
        const asked = String(to['conversation'])
        const others = followers.map(({ key }) => key).filter((key) => key !== asked)
        const copy = (call: JsonObject, name: string) => ({
          call: { ...call, conversation: name },
          orderKey: inboxOf(name),
        })
        return calls.flatMap(({ call, primary }) => [
          { ...copy(call, asked), primary },
          ...others.map((name) => ({ ...copy(call, name), primary: false })),
        ])
      },
    }
  },
}

describeOnDatabase('a channel with followers', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway

  beforeEach(async () => {
    vendor = await startVendorStub()
    const [connection] = loopbackConnections(vendor.origin)
    const agent = defineAgent({ slug: 'demo', run: (message) => `re: ${textOf(message.parts)}` })
    const config = { agents: [agent], connections: connection === undefined ? [] : [connection] }
    gateway = createTestGateway(database(), config, {}, [channel])
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const says = (id: string, from: string, text: string) => gateway.deliver({ id, from, text, conversation: from })
  const settled = () => settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
  const sent = () => vendor.messages.map(({ conversation, text }) => `${conversation}: ${text}`).toSorted()
  const books = () => listMessageCountsByConnection(openTenantDb(database(), 'default'))
  const story = async (id: string) => {
    const store = openTenantDb(database(), 'default')
    return JSON.stringify(await explainById({ db: store, agents: ['demo'], rejections: createRejectionLog() }, id))
  }

  test('answers a follow once, however often it comes, and shows that to whoever asks', async () => {
    await says('f1', 'ada', 'follow')
    await says('f1', 'ada', 'follow')
    await settled()
    expect(sent()).toEqual(['ada: accepted ada'])
    expect(await books()).toMatchObject([{ received: 0, answered: 0, ignored: 1, inFlight: 0 }])
    expect(await story('f1')).toContain('answer of the protocol arrived')
    const [line] = await listDeliveries(openTenantDb(database(), 'default'), ['delivered'], {
      limit: 5,
      before: null,
      connection: null,
    })
    expect(line).toMatchObject({ purpose: 'protocol', turnId: null })
    expect(await story(line?.id ?? '')).toContain('answer of the protocol arrived')
  })

  test('sends a reply to whoever asked and to the followers, each in a lane of their own', async () => {
    await says('f1', 'ada', 'follow')
    await says('f2', 'bob', 'follow')
    await says('m1', 'cleo', 'hello')
    await settled()
    expect(sent()).toEqual([
      'ada: accepted ada',
      'ada: re: hello',
      'bob: accepted bob',
      'bob: re: hello',
      'cleo: re: hello',
    ])
    expect(await database().query(replies, [])).toMatchObject([
      { lane: `to:${inboxOf('cleo')}`, isPrimary: true, ordinal: 0 },
      { lane: `to:${inboxOf('ada')}`, isPrimary: false, ordinal: 1 },
      { lane: `to:${inboxOf('bob')}`, isPrimary: false, ordinal: 2 },
    ])
    expect(await books()).toMatchObject([{ received: 1, answered: 1, dead: 0, inFlight: 0 }])
  })

  test('has answered when whoever asked has it, though a follower cannot be reached', async () => {
    await says('f1', 'ada', 'follow')
    await settled()
    vendor.failBy('send', ({ body }) =>
      JSON.stringify(body).includes('"ada"') ? { kind: 'answer', status: 400, body: '{}' } : undefined,
    )
    await says('m1', 'cleo', 'hello')
    await settled()
    expect(await database().query(replies, [])).toMatchObject([{ state: 'delivered' }, { state: 'refused' }])
    expect(await books()).toMatchObject([{ answered: 1, dead: 0, inFlight: 0 }])
  })

  test('sends nothing more to whoever blocks; the message that waited for its answer is over', async () => {
    vendor.failAlways('send', { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '60' } })
    await says('m1', 'ada', 'hello')
    await settleUntil(
      gateway,
      async () => (await database().query<{ state: string }>(replies, []))[0]?.state === 'retry',
    )
    await says('b1', 'ada', 'block')
    expect(await database().query(replies, [])).toMatchObject([{ state: 'refused', reason: 'blocked' }])
    expect(await database().query(drift, [])).toEqual([])
    expect(await books()).toMatchObject([{ received: 1, answered: 0, dead: 1, inFlight: 0, ignored: 1 }])
    expect(await story('m1')).toContain('wants nothing more from here')
  })

  test('keeps an arrival as dead whose changes cannot be stored, and changes nothing', async () => {
    await says('x1', 'ada', 'too much')
    expect(await books()).toMatchObject([{ received: 1, dead: 1, ignored: 0 }])
    expect(await story('x1')).toContain('cannot be stored')
  })

  test('forgets copies in the lanes of others, and they stay in step', async () => {
    await says('f1', 'ada', 'follow')
    await settled()
    vendor.failAlways('send', { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '60' } })
    await says('m1', 'cleo', 'hello')
    await settleUntil(gateway, async () => (await database().query(replies, [])).length === 2)
    const [row] = await database().query<{ id: string; subject: string }>(
      nameStatement('test_conversation_of', `select conversation_id as id, subject from inbox where message_id = 'm1'`),
      [],
    )
    const store = createEraseStore(database(), 'default')
    expect(await store.stop([row?.subject ?? ''], row?.id ?? '')).toMatchObject({ unsent: 2 })
    expect(await database().query(drift, [])).toEqual([])
  })
})
