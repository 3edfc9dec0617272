// What an agent, a tool or a hook of the developer's threw: kept with its turn for operators, and told to no one else.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { type AgentDefinition, defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { renderTimeline } from '../../src/cli/explain.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { erasePerson } from '../../src/identity/erase.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { startApi } from '../doubles/api.ts'
import { tablesWith } from '../doubles/find-text-in-database.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { madeToken } from '../doubles/tokens.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

type Exception = {
  readonly attempt: number
  readonly source: string
  readonly name: string | null
  readonly message: string
  readonly stack: readonly string[]
  readonly event: string
}

const exceptions = nameStatement(
  'test_exceptions',
  `select attempt, event #>> '{metadata,source}' as source, event #>> '{metadata,name}' as name,
     event #>> '{metadata,error,message}' as message, event #> '{metadata,error,stack}' as stack, event::text as event
   from run_events where event ->> 'type' = 'exception' order by run_id, seq`,
)
const states = nameStatement('test_states', 'select state from inbox where message_id = $1')
const hurry = nameStatement('test_hurry', 'update lanes set next_at = now()')
const denials = nameStatement(
  'test_denials',
  `select code, rule, detail from audit_log where action = 'tool.call' and outcome = 'denied' order by seq`,
)

describeOnDatabase('what was thrown', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway

  const startFunction = (run: AgentDefinition['run']) => {
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin),
    })
  }
  const startModel = (changes: Partial<ModelAgentDefinition>) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', model, modelRetries: { attempts: 1 }, ...changes })],
      connections: loopbackConnections(vendor.origin),
    })
  }
  const until = (id: string, state: string) =>
    settleUntil(
      gateway,
      async () => (await database().query<{ state: string }>(states, [id]))[0]?.state === state,
      60_000,
    )
  const say = async (text: string, state: 'answered' | 'dead' = 'answered') => {
    await gateway.deliver({ id: 'm1', from: 'ada', text })
    await until('m1', state)
  }
  const thrown = () => database().query<Exception>(exceptions, [])
  const explained = async (id: string) => {
    const found = await explainById({ db: openTenantDb(database(), 'default'), agents: ['demo'] }, id)
    if (found.kind !== 'explained') throw new Error(`${id} is ${found.kind}`)
    return renderTimeline(found.explanation, { isColourful: false, columns: 120, now: Date.now() })
  }
  const told = () => JSON.stringify([gateway.logged, vendor.messages])
  const call = (name: string, args: object) => ({ id: 'c1', name, arguments: JSON.stringify(args) })
  const order = (execute: (args: { item: string }) => unknown, more: object = {}) =>
    defineTool({
      name: 'shop/order',
      description: 'Orders.',
      parameters: z.object({ item: z.string() }),
      ...more,
      execute,
    })

  beforeEach(async () => {
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('by an agent is kept for every try, with its stack and its causes, and shown by explain', async () => {
    startFunction(() => {
      throw new Error('Stripe says card declined', { cause: new RangeError('limit of 500 EUR') })
    })
    await say('pay please', 'dead')
    const all = await thrown()
    expect(all.map(({ attempt, source, message }) => [attempt, source, message])).toEqual([
      [1, 'agent', 'Stripe says card declined'],
      [2, 'agent', 'Stripe says card declined'],
      [3, 'agent', 'Stripe says card declined'],
    ])
    expect(all[0]?.stack[0]).toContain('thrown-errors.test.ts')
    expect(all[0]?.event).toContain('limit of 500 EUR')
    const story = await explained('m1')
    expect(story).toContain('Stripe says card declined')
    expect(story).toContain('Caused by RangeError: limit of 500 EUR')
    expect(story).toMatch(/at .*thrown-errors\.test\.ts:\d+/)
    expect(told()).not.toContain('Stripe')
  })

  test('by a tool is kept under its name, and neither the model nor the person is told', async () => {
    const tool = order(() => {
      throw new TypeError('SECRET-INTERNAL-STATE of the warehouse')
    })
    startModel({ tools: [tool] })
    server.script({ calls: [call('shop__order', { item: 'tea' })] }, { text: 'That did not work.' })
    await say('order tea')
    expect((await thrown()).map(({ source, name, message }) => [source, name, message])).toEqual([
      ['tool', 'shop/order', 'SECRET-INTERNAL-STATE of the warehouse'],
    ])
    expect(await explained('m1')).toContain('SECRET-INTERNAL-STATE of the warehouse')
    expect(told()).not.toContain('SECRET-INTERNAL-STATE')
    expect(JSON.stringify(server.requests)).not.toContain('SECRET-INTERNAL-STATE')
    const line = gateway.logged.find(({ event }) => event === 'tool_failed')
    expect(line?.facts).toMatchObject({ tool: 'shop/order', error: 'TypeError', agent: 'demo' })
  })

  test('by a step, a mediator, a completion policy and a watcher is told to the operator', async () => {
    const tool = order(() => 'ordered')
    startModel({
      tools: [tool],
      preToolMediator: () => {
        throw new Error('mediator broke')
      },
      completionPolicy: () => {
        throw new Error('policy broke')
      },
      onEvent: (name) => {
        if (name === 'turn_started') throw new Error('watcher broke')
      },
    })
    server.script({ calls: [call('shop__order', { item: 'tea' })] }, { text: 'No.' })
    await say('order tea')
    const all = (await thrown()).map(({ source, message }) => `${source}: ${message}`)
    expect(all).toContain('mediator: mediator broke')
    expect(all).toContain('completion_policy: policy broke')
    expect(all).toContain('watcher: watcher broke')
    expect(told()).not.toContain('broke')
    gateway.stop()

    startFunction(async (_message, { step }) => {
      await step('charge', async () => {
        throw new Error('step broke')
      })
      return 'never'
    })
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'charge' })
    await until('m2', 'dead')
    expect((await thrown()).map(({ source, name, message }) => `${source} ${name}: ${message}`)).toContain(
      'step charge: step broke',
    )
  })

  test('by a provider keeps what the provider said, without its key', async () => {
    startModel({})
    server.script({
      status: 401,
      body: JSON.stringify({ error: { message: 'Incorrect API key provided: sk-live-1234567890abcdef' } }),
    })
    await say('hello')
    const [error] = await thrown()
    expect(error?.source).toBe('model')
    expect(error?.event).not.toContain('sk-live-1234567890abcdef')
    expect(await explained('m1')).toContain('the model')
  })

  test('shows no secret, is 8 KB at most, and a hundred of them are twenty', async () => {
    const tool = order(
      ({ item }) => {
        throw new Error(
          `token xoxb-12345678-abcdefgh of ${item} at https://u:hunter22@db/x?api_key=abc ${'x'.repeat(30_000)}`,
        )
      },
      { sensitive_parameters: ['item'], idempotent: true },
    )
    startModel({ tools: [tool], maxTurns: 3 })
    const calls = Array.from({ length: 60 }, (_, index) => ({
      ...call('shop__order', { item: `canary-${index}` }),
      id: `c${index}`,
    }))
    server.script({ calls }, { text: 'No.' })
    await say('order tea')
    const all = await thrown()
    expect(all).toHaveLength(20)
    for (const { event } of all) {
      expect(event.length).toBeLessThan(9_000)
      expect(event).not.toMatch(/xoxb-12345678|hunter22|api_key=abc|canary-\d/)
    }
  })

  test('at every try of a long outage is kept of the first tries and of the newest', async () => {
    let tries = 0
    gateway = createTestGateway(database(), {
      agents: [
        defineAgent({
          slug: 'demo',
          run() {
            tries += 1
            if (tries > 45) return 'back again'
            throw new GatewayError('provider_unavailable', `away for the ${tries}. time`)
          },
        }),
      ],
      connections: loopbackConnections(vendor.origin),
      turns: { maxOutageMs: 60_000 },
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    await settleUntil(
      gateway,
      async () => {
        await database().query(hurry, [])
        return (await database().query<{ state: string }>(states, ['m1']))[0]?.state === 'answered'
      },
      60_000,
    )
    const kept = (await thrown()).map(({ message }) => Number(/\d+/.exec(message)?.[0]))
    expect(kept.slice(0, 39)).toEqual(Array.from({ length: 39 }, (_, index) => index + 1))
    expect(kept.slice(39)).toEqual([45])
  })

  test('goes with the person who is forgotten', async () => {
    startFunction(() => {
      throw new Error('thrown-canary-55')
    })
    await say('hello', 'dead')
    expect(await tablesWith(database(), 'thrown-canary-55')).toEqual(['run_events'])
    const store = createEraseStore(database(), 'default')
    await erasePerson(
      { store, monotonicMs: () => performance.now() },
      { principal: 'loopback:ada', actor: 'test', budgetMs: 5_000, from: null },
    )
    expect(await tablesWith(database(), 'thrown-canary-55')).toEqual([])
  })

  test('is in no answer, stream, history or session of the caller whose run it was, and in the events of the run', async () => {
    let tries = 0
    const agent = defineAgent({
      slug: 'demo',
      run(_message, { report, show }) {
        tries += 1
        show('working ')
        report(new Error('reported-canary-56'))
        if (tries > 1) return 'done'
        throw new Error('thrown-canary-56')
      },
    })
    const api = startApi(database(), [agent])
    gateway = api.gateway
    const { clear: token } = await madeToken(database(), { scopes: ['run', 'own'], principal: 'test:ada' })
    const messages = [{ id: 'u1', role: 'user', content: 'hello' }]
    const body = JSON.stringify({ threadId: 't1', runId: 'r1', messages })
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const streamed = await api.request('/api/v1/agent/run', { method: 'POST', headers, body }, { token })
    const own = [await streamed.text()]
    expect(own[0]).toContain('done')
    for (const path of ['/history?threadId=t1', '/sessions'])
      own.push(await (await api.request(`/api/v1/agent${path}`, {}, { token })).text())
    own.push((await api.request('/admin/runs/r1/events', {}, { token })).statusText)
    const again = await api.request('/api/v1/agent/run', { method: 'POST', headers, body }, { token })
    own.push(await again.text())
    expect(own.join()).not.toContain('canary-56')
    const events = JSON.stringify((await api.operate('GET', '/admin/runs/r1/events')).body)
    expect(events).toContain('thrown-canary-56')
    expect(events).toContain('reported-canary-56')
    // A token that only looks is shown nothing that was said, and an error may quote it.
    const { clear: looking } = await madeToken(database(), { scopes: ['read'] })
    const [inbox] = await database().query<{ id: string }>(nameStatement('test_inbox', 'select id from inbox'), [])
    const shown = JSON.stringify((await api.operate('GET', `/admin/explain/${inbox?.id}`, undefined, looking)).body)
    expect(shown).not.toContain('canary-56')
    expect(shown).toContain('thrown-errors.test.ts')
    await api.stop()
  })

  test('a denied call is in the audit log with the rule that denied it', async () => {
    const forbidden = order(() => 'ordered', { action_policy: 'forbidden' })
    const capable = defineTool({
      name: 'shop/refund',
      description: 'Refunds.',
      parameters: z.object({}),
      required_capability: 'refunds',
      execute: () => 'refunded',
    })
    const checked = defineTool({ name: 'shop/look', description: 'Looks.', parameters: z.object({}), execute: () => 1 })
    startModel({
      tools: [forbidden, capable, checked],
      preToolMediator: ({ tool_name }) =>
        tool_name === 'shop/look' ? { action: 'reject', error: 'not now' } : { action: 'proceed' },
    })
    server.script(
      {
        calls: [
          { ...call('shop__order', { item: 'tea' }), id: 'c1' },
          { ...call('shop__refund', {}), id: 'c2' },
          { ...call('shop__look', {}), id: 'c3' },
        ],
      },
      { text: 'No.' },
    )
    await say('do it all')
    expect(await database().query(denials, [])).toEqual([
      { code: 'action_forbidden', rule: 'tool', detail: { tool: 'shop/order' } },
      { code: 'capability_denied', rule: 'capability:refunds', detail: { tool: 'shop/refund' } },
      { code: 'pre_tool_mediation_rejected', rule: 'mediator', detail: { tool: 'shop/look' } },
    ])
  })
})
