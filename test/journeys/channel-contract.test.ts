// What every channel relies on in the gateway, case by case (C-01 to C-11). C-09 and C-10 stand in test/unit/lib/hmac.test.ts.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AgentContext, type AgentReply, defineAgent } from '../../src/agents/define-agent.ts'
import type { GatewayEvent } from '../../src/contract/gateway-events.ts'
import { type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { channelContextSchema, toClientContext } from '../../src/contract/message.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const sessions = nameStatement(
  'test_sessions',
  'select c.external_id as chat, c.agent, s.owner, s.status from sessions s join conversations c on c.id = s.conversation_id order by s.created_at',
)
const receipts = nameStatement('test_receipts', 'select state, reason from inbox order by seq')

describeOnDatabase('loop: the channel substrate', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let reply: (message: NormalizedMessage, context: AgentContext) => AgentReply | Promise<AgentReply>
  const seen: { message: NormalizedMessage; context: AgentContext }[] = []
  const events: GatewayEvent[] = []

  beforeEach(async () => {
    seen.length = 0
    events.length = 0
    reply = (message) => `re: ${textOf(message.parts)}`
    vendor = await startVendorStub()
    const run = (message: NormalizedMessage, context: AgentContext) => {
      seen.push({ message, context })
      return reply(message, context)
    }
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run }), defineAgent({ slug: 'second', run })],
      connections: loopbackConnections(vendor.origin).map((each, index) =>
        index === 1 ? { ...each, agent: 'second' } : each,
      ),
      onEvent: (event) => void events.push(event),
    })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })
  const say = async (id: string, text: string, conversation = 'A', connection?: string) => {
    const received = await gateway.deliver({ id, from: 'ada', text, conversation }, connection)
    await gateway.settle()
    return received
  }
  const texts = () => vendor.messages.map((message) => message.text)

  test('C-01 the first message of a chat reaches the agent whole, with eight facts to bind to; the hooks fire in order', async () => {
    await say('m1', 'hello')
    const [{ message, context } = {}] = seen
    expect({ agent: context?.agent, text: textOf(message?.parts ?? []), history: context?.history }).toEqual({
      agent: 'demo',
      text: 'hello',
      history: [],
    })
    expect(message?.channel === undefined ? undefined : toClientContext(message.channel)).toEqual({
      source: 'channel',
      connector_id: 'loopback-client-id',
      client_name: 'loopback-client-id',
      external_provider: 'loopback',
      external_conversation_id: 'A',
      external_message_id: 'm1',
      sender_id: 'ada',
      room_kind: 'dm',
    })
    expect(texts()).toEqual(['re: hello'])
    expect(events.map((event) => event.type)).toEqual([
      'channel.processing_started',
      'channel.processing_ended',
      'channel.completed',
    ])
  })

  test('C-02 the second message of chat A finds its session, the first of chat B a new one', async () => {
    await say('m1', 'one')
    await say('m2', 'two')
    await say('m3', 'three', 'B')
    expect(seen.map(({ context }) => context.history.map((turn) => textOf(turn.parts)))).toEqual([
      [],
      ['one', 're: one'],
      [],
    ])
    expect(await database().query(sessions, [])).toHaveLength(2)
  })

  test('C-03 another agent has another session for the same chat', async () => {
    await say('m1', 'one')
    await say('m1', 'one', 'A', 'loopback-lookup')
    expect(await database().query(sessions, [])).toMatchObject([
      { chat: 'A', agent: 'demo', owner: 'loopback:ada' },
      { chat: 'A', agent: 'second', owner: 'loopback:ada' },
    ])
    expect(seen.map(({ context }) => context.history.length)).toEqual([0, 0])
  })

  test('C-04 blank text is kept as empty_message and never reaches the agent', async () => {
    await say('m1', '  \n ')
    expect(seen).toEqual([])
    expect(await database().query(receipts, [])).toEqual([{ state: 'ignored', reason: 'empty_message' }])
  })

  test('C-05 an agent that fails for good is answered for with an apology, and nothing of its error', async () => {
    reply = () => {
      throw new Error('internal detail: database password')
    }
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await settleUntil(gateway, () => texts().length > 0)
    expect(texts()).toHaveLength(1)
    expect(texts()[0]).toContain('Sorry')
    expect(JSON.stringify([texts(), gateway.logged])).not.toContain('internal detail')
  })

  test('C-06 a silently skipped message says nothing and calls nobody; the hook says why', async () => {
    await gateway.deliver({ id: 'e1', from: 'ada', text: 'edit of nothing', event: 'edit', target: 'm0' })
    await gateway.settle()
    expect({ seen, texts: texts() }).toEqual({ seen: [], texts: [] })
    expect(events).toMatchObject([{ type: 'channel.skipped', reason: 'unknown_target', messageIds: ['e1'] }])
  })

  test('C-07 receiving stores one job and handles nothing inline', async () => {
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'later' })
    expect(seen).toEqual([])
    expect(await database().query(receipts, [])).toEqual([{ state: 'queued', reason: null }])
  })

  test('C-08 message id, room and parts appear in what the agent reads', async () => {
    await say('m1', 'hello')
    expect(seen[0]?.message).toMatchObject({ id: 'm1', thread_id: 'A', parts: [{ kind: 'text', content: 'hello' }] })
  })

  test('C-11 a message is unseen, then seen; other connections do not know it; after its receipt is gone it is too old', async () => {
    const sentAt = '2025-01-01T00:00:00.000Z'
    const outcome = async (connection?: string, at?: string) => {
      const event = { id: 'm1', from: 'ada', text: 'hello', ...(at === undefined ? {} : { sentAt: at }) }
      const received = await gateway.deliver(event, connection)
      return received.kind === 'stored' ? received.acceptances.map((acceptance) => acceptance.kind) : received.kind
    }
    expect(await outcome()).toEqual(['accepted'])
    expect(await outcome()).toEqual(['duplicate'])
    expect(await outcome('loopback-edit')).toEqual(['accepted'])
    await gateway.settle()
    await database().query(nameStatement('test_old', "update inbox set ended_at = now() - interval '200 days'"), [])
    await createSweepStore(database(), 'default').sweep({
      contentDays: 90,
      refusedHours: 24,
      receiptDays: 120,
      auditDays: 400,
      batch: 10,
    })
    expect(await outcome(undefined, sentAt)).toEqual(['stale'])
  })

  test('C-28 the same message delivered twice at once runs once and is answered once', async () => {
    await Promise.all(Array.from({ length: 20 }, () => gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })))
    await gateway.settle()
    expect({ runs: seen.length, texts: texts() }).toEqual({ runs: 1, texts: ['re: hello'] })
  })

  test('C-29 every end of a run has a rendering of its own, and never an old reply', async () => {
    await say('m0', 'first')
    const statuses = ['input_required', 'refused', 'failed', 'cancelled'] as const
    for (const status of statuses) {
      reply = () => ({ status, parts: [] })
      await say(status, 'go on')
    }
    const said = texts().slice(1)
    expect(new Set(said).size).toBe(statuses.length)
    expect(said).not.toContain('re: first')
  })
})

describe('loop: external message', () => {
  test.each([
    ['room_kind DM', { room_kind: 'DM' }],
    ['connector with a space and a mark', { connector_id: 'bad id!' }],
    ['blank provider', { external_provider: ' ' }],
  ])('C-27 refuses %s', (_name, wrong) => {
    const given = { connector_id: 'c', external_provider: 'p', ...wrong }
    expect(channelContextSchema.safeParse(given).success).toBe(false)
  })

  test('C-27 writes slugs in one way', () => {
    expect(channelContextSchema.parse({ connector_id: ' My_Relay ', external_provider: 'P' })).toMatchObject({
      connector_id: 'my-relay',
      external_provider: 'p',
      external_conversation_id: null,
      from_self: false,
    })
  })
})
