// Turns of several messages that are taken up again after a crash or a stop: what they did is done once, and what happened to
// their messages, people and tools meanwhile is minded.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import type { AgentContext } from '../../src/agents/context.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { type ConnectionConfig, textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { until } from '../doubles/background-gateway.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement(
  'test_resumed_fates',
  "select message_id as id, state || coalesce('(' || reason || ')', '') as fate from inbox order by seq",
)
const expire = nameStatement(
  'test_resumed_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)

describeOnDatabase('a turn of several messages', (database) => {
  let vendor: VendorStub
  let gateways: { readonly gateway: TestGateway; readonly end: AbortController }[]
  let effects: string[]
  let keys: Set<string>
  let isDying: boolean
  /** The first holder has come to where it stops for ever. */
  let isStuck: boolean

  beforeEach(async () => {
    vendor = await startVendorStub()
    gateways = []
    effects = []
    keys = new Set()
    isDying = true
    isStuck = false
  })
  afterEach(async () => {
    for (const { gateway, end } of gateways) {
      end.abort()
      gateway.stop()
    }
    await vendor.close()
  })

  const never = () => {
    isStuck = true
    return new Promise<never>(() => {})
  }
  const start = (agents: readonly Agent[], access?: ConnectionConfig['access']): TestGateway => {
    const connections = loopbackConnections(vendor.origin, access === undefined ? {} : { access })
    const gateway = createTestGateway(database(), { agents, connections })
    gateways.push({ gateway, end: new AbortController() })
    return gateway
  }
  const fate = async () => {
    const rows = await database().query<{ id: string; fate: string }>(fates, [])
    return Object.fromEntries(rows.map((row) => [row.id, row.fate]))
  }
  const settled = async () => !Object.values(await fate()).some((state) => /queued|in_turn/.test(state))
  const texts = () => vendor.messages.map((message) => message.text)
  const deliver = async (gateway: TestGateway, ...texts: readonly string[]) => {
    for (const text of texts) await gateway.deliver({ id: text, from: 'ada', text })
  }

  /** As after kill -9: it works until it is stuck, is never heard of again, and its lease runs out. */
  const die = async (gateway: TestGateway): Promise<void> => {
    const { end } = gateways.find((each) => each.gateway === gateway) ?? { end: new AbortController() }
    gateway.gateway.drain({ deadline: end.signal }).catch(() => {})
    await until(() => isStuck)
    end.abort()
    gateway.stop()
    isDying = false
    // A claim of its own that is on its way must find the lane taken.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await database().query(expire, [])
  }
  const orderAll = async (text: string, { step }: Pick<AgentContext, 'step'>) => {
    const dies = isDying
    await step(
      'order',
      async ({ key }) => {
        keys.add(key)
        return effects.push(text)
      },
      { args: text, label: 'order tea' },
    )
    if (dies) await never()
    return `ordered ${text.replaceAll('\n', ' and ')}`
  }
  const ordering = defineAgent({ slug: 'demo', run: (message, context) => orderAll(textOf(message.parts), context) })

  /** Ada's two messages share a turn, its order is made, and the process dies. */
  const dieAfterOrder = async (agent = ordering): Promise<void> => {
    const first = start([agent])
    await deliver(first, 'one', 'two')
    await die(first)
  }

  test('whose last try had heard its answer takes nothing in before it: what came meanwhile is answered for itself', async () => {
    const listening = defineAgent({
      slug: 'demo',
      busy: 'steer',
      async run(message, { step, hear }) {
        const text = textOf(message.parts)
        await step('order', async () => effects.push(text))
        const heard = await hear()
        const answer = async () => [text, heard?.content ?? 'nothing more'].join(', ').replaceAll('\n', ' and ')
        const said = await step('answer', answer, { effect: false })
        if (isDying) await never()
        return said
      },
    })
    await dieAfterOrder(listening)
    const second = start([listening])
    await deliver(second, 'three')
    await settleUntil(second, settled)
    expect(texts()).toEqual(['one and two, nothing more', 'three, nothing more'])
    expect(await fate()).toEqual({ one: 'merged', two: 'answered', three: 'answered' })
  })

  test('keeps the key of a call whose outcome is unknown when its model makes it again, also after a crash', async () => {
    const called: string[] = []
    const buy = defineTool({
      name: 'shop/buy',
      description: 'Buys.',
      label: 'buy tea',
      parameters: z.object({ what: z.string() }),
      idempotent: true,
      execute(_args, { key }) {
        called.push(key.replace(/^[^:]+:/, ''))
        if (called.length === 1) throw new Error('the connection was cut')
        return 'bought'
      },
    })
    const model: Model = async ({ messages }) => {
      const results = messages.filter(({ type }) => type === 'tool_result')
      if (results.length === 1 && isDying) await never()
      if (results.at(-1)?.payload['success'] === true) return { content: 'bought' }
      return { tool_calls: [{ name: 'shop/buy', id: `call-${results.length}`, parameters: { what: 'tea' } }] }
    }
    const buyer = defineAgent({ slug: 'demo', model, tools: [buy] })
    await dieAfterOrder(buyer)
    await settleUntil(start([buyer]), () => texts().length > 0)
    expect(texts()).toEqual(['bought'])
    expect(called).toHaveLength(2)
    expect(new Set(called).size).toBe(1)
  })

  test('whose process died after its effect answers them together, and acts once', async () => {
    await dieAfterOrder()
    await settleUntil(start([ordering]), () => texts().length > 0)
    expect({ effects, keys: keys.size, texts: texts() }).toEqual({
      effects: ['one\ntwo'],
      keys: 1,
      texts: ['ordered one and two'],
    })
    expect(await fate()).toEqual({ one: 'merged', two: 'answered' })
  })

  test('that was stopped between two steps goes on with them, also without an effect, and is not split', async () => {
    const deadline = new AbortController()
    const looking = defineAgent({
      slug: 'demo',
      async run(message, { step }) {
        await step('look', async () => effects.push(textOf(message.parts)), { effect: false })
        deadline.abort()
        return orderAll(textOf(message.parts), { step })
      },
    })
    isDying = false
    const first = start([looking])
    await deliver(first, 'one', 'two')
    await first.gateway.drain({ deadline: deadline.signal })
    expect(effects).toEqual(['one\ntwo'])
    await settleUntil(start([looking]), () => texts().length > 0)
    expect(effects).toEqual(['one\ntwo', 'one\ntwo'])
    expect(await fate()).toEqual({ one: 'merged', two: 'answered' })
  })

  test('that died in the middle of its effect dies as a whole, with one apology', async () => {
    const hanging = defineAgent({
      slug: 'demo',
      run: async (message, { step }) => {
        await step('look up stock', async () => 'three', { args: textOf(message.parts) })
        return step('order tea', async () => {
          effects.push(textOf(message.parts))
          return isDying ? never() : 'done'
        })
      },
    })
    await dieAfterOrder(hanging)
    await settleUntil(start([hanging]), settled)
    expect(effects).toEqual(['one\ntwo'])
    expect(await fate()).toEqual({ one: 'dead(tool_outcome_unknown)', two: 'dead(tool_outcome_unknown)' })
    expect(texts()).toEqual([
      expect.stringMatching(
        /Done: look up stock\. I cannot tell whether this took effect: order tea\. The rest was not/,
      ),
    ])
  })

  test('whose model put its history in other words after a crash does not call its tool again', async () => {
    let summaries = 0
    const summarize = async () => {
      summaries += 1
      return `summary ${summaries}`
    }
    const asked: string[] = []
    const model: Model = async ({ messages, turn }) => {
      const last = messages.at(-1)
      asked.push(
        `${turn} ${messages.map((line) => line.content).find((content) => String(content).includes('summary'))}`,
      )
      if (last?.type === 'tool_result') return isDying ? never() : { content: 'done' }
      // What it asks for depends on how its history was put, as with a real one.
      return { tool_calls: [{ id: 'c1', name: 'shop/order', parameters: { what: asked.at(-1) ?? '' } }] }
    }
    const order = defineTool({
      name: 'shop/order',
      description: 'Orders.',
      parameters: { type: 'object', properties: { what: { type: 'string' } } },
      execute: ({ what }, { key }) => {
        keys.add(key)
        return effects.push(String(what))
      },
    })
    const agent = defineAgent({
      slug: 'demo',
      model,
      tools: [order],
      compaction: {
        policy: { max_messages: 2, recent_messages: 1 },
        summarize,
      },
    })
    const first = start([agent])
    isDying = false
    await deliver(first, 'zero')
    await settleUntil(first, () => texts().length > 0)
    effects.length = 0
    keys.clear()
    isDying = true
    await deliver(first, 'one', 'two')
    await die(first)
    await settleUntil(start([agent]), () => texts().length > 1)
    expect({ effects, keys: keys.size }).toEqual({ effects: [expect.stringContaining('summary')], keys: 1 })
    expect(summaries).toBeGreaterThan(1)
  })

  test('hears of an edit that came between two tries, if it had no effect yet', async () => {
    const echo = defineAgent({
      slug: 'demo',
      run: async (message) => {
        return isDying ? never() : `re: ${textOf(message.parts)}`
      },
    })
    const first = start([echo])
    await deliver(first, 'one')
    await die(first)
    const second = start([echo])
    await second.deliver({ id: 'e1', from: 'ada', text: 'changed', event: 'edit', target: 'one' })
    await settleUntil(second, () => texts().length > 0)
    expect(texts()).toEqual(['re: changed'])
    await settleUntil(second, settled)
    expect(await fate()).toEqual({ one: 'answered', e1: 'merged' })
  })

  test('runs no message that was taken back between two tries, if it had no effect yet', async () => {
    let begun = 0
    const echo = defineAgent({
      slug: 'demo',
      run: async () => {
        begun += 1
        return isDying ? never() : 'answered'
      },
    })
    const first = start([echo])
    await deliver(first, 'one')
    await die(first)
    const second = start([echo])
    await second.deliver({ id: 'd1', from: 'ada', text: '', event: 'delete', target: 'one' })
    await settleUntil(second, settled)
    expect({ begun, texts: texts() }).toEqual({ begun: 1, texts: [] })
    expect((await fate())['one']).toBe('refused(withdrawn)')
  })

  test('records an edit that came after its effect, and goes on with what was said', async () => {
    await dieAfterOrder()
    const second = start([ordering])
    await second.deliver({ id: 'e1', from: 'ada', text: 'changed', event: 'edit', target: 'one' })
    await settleUntil(second, () => texts().length > 0)
    expect({ effects, texts: texts() }).toEqual({ effects: ['one\ntwo'], texts: ['ordered one and two'] })
    await settleUntil(second, settled)
    expect(await fate()).toEqual({ one: 'merged', two: 'answered', e1: 'merged(amendment)' })
  })

  test('begins nothing more for somebody who lost access, and says what was done', async () => {
    await dieAfterOrder()
    await settleUntil(start([ordering], { mode: 'allow_list', allow: ['loopback:bob'] }), settled)
    expect(effects).toEqual(['one\ntwo'])
    expect(await fate()).toEqual({ one: 'dead(access_lost)', two: 'dead(access_lost)' })
    expect(texts()).toEqual([expect.stringContaining('Done: order tea. The rest was not done.')])
  })

  test('without an effect is judged anew when its sender lost access', async () => {
    let begun = 0
    const echo = defineAgent({
      slug: 'demo',
      run: async () => {
        begun += 1
        return isDying ? never() : 'answered'
      },
    })
    const first = start([echo])
    await deliver(first, 'one', 'two')
    await die(first)
    await settleUntil(start([echo], { mode: 'allow_list', allow: ['loopback:bob'] }), settled)
    expect({ begun, texts: texts() }).toEqual({ begun: 1, texts: [expect.stringContaining('not allowed')] })
    expect(Object.values(await fate()).every((state) => state.startsWith('refused'))).toBe(true)
  })

  test('ends when lines of somebody else that it was shown were erased after its effect', async () => {
    const room = { room: 'group', conversation: 'lobby', addressed: 'mention' } as const
    const said = (id: string, from: string): LoopbackEvent => ({ id, from, text: id, ...room }) as LoopbackEvent
    const open = { mode: 'public', allow: [] } as const
    const first = start([ordering], open)
    isDying = false
    await first.deliver(said('from bob', 'bob'))
    await settleUntil(first, () => texts().length === 1)
    isDying = true
    await first.deliver(said('one', 'ada'))
    await die(first)
    const second = start([ordering], open)
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ principal: 'loopback:bob', confirm: true })
    const forgotten = await createTestApp(second, database()).request('/admin/erase', {
      method: 'POST',
      headers,
      body,
    })
    expect(forgotten.status).toBe(200)
    await settleUntil(second, settled)
    expect(effects).toEqual(['from bob', 'one'])
    expect((await fate())['one']).toBe('dead(erased)')
  })

  test('reads a finished tool call back without asking whether it is allowed now', async () => {
    const judged: string[] = []
    const model: Model = async ({ messages }) => {
      if (messages.at(-1)?.type === 'tool_result')
        return isDying ? never() : { content: String(messages.at(-1)?.content) }
      return { tool_calls: [{ id: 'c1', name: 'shop/order', parameters: {} }] }
    }
    const order = defineTool({
      name: 'shop/order',
      description: 'Orders.',
      parameters: { type: 'object', properties: {} },
      execute: () => effects.push('ordered'),
    })
    const agent = (isAllowed: boolean) =>
      defineAgent({
        slug: 'demo',
        model,
        tools: [order],
        actionPolicy: { tools: { 'shop/order': isAllowed ? 'direct' : 'forbidden' } },
        preToolMediator: async ({ tool_name }) => {
          judged.push(`${tool_name} ${isAllowed}`)
          return isAllowed ? { action: 'proceed' } : { action: 'reject', reason: 'not today' }
        },
      })
    const first = start([agent(true)])
    await deliver(first, 'one', 'two')
    await die(first)
    await settleUntil(start([agent(false)]), () => texts().length > 0)
    expect({ effects, judged }).toEqual({ effects: ['ordered'], judged: ['shop/order true'] })
    expect(texts()).toEqual(['1'])
  })

  test('offers its model the tools it began with', async () => {
    const offered: string[][] = []
    const model: Model = async ({ messages, tools }) => {
      offered.push(tools.map(({ name }) => name))
      if (messages.at(-1)?.type === 'tool_result') return isDying ? never() : { content: 'done' }
      return { tool_calls: [{ id: 'c1', name: 'shop/order', parameters: {} }] }
    }
    const tool = (name: string) =>
      defineTool({
        name,
        description: 'Acts.',
        parameters: { type: 'object', properties: {} },
        execute: () => effects.push(name),
      })
    const first = start([defineAgent({ slug: 'demo', model, tools: [tool('shop/order')] })])
    await deliver(first, 'one')
    await die(first)
    const second = start([defineAgent({ slug: 'demo', model, tools: [tool('shop/order'), tool('shop/new')] })])
    await settleUntil(second, () => texts().length > 0)
    await deliver(second, 'two')
    await settleUntil(second, () => texts().length > 1)
    expect(offered.map((names) => names.join())).toEqual([
      'shop/order',
      'shop/order',
      'shop/order',
      'shop/order,shop/new',
      'shop/order,shop/new',
    ])
    expect(effects).toEqual(['shop/order', 'shop/order'])
  })
})
