// One place to watch from: what happens to messages, in runs and to tools of others, with where it happened.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { loopEventNames } from '../../src/agents/loop/events.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import type { Envelope, GatewayEvent, Observer } from '../../src/contract/gateway-events.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const login = defineTool({
  name: 'demo/login',
  description: 'Logs in.',
  parameters: z.object({ user: z.string(), password: z.string() }),
  execute: ({ password }) => `logged in with ${password}`,
})

const modelAgent = (): Agent => {
  const parameters = { user: 'ada', password: 'canary-secret' }
  const model: Model = async ({ turn }) =>
    turn === 1 ? { tool_calls: [{ name: 'demo/login', parameters }] } : { content: 'in' }
  return defineAgent({ slug: 'demo', model, tools: [login] })
}

const search = defineTool({
  name: 'demo/search',
  description: 'Searches.',
  parameters: z.object({ words: z.array(z.string()) }),
  execute: ({ words }) => ({ found: [{ title: `gardens of ${words.join(' ')}` }] }),
})

const searching: Model = async ({ turn }) =>
  turn === 1 ? { tool_calls: [{ name: 'demo/search', parameters: { words: ['Kyoto'] } }] } : { content: 'found' }

const lines = nameStatement(
  'test_lines',
  `select m.envelope from messages m join sessions s on s.id = m.session_id join conversations c on c.id = s.conversation_id
   where c.external_id = $1 order by m.seq`,
)

/** Writes over every text it can reach. */
function overwrite(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (typeof item === 'string') Reflect.set(value, key, 'overwritten')
    else overwrite(item)
  }
}

describeOnDatabase('whoever watches the gateway', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let events: GatewayEvent[]

  const start = (agent: Agent, onEvent: Observer = (event) => void events.push(event)) => {
    const connections = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), { agents: [agent], connections, onEvent })
  }
  const say = async () => {
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
    await settleUntil(gateway, () => vendor.messages.length > 0)
    return vendor.messages.map((message) => message.text)
  }
  beforeEach(async () => {
    events = []
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('sees the message and the run in order, each with run, session and agent', async () => {
    start(modelAgent())
    await say()
    expect(events.map(({ type }) => type)).toEqual([
      'channel.processing_started',
      'loop.turn_started',
      'loop.tool_call',
      'loop.tool_result',
      'loop.turn_started',
      'loop.completed',
      'channel.processing_ended',
      'channel.completed',
    ])
    const places = events.map(({ agent, connection, conversationId, messageIds, ...more }) => ({
      agent,
      connection,
      conversationId,
      messageIds,
      turnId: more.turnId,
      runId: more.runId,
      sessionId: more.sessionId,
    }))
    expect(places[0]).toMatchObject({ agent: 'demo', connection: 'loopback-client-id/loopback-client-id' })
    expect(Object.values(places[0] ?? {}).every((value) => value !== undefined && value.length > 0)).toBe(true)
    for (const place of places) expect(place).toEqual(places[0])
  })

  test('sees no secret that a tool was given or gave back', async () => {
    start(modelAgent())
    await say()
    expect(JSON.stringify(events)).not.toContain('canary-secret')
    expect(events[2]).toMatchObject({ payload: { tool_name: 'demo/login', parameters: { password: '[redacted]' } } })
  })

  test('sees what becomes of a tool that somebody else runs under a name of its own', async () => {
    const run: Agent['run'] = (_message, { emit }) => {
      emit('runtime_tool_pending', { request_id: 'r1' })
      return 'waiting'
    }
    start(defineAgent({ slug: 'demo', run }))
    await say()
    const told = events.filter(({ type }) => /runtime_tool/.test(type))
    expect(told).toMatchObject([
      { type: 'loop.runtime_tool_pending', payload: { request_id: 'r1' } },
      { type: 'runtime_tool.pending', payload: { request_id: 'r1' }, agent: 'demo' },
    ])
  })

  test.each<[string, Observer]>([
    [
      'throws',
      () => {
        throw new Error('canary-secret')
      },
    ],
    [
      'fails later',
      async () => {
        await Promise.resolve()
        throw new Error('canary-secret')
      },
    ],
  ])('changes nothing when it %s', async (_how, onEvent) => {
    start(modelAgent(), onEvent)
    expect(await say()).toEqual(['in'])
    const hooks = gateway.logged.filter(({ event }) => event === 'observer_failed').map(({ facts }) => facts['hook'])
    expect(hooks).toContain('loop.tool_call')
    expect(JSON.stringify(gateway.logged)).not.toContain('canary-secret')
  })

  test('changes nothing when it writes over what it is shown, for the gateway or for the agent', async () => {
    const transcripts: string[] = []
    for (const watcher of [() => {}, overwrite]) {
      const { model, tools } = { model: searching, tools: [search] }
      start(defineAgent({ slug: 'demo', model, tools, onEvent: (_name, payload) => watcher(payload) }), watcher)
      await gateway.deliver({
        id: `m${transcripts.length}`,
        from: 'ada',
        text: 'hi',
        conversation: `c${transcripts.length}`,
      })
      await settleUntil(gateway, () => vendor.messages.length > transcripts.length)
      const rows = await database().query<{ envelope: Envelope }>(lines, [`c${transcripts.length}`])
      transcripts.push(
        JSON.stringify(
          rows.map(({ envelope: { role, type, content, payload } }) => ({ role, type, content, payload })),
        ),
      )
      gateway.stop()
    }
    expect(transcripts[0]).toContain('gardens of Kyoto')
    expect(transcripts[1]).toBe(transcripts[0])
  })

  test('is told in words that the log takes for codes', () => {
    for (const name of loopEventNames) expect(`loop.${name}`).toMatch(/^[\w.:-]{1,80}$/)
  })
})
