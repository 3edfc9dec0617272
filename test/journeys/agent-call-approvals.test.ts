// An agent that another one asked needs a person's consent: the person at the top of the chain is asked, and the chain goes on.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { type Agent, defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import type { Model, ModelRequest, ModelTurn } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const expireLeases = nameStatement(
  'test_expire_leases',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)
const expireAll = nameStatement(
  'test_expire',
  `update timers set due_at = now() - interval '1 s' where fired_at is null`,
)
const outdate = nameStatement('test_outdate', `update pending_actions set expires_at = now() - interval '1 s'`)
const unsettled = nameStatement(
  'test_unsettled',
  `select (select count(*) from inbox where state in ('queued', 'in_turn'))::int
    + (select count(*) from signals where state in ('queued', 'in_turn'))::int as count`,
)
const stored = nameStatement(
  'test_actions',
  `select id, status, tool_name as tool, creator, resolvers, resume, action -> 'apply_input' as input,
     resolution_result as result, resolution_error as error
   from pending_actions order by id`,
)
const transcript = nameStatement(
  'test_lines',
  `select m.envelope ->> 'role' || ' ' || (m.envelope ->> 'type') as line from messages m
   where m.session_id = (select r.session_id from runs r order by r.created_at limit 1) order by m.seq`,
)
const ends = nameStatement('test_ends', 'select status, usage ->> $1 as tokens, agent from runs order by created_at')
const eraseMessages = nameStatement('test_erase', 'update inbox set message = null, raw = null')

type Action = {
  readonly id: string
  readonly status: string
  readonly resume: unknown
  readonly input: unknown
  readonly result: unknown
}

