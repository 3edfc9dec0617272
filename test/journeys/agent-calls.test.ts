// An agent asks another one inside its own turn: journaled with it, bounded with it, admitted like anybody's message.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type Agent, type AgentContext, defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import type { Model, ModelRequest, ModelTurn } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { type NormalizedMessage, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { isGatewayError } from '../../src/lib/errors.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)
const events = nameStatement('test_events', 'select event from run_events order by seq')
const ends = nameStatement('test_ends', 'select status, usage, agent from runs order by created_at')
const fates = nameStatement(
  'test_fates',
  "select state || coalesce('(' || reason || ')', '') as fate from inbox order by seq",
)
const lines = nameStatement('test_lines', 'select agent, count(*)::int as count from sessions group by 1')

type Event = { readonly type: string; readonly metadata: Readonly<Record<string, unknown>> }

describeOnDatabase('an agent call', (database) => {
  let vendor: VendorStub
  let running: TestGateway[]
  const start = (agents: readonly Agent[], changes: Partial<ParleyConfig> = {}, more = {}): TestGateway => {
    const connections = loopbackConnections(vendor.origin)
    const gateway = createTestGateway(database(), { agents, connections, ...changes }, more)
    running.push(gateway)
    return gateway
  }
  const answers = () => vendor.messages.map((message) => message.text)
  const ask = async (gateway: TestGateway, text: string, id = 'm1') => {
    await gateway.deliver({ id, from: 'ada', text })
    await settleUntil(gateway, () => answers().length > 0)
    return answers().at(-1)
  }
  const told = async () => (await database().query<{ event: Event }>(events, [])).map(({ event }) => event)

  beforeEach(async () => {
    vendor = await startVendorStub()
    running = []
  })
  afterEach(async () => {
    for (const gateway of running) gateway.stop()
    await vendor.close()
  })

  /** Passes on what it is told, in the order of its name: a asks b, b asks c. */
  const relay = (slug: string, next: string | undefined, changes: Partial<Agent> = {}): Agent =>
    defineAgent({
      slug,
      async run(message, { agents }) {
        if (next === undefined) return `${slug}: ${textOf(message.parts)}`
        try {
          const reply = await agents.call(next, `${textOf(message.parts)} from ${slug}`)
          return `${slug}: ${textOf(reply?.parts ?? [])}`
        } catch (error) {
          if (!isGatewayError(error, 'agent_call_denied')) throw error
          return `${slug}: ${next} refused (${String(error.details['reason'])})`
        }
      },
      ...changes,
    })

  test('answers the one that asked it, and the person hears one reply', async () => {
    expect(await ask(start([relay('a', 'b'), relay('b', undefined)]), 'hi')).toBe('a: b: hi from a')
    expect(answers()).toHaveLength(1)
    expect((await told()).map(({ type, metadata }) => `${type} ${metadata['agent']}`)).toEqual([
      'agent_call_started b',
      'agent_call_answered b',
    ])
    expect(await database().query(lines, [])).toEqual([{ agent: 'a', count: 1 }])
  })

  test('sees the same person under the same evidence, for itself, and nothing of the conversation', async () => {
    const seen: { message: NormalizedMessage; context: AgentContext }[] = []
    const b = defineAgent({
      slug: 'b',
      run(message, context) {
        seen.push({ message, context })
        return 'ok'
      },
    })
    const gateway = start([relay('a', 'b'), b])
    await ask(gateway, 'first')
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'second' })
    await settleUntil(gateway, () => answers().length === 2)
    const { message, context } = seen[1] ?? {}
    expect(context).toMatchObject({ agent: 'b', principal: expect.any(String), history: [], transcript: [] })
    expect(context?.principal).not.toBe('')
    expect(message).toMatchObject({
      recipient: '@b@parley.localhost',
      history: [],
      sender: { address: '@ada@loopback.parley.localhost' },
      recipient_capabilities: {
        mention_relay: { kind: 'none' },
        agent_chain: { hop: 1, max_hops: 4, is_final: false },
      },
    })
    expect(context?.evidence).toEqual([
      expect.objectContaining({ subject: 'loopback:ada', audience: '@b@parley.localhost' }),
    ])
    expect(textOf(message?.parts ?? [])).toBe('second from a')
  })

  test('has to let the person in itself', async () => {
    const closed = { access: { mode: 'allow_list', allow: ['loopback:bob'] } } as const
    expect(await ask(start([relay('a', 'b'), relay('b', undefined, closed)]), 'hi')).toBe(
      'a: b refused (not_on_allow_list)',
    )
    expect(await told()).toEqual([{ type: 'agent_call_denied', metadata: { agent: 'b', reason: 'not_on_allow_list' } }])
  })

  test('that is in the chain already is not asked again; one that answered may be', async () => {
    expect(await ask(start([relay('a', 'b'), relay('b', 'a')]), 'hi')).toBe('a: b: a refused (gw:agent_loop)')
    const twice = defineAgent({
      slug: 'a',
      async run(_message, { agents }) {
        const replies = [await agents.call('b', 'x'), await agents.call('b', 'x')]
        return replies.map((reply) => textOf(reply?.parts ?? [])).join(' + ')
      },
    })
    const gateway = start([twice, relay('b', undefined)])
    await gateway.deliver({ id: 'm2', from: 'bob', text: 'hi', conversation: 'other' })
    await settleUntil(gateway, () => answers().length === 2)
    expect(answers()[1]).toBe('b: x + b: x')
  })

  test('of a called agent by a called agent, and so on, is asked four deep and no deeper', async () => {
    const chain = ['a', 'b', 'c', 'd', 'e', 'f'].map((slug, index, all) => relay(slug, all[index + 1]))
    expect(await ask(start(chain), 'hi')).toBe('a: b: c: d: e: f refused (gw:hop_limit)')
  })

  test('that nobody named is none', async () => {
    const named = relay('a', 'c', { agentCalls: ['b'] })
    expect(await ask(start([named, relay('b', undefined), relay('c', undefined)]), 'hi')).toBe(
      'a: c refused (agent_unknown)',
    )
  })

  test('is listed with its address; an unknown one stops the start', async () => {
    const a = defineAgent({ slug: 'a', run: (_message, { agents }) => JSON.stringify(agents.list()) })
    const b = relay('b', undefined, { description: 'Repeats.' })
    expect(await ask(start([a, b]), 'hi')).toBe(
      JSON.stringify([{ slug: 'b', address: '@b@parley.localhost', description: 'Repeats.' }]),
    )
    expect(() => start([relay('a', 'b', { agentCalls: ['a', 'x'] })])).toThrow(
      /agentCalls names "x", which is no agent/,
    )
  })

  test('that would be woken later is not done; the agent that asked is told so', async () => {
    const later = defineAgent({
      slug: 'b',
      run(_message, { schedule }) {
        schedule('later', 1_000, {})
        return 'never said'
      },
    })
    expect(await ask(start([relay('a', 'b'), later]), 'hi')).toBe('a: b refused (no_conversation)')
  })

  describe('of a model', () => {
    let charges: number
    let asked: Record<string, ModelRequest[]>
    beforeEach(() => {
      charges = 0
      asked = {}
    })

    const charge = (changes = {}) =>
      defineTool({
        name: 'bill/charge',
        description: 'Charges.',
        parameters: z.object({ amount: z.number() }),
        execute: ({ amount }) => {
          charges += 1
          return `charged ${amount}`
        },
        ...changes,
      })
    const usage = { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 }
    const scripted =
      (slug: string, script: (request: ModelRequest) => ModelTurn): Model =>
      async (request) => {
        asked[slug] = [...(asked[slug] ?? []), request]
        return { usage, ...script(request) }
      }
    const resultIn = ({ messages }: ModelRequest) => messages.findLast((line) => line.type === 'tool_result')?.content
    const calls = (name: string, parameters: Record<string, unknown>): ModelTurn => ({
      tool_calls: [{ name, parameters }],
    })
    const desk = (changes: Partial<ModelAgentDefinition> = {}): Agent =>
      defineAgent({
        slug: 'desk',
        agentCalls: ['billing'],
        model: scripted('desk', (request) => {
          const result = resultIn(request)
          return result === undefined
            ? calls('agent/billing', { message: 'Charge 5.' })
            : { content: `Billing says ${result}` }
        }),
        ...changes,
      })
    const billing = (changes: Partial<ModelAgentDefinition> = {}): Agent =>
      defineAgent({
        slug: 'billing',
        description: 'Charges people.',
        tools: [charge()],
        model: scripted('billing', (request) => {
          const result = resultIn(request)
          return result === undefined ? calls('bill/charge', { amount: 5 }) : { content: `done: ${result}` }
        }),
        ...changes,
      })

    test('is a tool, with its own tools and instructions; its use counts with its caller’s', async () => {
      const said = await ask(start([desk(), billing({ instructions: 'Be exact.' })]), 'pay')
      expect(said).toContain('charged 5')
      expect(charges).toBe(1)
      expect(asked['desk']?.[0]?.tools.map((tool) => tool.name)).toEqual(['agent/billing'])
      const [first] = asked['billing'] ?? []
      expect(first?.tools.map((tool) => tool.name)).toEqual(['bill/charge'])
      expect(first?.system).toBe('Be exact.\n\nThis is hop 1 of 4 in a chain of agents; 3 remaining.')
      expect(first?.messages.map((line) => line.content)).toEqual(['Charge 5.'])
      expect((await told()).filter(({ metadata }) => metadata['agent'] === 'billing').map(({ type }) => type)).toEqual([
        'agent_call_started',
        'turn_started',
        'tool_call',
        'tool_result',
        'turn_started',
        'completed',
        'agent_call_answered',
      ])
      expect(await database().query(ends, [])).toMatchObject([
        { status: 'completed', agent: 'desk', usage: { total_tokens: 400 } },
      ])
    })

    test('is shown the tools of a pipeline, and a person who asks it the tools of a chat; each acts as its policy says for that mode', async () => {
      const tool = (name: string, modes: readonly string[]) =>
        defineTool({ name, description: name, parameters: z.object({}), modes, execute: () => 'x' })
      const tools = [
        tool('x/chat', ['chat']),
        tool('x/pipe', ['pipeline']),
        charge({ action_policy_chat: 'forbidden' }),
      ]
      const shown = () => asked['billing']?.at(0)?.tools.map(({ name }) => name)
      expect(await ask(start([desk(), billing({ tools })]), 'pay')).toContain('charged 5')
      expect(shown()).toEqual(['x/pipe', 'bill/charge'])
      asked = {}
      const alone = start([billing({ tools })])
      await alone.deliver({ id: 'm2', from: 'bob', text: 'pay', conversation: 'other' })
      await settleUntil(alone, () => answers().length === 2)
      expect(shown()).toEqual(['x/chat', 'bill/charge'])
      expect([answers()[1], charges]).toEqual([expect.stringContaining('not allowed here'), 1])
    })

    test.each([
      ['before its caller’s model answered', 1, 1],
      ['before its model answered', 2, 1],
      ['in the middle of its tool', 3, 0],
      ['after its tool, before its model answered again', 4, 1],
      ['after it, before its caller went on', 5, 1],
    ] as const)('whose process dies %s goes on, and its tool runs once', async (_when, hit, expected) => {
      let hits = 0
      let isDead = false
      const failpoint = (name: string): Promise<void> | undefined => {
        if (name !== 'before:effect') return undefined
        hits += 1
        if (hits !== hit) return undefined
        isDead = true
        return new Promise(() => {})
      }
      const agents = [desk(), billing()]
      const dying = start(agents, {}, { failpoint })
      await dying.deliver({ id: 'm1', from: 'ada', text: 'pay' })
      const deadline = new AbortController()
      void dying.gateway.drain({ deadline: deadline.signal })
      await expect.poll(() => isDead, { timeout: 20_000 }).toBe(true)
      deadline.abort()
      dying.stop()
      await database().query(expire, [])
      const next = start(agents)
      await settleUntil(next, () => answers().length > 0)
      await settleUntil(next, async () => (await database().query<{ fate: string }>(fates, []))[0]?.fate === 'answered')
      expect(charges).toBe(expected)
      expect(answers()).toHaveLength(1)
      // A step that may have happened is not done again, and both agents learn that nobody knows.
      expect(answers()[0]).toContain(expected === 1 ? 'charged 5' : 'may or may not have happened')
      expect({ desk: asked['desk']?.length, billing: asked['billing']?.length }).toEqual({ desk: 2, billing: 2 })
      expect(await listMessageCountsByConnection(next.deps.db)).toMatchObject([
        { received: 1, answered: 1, inFlight: 0 },
      ])
    })

    test('is not offered where the chain ends, and its model is told', async () => {
      const last = defineAgent({
        slug: 'last',
        agentCalls: ['billing'],
        model: scripted('last', () => ({ content: 'the end' })),
      })
      const chain = ['a', 'b', 'c', 'd'].map((slug, index, all) => relay(slug, all[index + 1] ?? 'last'))
      expect(await ask(start([...chain, last, billing()]), 'hi')).toBe('a: b: c: d: the end')
      const [request] = asked['last'] ?? []
      expect(request?.tools).toEqual([])
      expect(request?.system).toContain('This is the final hop (4 of 4)')
    })

    test('uses up the budgets of its caller', async () => {
      const budgets = [{ name: 'tool_calls', ceiling: 1 }]
      const said = await ask(start([desk({ budgets }), billing()]), 'pay')
      expect(charges).toBe(1)
      expect(asked['billing']).toHaveLength(1)
      expect(asked['desk']).toHaveLength(1)
      expect(said).toContain('used up')
      expect(await database().query(ends, [])).toMatchObject([{ status: 'budget_exceeded' }])
    })

    test('uses up the tokens of its caller', async () => {
      const said = await ask(start([desk({ budgets: [{ name: 'tokens', ceiling: 250 }] }), billing()]), 'pay')
      expect([asked['billing']?.length, asked['desk']?.length]).toEqual([2, 1])
      expect(said).toContain('used up')
    })

    test('that refuses is a failed call its caller can answer for', async () => {
      const closed = { access: { mode: 'closed', allow: [] } } as const
      expect(await ask(start([desk(), billing(closed)]), 'pay')).toContain('agent_closed')
      expect(charges).toBe(0)
    })
  })
})
