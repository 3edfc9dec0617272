// What the hops tell: one line and one count each, under the trace of the message, for every way a message can go.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import type { Meter } from '../../src/contract/metrics.ts'
import { nameStatement } from '../../src/db/client.ts'
import { loopbackArrival } from '../doubles/loopback/fixtures.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const connection = 'loopback-client-id/loopback-client-id'
const given = '4bf92f3577b34da6a3ce929d0e0e4736'
const traces = nameStatement(
  'test_traces',
  'select i.trace_id as inbox, t.trace_id as turn, o.trace_id as outbox from inbox i join turns t on t.id = i.turn_id join outbox o on o.turn_id = t.id',
)

function recordingMeter(): Meter & { readonly told: string[] } {
  const told: string[] = []
  const tell = (...words: (string | undefined)[]): void => void told.push(words.filter((word) => word).join(' '))
  return {
    told,
    received: (_connection, outcome, reason) => tell('arrived', outcome, reason),
    committed: (_connection, ms) => tell('committed', ms >= 0 ? '' : 'negative'),
    claimed: () => {},
    turnEnded: (_connection, outcome) => tell('turn', outcome),
    agentFailed: (_connection, code) => tell('failed', code),
    toolCalled: (tool, outcome) => tell('tool', tool, outcome),
    modelSwitched: (_agent, reason) => tell('switched', reason),
    callerRefused: (reason) => tell('caller refused', reason),
    sent: (_connection, outcome, reason, ms) => tell('sent', outcome, reason, ms === undefined ? 'untried' : ''),
  }
}

describeOnDatabase('an observed journey', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let meter: ReturnType<typeof recordingMeter>
  const echo: AgentDefinition['run'] = (message) => `re: ${textOf(message.parts)}`
  const start = (run: AgentDefinition['run'] = echo, changes: Parameters<typeof createTestGateway>[1] = {}) => {
    meter = recordingMeter()
    const agents = [defineAgent({ slug: 'demo', run })]
    // Generous, so that a busy machine does not make an unknown outcome of a slow one.
    const connections = loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 5_000 } })
    const turns = { leaseMs: 30_000 }
    gateway = createTestGateway(database(), { agents, connections, turns, ...changes }, { meter })
  }
  const told = () => meter.told.filter((line) => line !== 'committed')
  const events = () => gateway.logged.map((line) => line.event)
  const receive = async (event: Parameters<typeof loopbackArrival>[0], headers: Record<string, string> = {}) => {
    const at = gateway.gateway.connections.find((each) => each.key === connection)
    const arrival = await loopbackArrival(event)
    if (at === undefined) throw new Error('no such connection')
    return gateway.gateway.receive(at, { ...arrival, headers: { ...arrival.headers, ...headers } })
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('is three lines under one trace, the one the webhook brought along', async () => {
    start()
    await receive({ id: 'm1', from: 'ada', text: 'hello' }, { traceparent: `00-${given}-00f067aa0ba902b7-01` })
    await gateway.settle()
    expect(gateway.logged.map(({ level, event, facts }) => [level, event, facts.trace, facts.connection])).toEqual([
      ['info', 'message_received', given, connection],
      ['info', 'turn_ended', given, connection],
      ['info', 'delivery_ended', given, connection],
    ])
    expect(gateway.logged.slice(1).map(({ facts }) => facts.turn)).toEqual([expect.any(String), expect.any(String)])
    expect(await database().query(traces, [])).toEqual([{ inbox: given, turn: given, outbox: given }])
    expect(meter.told).toEqual(['arrived accepted', 'committed', 'turn replied', 'sent delivered'])
  })

  test('makes a trace of its own where the header is none', async () => {
    start()
    await receive({ id: 'm1', from: 'ada', text: 'hello' }, { traceparent: '00-secret-01' })
    const [line] = gateway.logged
    expect(line?.facts.trace).toMatch(/^[0-9a-f]{32}$/)
  })

  test('counts what never becomes a message', async () => {
    start()
    await receive({ id: 'm1', from: 'ada', text: 'hello' })
    await receive({ id: 'm1', from: 'ada', text: 'hello' })
    await receive({ id: 'm2', from: 'ada', text: '  ' })
    await receive({ id: 'ping-1' })
    await receive({ id: 'm3', from: 'ada', text: 'hello' }, { 'x-loopback-signature': 'forged' })
    await receive({ id: 'm4', from: 'ada', text: 7 } as never)
    expect(told()).toEqual([
      'arrived accepted',
      'arrived duplicate',
      'arrived ignored empty_message',
      'arrived ignored nothing_said',
      'arrived rejected bad_signature',
      'arrived unreadable invalid_event',
    ])
  })

  test('counts failures of the agent by code, and the dead turn with its apology', async () => {
    start(() => {
      throw new RangeError('secret')
    })
    await receive({ id: 'm1', from: 'ada', text: 'hello' })
    await settleUntil(gateway, () => meter.told.some((line) => line.startsWith('sent')), 30_000)
    expect(told()).toEqual([
      'arrived accepted',
      'failed agent_failed',
      'turn again',
      'failed agent_failed',
      'turn again',
      'failed agent_failed',
      'turn dead',
      'sent delivered',
    ])
    const failed = gateway.logged.filter((line) => line.event === 'turn_failed')
    expect(failed.map(({ facts }) => facts.error)).toEqual(['RangeError', 'RangeError', 'RangeError'])
    expect(JSON.stringify(gateway.logged)).not.toContain('secret')
  })

  test('counts tries at a call by what they came to', async () => {
    start()
    const answering = (status: number, headers = {}) => ({ kind: 'answer', status, body: '{}', headers }) as const
    vendor.failNext('send', answering(429, { 'retry-after': '0' }), answering(503), answering(403))
    await receive({ id: 'm1', from: 'ada', text: 'hello' })
    await settleUntil(gateway, () => events().includes('delivery_failed'), 30_000)
    expect(
      told()
        .slice(2)
        .map((line) => line.split(' ').slice(0, 2).join(' ')),
    ).toEqual(['sent rate_limited', expect.stringMatching(/^sent (retry|unknown)$/), 'sent refused'])
    expect(events().slice(2)).toEqual(['delivery_delayed', 'delivery_delayed', 'delivery_failed'])
  })
})