describeOnDatabase('an approval for an agent that another one asked', (database) => {
  let vendor: VendorStub
  let running: TestGateway[]
  let charged: number[]
  let asked: Record<string, ModelRequest[]>
  let heard = 0

  beforeEach(async () => {
    vendor = await startVendorStub()
    running = []
    charged = []
    asked = {}
  })
  afterEach(async () => {
    for (const gateway of running) gateway.stop()
    await vendor.close()
  })

  const start = (agents: readonly Agent[], more = {}): TestGateway => {
    const gateway = createTestGateway(database(), { agents, connections: loopbackConnections(vendor.origin) }, more)
    running.push(gateway)
    return gateway
  }
  const isSettled = async () => (await database().query<{ count: number }>(unsettled, []))[0]?.count === 0
  const say = async (gateway: TestGateway, text: string, command?: { name: string; args: string }, from = 'ada') => {
    heard += 1
    await gateway.deliver({ id: `m${heard}`, from, text, ...(command === undefined ? {} : { command }) })
    await settleUntil(gateway, isSettled)
  }
  const decide = (gateway: TestGateway, name: 'approve' | 'reject', args = '', from = 'ada') =>
    say(gateway, `/${name} ${args}`, { name, args }, from)
  const texts = () => vendor.messages.map((message) => message.text)
  const actions = () => database().query<Action>(stored, [])

  const usage = { prompt_tokens: 60, completion_tokens: 40, total_tokens: 100 }
  const scripted =
    (slug: string, script: (request: ModelRequest) => ModelTurn): Model =>
    async (request) => {
      asked[slug] = [...(asked[slug] ?? []), request]
      return { usage, ...script(request) }
    }
  const results = ({ messages }: ModelRequest) =>
    messages.filter((line) => line.type === 'tool_result').map((line) => line.content)
  const charge = (changes = {}) =>
    defineTool({
      name: 'bill/charge',
      description: 'Charges.',
      parameters: z.object({ amount: z.number() }),
      approval: { summary: ({ amount }) => `charge ${amount} EUR` },
      execute: ({ amount }) => {
        charged.push(amount)
        return `charged ${amount}`
      },
      ...changes,
    })
  /** A model that makes these calls, one turn each, and then says what they came to. */
  const model = (slug: string, turns: readonly (readonly [string, Record<string, unknown>][])[]) =>
    scripted(slug, (request) => {
      const done = results(request)
      const answered = turns.findIndex((_, index) => turns.slice(0, index + 1).flat().length > done.length)
      const next = answered === -1 ? undefined : turns[answered]
      return next === undefined
        ? { content: `${slug} says: ${done.join(' and ')}` }
        : { tool_calls: next.map(([name, parameters]) => ({ name, parameters })) }
    })
  const desk = (changes: Partial<ModelAgentDefinition> = {}): Agent =>
    defineAgent({
      slug: 'desk',
      agentCalls: ['billing'],
      model: model('desk', [[['agent/billing', { message: 'Charge 5.' }]]]),
      ...changes,
    })
  const billing = (changes: Partial<ModelAgentDefinition> = {}): Agent =>
    defineAgent({
      slug: 'billing',
      tools: [charge()],
      model: model('billing', [[['bill/charge', { amount: 5 }]]]),
      ...changes,
    })
  /** Passes on what it is told and says what came back. */
  const relay = (slug: string, next: string): Agent =>
    defineAgent({
      slug,
      async run(message, { agents }) {
        const reply = await agents.call(next, textOf(message.parts))
        return `${slug}: ${textOf(reply?.parts ?? [])}`
      },
    })

  test('is asked of the person who wrote, with the agent and the tool named, and nothing runs before it', async () => {
    const gateway = start([desk(), billing()])
    await say(gateway, 'pay')
    expect(texts()).toHaveLength(1)
    expect(texts()[0]).toMatch(/^The agent billing needs an approval before it uses bill\/charge: charge 5 EUR\n/)
    expect(texts()[0]).toMatch(/- amount: 5\nReply \/approve [0-9a-f]{6} or \/reject [0-9a-f]{6}\. It expires in/)
    expect(charged).toEqual([])
    expect(await actions()).toMatchObject([
      { status: 'pending', tool: 'bill/charge', creator: 'loopback:ada', resolvers: 'requester' },
    ])
  })

  test('that is given lets the tool run once, and the whole chain goes on to one reply', async () => {
    const gateway = start([desk(), billing()])
    await say(gateway, 'pay')
    await decide(gateway, 'approve')
    expect(charged).toEqual([5])
    expect(texts().filter((text) => text.startsWith('desk says'))).toEqual([
      expect.stringContaining('billing says: \\"charged 5\\"'),
    ])
    expect({ desk: asked['desk']?.length, billing: asked['billing']?.length }).toEqual({ desk: 2, billing: 2 })
    const told = asked['billing']?.[1]?.messages.map((line) => line.type)
    expect(told).toEqual(['text', 'approval_required', 'tool_call', 'tool_result'])
    expect(asked['desk']?.[1]?.messages.map((line) => line.type)).toEqual(['text', 'tool_call', 'tool_result'])
    expect(await actions()).toMatchObject([{ status: 'accepted', resume: null, input: null, result: 'charged 5' }])
    expect(await database().query(ends, ['total_tokens'])).toEqual([
      { status: 'approval_required', tokens: null, agent: 'desk' },
      { status: 'completed', tokens: '400', agent: 'desk' },
    ])
    expect((await database().query<{ line: string }>(transcript, [])).map(({ line }) => line)).toEqual([
      'user text',
      'assistant multimodal_part',
      'assistant tool_call',
      'user tool_result',
      'assistant multimodal_part',
    ])
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([{ answered: 2, inFlight: 0 }])
  })

  test('that is refused reaches the agent that asked, with the reason, and nothing is done', async () => {
    const gateway = start([desk(), billing()])
    await say(gateway, 'pay')
    await decide(gateway, 'reject', `${/approve ([0-9a-f]{6})/.exec(texts()[0] ?? '')?.[1]} too much`)
    expect(charged).toEqual([])
    expect(texts().join('\n')).toContain('the person refused. Their reason: too much')
  })

  test('that runs out reaches the agent that asked', async () => {
    const gateway = start([desk(), billing()])
    await say(gateway, 'pay')
    await database().query(outdate, [])
    await database().query(expireAll, [])
    await settleUntil(gateway, () => texts().length > 1)
    expect(charged).toEqual([])
    expect(texts().at(-1)).toContain('it was not approved in time')
  })

  test('keeps to its terms: who may not decide is told so', async () => {
    const gateway = start([desk(), billing({ tools: [charge({ approval: { by: 'other' } })] })])
    await say(gateway, 'pay')
    expect(texts()[0]).toContain('Who may decide: another person than the one it is for.')
    await decide(gateway, 'approve')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes another person than the one it is for.')
    expect(charged).toEqual([])
    await decide(gateway, 'approve', '', 'bob')
    expect(charged).toEqual([5])
    expect(texts().join('\n')).toContain('desk says')
  })

  test('that a later call of the same run needs is a question of its own, and so is a call alike', async () => {
    const twice = model('billing', [[['bill/charge', { amount: 5 }]], [['bill/charge', { amount: 5 }]]])
    const keys: string[] = []
    const repeatable = charge({
      runtime: { duplicate_policy: 'repeatable' },
      idempotent: true,
      execute: ({ amount }: { amount: number }, { key }: { key: string }) => {
        keys.push(key)
        charged.push(amount)
        return `charged ${amount}`
      },
    })
    const gateway = start([desk(), billing({ model: twice, tools: [repeatable] })])
    await say(gateway, 'pay')
    await decide(gateway, 'approve')
    expect(charged).toEqual([5])
    expect(texts().filter((text) => text.startsWith('The agent billing needs'))).toHaveLength(2)
    await decide(gateway, 'approve')
    expect(charged).toEqual([5, 5])
    expect(new Set(keys).size).toBe(2)
    expect(texts().join('\n')).toContain('charged 5\\" and \\"charged 5')
    expect(asked['billing']).toHaveLength(3)
    expect(await actions()).toMatchObject([
      { status: 'accepted', resume: null },
      { status: 'accepted', resume: null },
    ])
  })

  test('of two calls in one step is asked one after the other, and one may be refused', async () => {
    const both = model('billing', [
      [
        ['bill/charge', { amount: 5 }],
        ['bill/charge', { amount: 7 }],
      ],
    ])
    const gateway = start([desk(), billing({ model: both })])
    await say(gateway, 'pay')
    await decide(gateway, 'reject')
    expect(
      texts()
        .filter((text) => text.startsWith('The agent billing needs'))
        .at(-1),
    ).toContain('charge 7 EUR')
    await decide(gateway, 'approve')
    expect(charged).toEqual([7])
    expect(texts().join('\n')).toMatch(/the person refused.*charged 7/)
    expect(asked['billing']).toHaveLength(2)
  })

  test('is asked at the top of a longer chain, whether its agents are models or functions', async () => {
    const gateway = start([relay('a', 'desk'), desk(), billing()])
    await say(gateway, 'pay')
    expect(texts()).toEqual([expect.stringContaining('The agent billing needs an approval')])
    await decide(gateway, 'approve')
    expect(charged).toEqual([5])
    expect(texts().join('\n')).toMatch(/^a: desk says: .*charged 5/m)
    const functions = start([relay('b', 'c'), relay('c', 'billing'), billing()])
    await functions.deliver({ id: 'other', from: 'eve', text: 'pay', conversation: 'elsewhere' })
    await settleUntil(functions, isSettled)
    await functions.deliver({
      id: 'yes',
      from: 'eve',
      text: '/approve',
      conversation: 'elsewhere',
      command: { name: 'approve', args: '' },
    })
    await settleUntil(functions, isSettled)
    expect(charged).toEqual([5, 5])
    expect(texts()).toContain('b: c: billing says: "charged 5"')
  })

  test('stops a function that caught it: its steps and messages come after the decision, and once', async () => {
    const done: string[] = []
    const careful = defineAgent({
      slug: 'careful',
      async run(_message, { agents, step, send }) {
        await step('before', async () => {
          done.push('before')
          return null
        })
        send('An extra message.')
        try {
          return `It says ${textOf((await agents.call('billing', 'Charge 5.'))?.parts ?? [])}`
        } catch {
          await step('instead', async () => {
            done.push('instead')
            return null
          })
          return 'I gave up.'
        }
      },
    })
    const gateway = start([careful, billing()])
    await say(gateway, 'pay')
    expect(texts()).toEqual([expect.stringContaining('The agent billing needs an approval')])
    await decide(gateway, 'approve')
    expect(done).toEqual(['before'])
    expect(texts()).toContain('An extra message.')
    expect(texts().filter((text) => text.startsWith('It says'))).toEqual(['It says billing says: "charged 5"'])
  })

  test('that a function asks for itself is given to its own signal', async () => {
    const payer = defineAgent({
      slug: 'payer',
      async run(_message, { pause }) {
        const wish = { summary: 'pay 9 EUR', apply_input: { amount: 9 }, resume: () => ({ note: 'kept' }) }
        return (await pause.approval(wish)).question
      },
      async onSignal({ payload }, { step }) {
        await step('pay', async () => {
          charged.push(9)
          return null
        })
        return JSON.stringify([payload['decision'], payload['apply_input'], payload['resume']])
      },
    })
    const gateway = start([relay('a', 'payer'), payer])
    await say(gateway, 'pay')
    expect(texts()[0]).toMatch(/^The agent payer needs an approval before it does this: pay 9 EUR\n/)
    await decide(gateway, 'approve')
    expect(charged).toEqual([9])
    expect(texts()).toContain('a: ["accepted",{"amount":9},{"note":"kept"}]')
  })

  test('of two agents asked at once is asked one after the other', async () => {
    const both = defineAgent({
      slug: 'both',
      async run(_message, { agents }) {
        const replies = await Promise.all([agents.call('billing', 'one'), agents.call('billing', 'two')])
        return replies.map((reply) => textOf(reply?.parts ?? [])).join(' + ')
      },
    })
    const gateway = start([both, billing()])
    await say(gateway, 'pay')
    expect(await actions()).toHaveLength(1)
    await decide(gateway, 'approve')
    expect(await actions()).toHaveLength(2)
    await decide(gateway, 'approve')
    expect(charged).toEqual([5, 5])
    expect(texts()).toContain('billing says: "charged 5" + billing says: "charged 5"')
  })

  test('goes together with one that the asking agent needs itself, before it and after it', async () => {
    const own = charge({ name: 'desk/log', approval: { summary: () => 'log it' } })
    const order = model('desk', [
      [
        ['desk/log', { amount: 1 }],
        ['agent/billing', { message: 'Charge 5.' }],
        ['desk/log', { amount: 2 }],
      ],
    ])
    const gateway = start([desk({ model: order, tools: [own] }), billing()])
    await say(gateway, 'pay')
    for (const _ of [1, 2, 3]) await decide(gateway, 'approve')
    expect(charged).toEqual([1, 5, 2])
    expect(texts().join('\n')).toMatch(/^desk says: .*charged 1.*charged 5.*charged 2/m)
    expect({ desk: asked['desk']?.length, billing: asked['billing']?.length }).toEqual({ desk: 2, billing: 2 })
  })

  test('leaves the conversation free while it waits', async () => {
    const chatty = scripted('desk', (request) => {
      const last = request.messages.findLast((line) => line.role === 'user')?.content
      const done = results(request).at(-1)
      if (last === 'hello') return { content: 'Hello to you.' }
      return done === undefined
        ? { tool_calls: [{ name: 'agent/billing', parameters: { message: 'Charge 5.' } }] }
        : { content: `desk says: ${done}` }
    })
    const gateway = start([desk({ model: chatty }), billing()])
    await say(gateway, 'pay')
    await say(gateway, 'hello')
    expect(texts().at(-1)).toBe('Hello to you.')
    await decide(gateway, 'approve')
    expect(charged).toEqual([5])
    expect(texts().join('\n')).toContain('charged 5')
  })

  test.each([
    ['before the tool began', 'before:effect', 1, 1],
    ['while the tool ran', 'after:effect', 1, 1],
    ['after the tool, before its model answered', 'before:effect', 2, 1],
    ['after its agent answered, before its caller went on', 'before:effect', 3, 1],
  ] as const)('whose process dies %s goes on, and the tool runs once', async (_when, point, hit, runs) => {
    const agents = [desk(), billing()]
    const first = start(agents)
    await say(first, 'pay')
    first.stop()
    let hits = 0
    let isDead = false
    const failpoint = (name: string): Promise<void> | undefined => {
      if (name !== point) return undefined
      hits += 1
      if (hits !== hit) return undefined
      isDead = true
      return new Promise(() => {})
    }
    const dying = start(agents, { failpoint })
    heard += 1
    await dying.deliver({ id: `m${heard}`, from: 'ada', text: '/approve', command: { name: 'approve', args: '' } })
    const deadline = new AbortController()
    void dying.gateway.drain({ deadline: deadline.signal })
    await expect.poll(() => isDead, { timeout: 20_000 }).toBe(true)
    deadline.abort()
    dying.stop()
    await database().query(expireLeases, [])
    const next = start(agents)
    await settleUntil(next, () => texts().some((text) => text.startsWith('desk says')))
    // Begun and not noted: it is not done again, and both agents learn that it is not known.
    const isUnknown = hit === 1
    expect(charged).toHaveLength(isUnknown && point === 'before:effect' ? 0 : runs)
    expect(texts().join('\n')).toContain(isUnknown ? 'may or may not have happened' : 'charged 5')
    expect({ desk: asked['desk']?.length, billing: asked['billing']?.length }).toEqual({ desk: 2, billing: 2 })
  })

  test('whose process dies right after the decision was stored goes on in the next one', async () => {
    const agents = [desk(), billing()]
    const first = start(agents)
    await say(first, 'pay')
    first.stop()
    const [action] = await actions()
    const next = start(agents)
    const app = createTestApp(next, database())
    const decided = await app.request(`/admin/approvals/${action?.id}/resolve`, {
      method: 'POST',
      body: '{"decision":"accepted"}',
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    })
    expect(decided.status).toBe(200)
    next.stop()
    const last = start(agents)
    await settleUntil(last, () => texts().some((text) => text.startsWith('desk says')))
    expect(charged).toEqual([5])
  })

  test('of a person whose message was erased meanwhile leads to nothing', async () => {
    const gateway = start([desk(), billing()])
    await say(gateway, 'pay')
    await database().query(eraseMessages, [])
    await decide(gateway, 'approve')
    expect(charged).toEqual([])
    expect(texts().join('\n')).not.toContain('charged')
  })

  test('that a timer leads to is for operators, the second one too', async () => {
    const agent = defineAgent({
      slug: 'demo',
      run(_message, { schedule }) {
        schedule('rent', 1, {})
        return 'I will.'
      },
      async onSignal(signal, { pause, agents }) {
        if (signal.kind !== 'approval') {
          await agents.call('billing', 'Charge 5.')
          return (await pause.approval({ summary: 'pay the rent', apply_input: {} })).question
        }
        if (signal.payload['resume'] === undefined) return undefined
        const isLast = JSON.stringify(signal.payload['resume']) !== '{}'
        if (isLast) return 'All done.'
        const resume = () => ({ isLast: true })
        return (await pause.approval({ summary: 'pay the deposit', apply_input: {}, resume })).question
      },
    })
    const gateway = start([agent, billing()])
    await say(gateway, 'pay my rent each month')
    const app = createTestApp(gateway, database())
    for (const summary of ['charge 5 EUR', 'pay the rent', 'pay the deposit']) {
      await settleUntil(gateway, () => texts().at(-1)?.includes(summary) === true)
      expect(texts().at(-1)).toContain('Who may decide: an operator.')
      await decide(gateway, 'approve')
      expect(texts().at(-1)).toBe('You cannot decide this. It takes an operator.')
      const waiting = (await actions()).find(({ status }) => status === 'pending')
      const decided = await app.request(`/admin/approvals/${waiting?.id}/resolve`, {
        method: 'POST',
        body: '{"decision":"accepted"}',
        headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
      })
      expect(decided.status).toBe(200)
      await settleUntil(gateway, isSettled)
    }
    expect(charged).toEqual([5])
    expect(texts()).toContain('All done.')
  })
})
