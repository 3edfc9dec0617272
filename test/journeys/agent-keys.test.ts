// Every key of defineAgent, each with what it does to a message that goes through the whole gateway.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { agentToListItem } from '../../src/agents/agent-settings.ts'
import { type Agent, defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { complete, incomplete } from '../../src/agents/loop/options.ts'
import type { Model, ModelRequest, ModelTurn } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select state, reason from inbox order by seq')
type Fate = { readonly state: string; readonly reason: string | null }

describeOnDatabase('a key of defineAgent:', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway | undefined
  let asked: ModelRequest[]
  let done: string[]

  const note = defineTool({
    name: 'demo/note',
    description: 'Notes something.',
    parameters: z.object({ text: z.string() }),
    execute: ({ text }) => {
      done.push(text)
      return 'noted'
    },
  })
  const calls = (...texts: string[]): ModelTurn => ({
    tool_calls: texts.map((text) => ({ name: 'demo/note', parameters: { text } })),
    usage: { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 },
  })
  /** Answers in this order; the last answer repeats. */
  const scripted =
    (...turns: readonly ModelTurn[]): Model =>
    async (request) => {
      asked.push(request)
      return turns[Math.min(asked.length, turns.length) - 1] ?? { content: 'nothing left' }
    }
  const agent = (changes: Partial<ModelAgentDefinition>, ...turns: readonly ModelTurn[]): Agent =>
    defineAgent({ slug: 'demo', model: scripted(...turns), tools: [note], ...changes })
  const run = (subject: Agent) => {
    gateway = createTestGateway(database(), { agents: [subject], connections: loopbackConnections(vendor.origin) })
  }
  const say = async (...texts: string[]): Promise<readonly Fate[]> => {
    if (gateway === undefined) throw new Error('not started')
    const isOver = async () =>
      (await database().query<Fate>(fates, [])).every(({ state }) => !['queued', 'in_turn'].includes(state))
    for (const [index, text] of texts.entries()) {
      await gateway.deliver({ id: `m${index}`, from: 'ada', text })
      await settleUntil(gateway, isOver, 30_000)
    }
    return database().query<Fate>(fates, [])
  }
  const replies = () => vendor.messages.map((message) => message.text)

  beforeEach(async () => {
    asked = []
    done = []
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway?.stop()
    gateway = undefined
    await vendor.close()
  })

  test('slug, label, description and provenance name it in lists', () => {
    const provenance = { sourceType: 'bundled-agent', sourcePackage: 'p', sourceVersion: '1.2.3', sourceRef: 'r' }
    expect(agentToListItem(agent({ label: 'Demo', description: 'Shows.', provenance, busy: 'steer' }))).toEqual({
      slug: 'demo',
      label: 'Demo',
      description: 'Shows.',
      busy: 'steer',
      access: null,
      source_type: 'bundled-agent',
      source_package: 'p',
      source_version: '1.2.3',
      source_ref: 'r',
      agent_calls: [],
    })
    expect(agentToListItem(agent({}))).toMatchObject({ label: 'demo', busy: 'queue', source_type: null })
  })

  test('run answers by itself', async () => {
    run(defineAgent({ slug: 'demo', busy: 'interrupt', run: () => 'by hand' }))
    await say('hi')
    expect(replies()).toEqual(['by hand'])
  })

  test('model answers, instructions and tools are what it is given', async () => {
    run(agent({ instructions: 'Be brief.' }, { content: 'brief' }))
    await say('hi')
    expect(replies()).toEqual(['brief'])
    expect(asked[0]).toMatchObject({ system: 'Be brief.', tools: [{ name: 'demo/note' }] })
  })

  test('toolPolicy hides a tool', async () => {
    run(agent({ toolPolicy: { deny: ['demo/note'] } }, { content: 'ok' }))
    await say('hi')
    expect(asked[0]?.tools).toEqual([])
  })

  test('actionPolicy forbids a call', async () => {
    run(agent({ actionPolicy: { tools: { 'demo/note': 'forbidden' } } }, calls('a'), { content: 'ok' }))
    await say('hi')
    expect([done, replies()]).toEqual([[], ['ok']])
  })

  test('preToolMediator refuses a call', async () => {
    run(agent({ preToolMediator: () => ({ action: 'reject', error: 'no' }) }, calls('a'), { content: 'ok' }))
    await say('hi')
    expect(done).toEqual([])
    expect(JSON.stringify(asked[1]?.messages)).toContain('no')
  })

  test('toolCallRules keep a run from ending too early', async () => {
    const toolCallRules = [{ require_tool_use: true, require_one_of: ['demo/note'] }]
    run(agent({ toolCallRules }, { content: 'done?', tool_calls: [] }, calls('must'), { content: 'done' }))
    await say('hi')
    expect([done, replies()]).toEqual([['must'], ['done']])
  })

  test.each([
    ['tool_calls', 2, 2],
    ['tool_calls_demo/note', 1, 1],
    ['turns', 3, 3],
    ['tokens', 150, 2],
  ])('budgets stop it: %s at %d', async (name, ceiling, expected) => {
    run(agent({ budgets: [{ name, ceiling }] }, calls('a'), calls('b'), calls('c'), calls('d'), { content: 'ok' }))
    await say('hi')
    expect(done).toHaveLength(expected)
    expect(replies()[0]).toContain('used up the steps')
  })

  test('maxTurns stops it', async () => {
    run(agent({ maxTurns: 2 }, calls('a'), calls('b'), calls('c')))
    await say('hi')
    expect(asked).toHaveLength(2)
  })

  test('completionPolicy says what is missing, and when it is done', async () => {
    const completionPolicy: ModelAgentDefinition['completionPolicy'] = (
      _tool,
      _declaration,
      _result,
      _context,
      turn,
    ) => (turn === 1 ? incomplete('write b as well') : complete('enough'))
    run(agent({ completionPolicy }, calls('a'), { content: 'and b', ...calls('b') }, { content: 'never asked' }))
    await say('hi')
    expect(JSON.stringify(asked[1]?.messages)).toContain('write b as well')
    expect([asked.length, replies()]).toEqual([2, ['and b']])
  })

  test('shouldContinue ends it', async () => {
    run(agent({ shouldContinue: () => false }, { content: 'first', ...calls('a') }, { content: 'never asked' }))
    await say('hi')
    expect([asked.length, replies()]).toEqual([1, ['first']])
  })

  test('history chooses what of the past it sees', async () => {
    const history: ModelAgentDefinition['history'] = () => ({ messages: [], dropped: 2, notes: [] })
    run(agent({ history }, { content: 'one' }, { content: 'two' }))
    await say('first', 'second')
    expect(asked.map((request) => request.messages.length)).toEqual([1, 1])
  })

  test('compaction shows a summary in place of the past', async () => {
    const compaction = { policy: { max_messages: 2, recent_messages: 1 }, summarize: async () => 'they greeted' }
    run(agent({ compaction }, { content: 'one' }, { content: 'two' }))
    await say('first', 'second')
    expect(asked[1]?.messages.map((line) => line.content)).toEqual([expect.stringContaining('they greeted'), 'second'])
  })

  test('onEvent sees its runs, and neither its exceptions nor its rejections matter', async () => {
    const seen: string[] = []
    const onEvent = async (name: string) => {
      seen.push(name)
      throw new Error('asynchronous')
    }
    const breaking: ModelAgentDefinition['onEvent'] = (name) => {
      void onEvent(name).catch(() => {})
      throw new Error('at once')
    }
    run(agent({ onEvent: breaking }, calls('a'), { content: 'ok' }))
    await say('hi')
    expect(seen).toEqual(['turn_started', 'tool_call', 'tool_result', 'turn_started', 'completed'])
    expect(replies()).toEqual(['ok'])
  })

  test.each([
    [
      { mode: 'allow_list', allow: ['loopback:ada'] },
      { state: 'answered', reason: null },
    ],
    [
      { mode: 'allow_list', allow: ['loopback:bob'] },
      { state: 'refused', reason: 'not_on_allow_list' },
    ],
    [
      { mode: 'closed', allow: [] },
      { state: 'refused', reason: 'agent_closed' },
    ],
  ] as const)('access %j narrows the connection', async (access, fate) => {
    run(agent({ access }, { content: 'ok' }))
    expect(await say('hi')).toMatchObject([fate])
  })

  test('access never widens the connection', async () => {
    const access = { mode: 'allow_list', allow: ['loopback:bob'] } as const
    gateway = createTestGateway(database(), {
      agents: [agent({ access: { mode: 'public', allow: [] } }, { content: 'ok' })],
      connections: loopbackConnections(vendor.origin, { access }),
    })
    expect(await say('hi')).toMatchObject([{ state: 'refused', reason: 'not_on_allow_list' }])
  })

  test('mcpServers and output have journeys of their own; together they are refused', () => {
    const mcpServers = [{ name: 'files', command: 'x' }]
    expect(agent({ mcpServers }).mcpServers?.map((server) => server.name)).toEqual(['files'])
    expect(() => agent({ mcpServers, output: {} })).toThrow('output goes with neither tools nor mcpServers')
    expect(() => agent({ output: {} })).toThrow('output goes with neither tools nor mcpServers')
  })
})
