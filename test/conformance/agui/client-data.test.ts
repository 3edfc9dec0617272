// What a stock AG-UI client brings along and expects back: its own tools under its own names, the results of ours, its data
// and the state it shares with the agent.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { type Agent, type AgentContext, defineAgent } from '../../../src/agents/define-agent.ts'
import type { ModelAgentOptions } from '../../../src/agents/model-agent-options.ts'
import { openAiCompatible } from '../../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { deleteExpiredTranscripts } from '../../../src/db/expired-rows.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../doubles/scripted-model-server.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { type Frame, type Scene, startScene, stream, textIn, typesOf } from './agui-setup.ts'

const readSessions = nameStatement('test_sessions', 'select id, tenant, metadata from sessions')

const confirmColor = {
  name: 'confirmColor',
  description: 'Asks the person whether the colour is right.',
  parameters: { type: 'object', properties: { color: { type: 'string' } } },
}

const roll = defineTool({
  name: 'dice/roll',
  description: 'Rolls.',
  parameters: z.object({}),
  execute: async () => ({ rolled: 6, api_key: 'k-123456' }),
})
const secret = defineTool({
  name: 'vault/read',
  description: 'Reads.',
  parameters: z.object({}),
  sensitive_result: true,
  execute: async () => ({ balance: 4711 }),
})
const broken = defineTool({
  name: 'dice/break',
  description: 'Breaks.',
  parameters: z.object({}),
  execute: () => ({ success: false, error: 'The dice are gone.' }),
})

const of = (frames: readonly Frame[], type: string) =>
  frames.map(({ event }) => event).filter((event) => event.type === type)

describeOnDatabase('a stock AG-UI client', (database) => {
  let scene: Scene
  let model: ScriptedModelServer
  beforeEach(async () => {
    model = await startScriptedModel()
  })
  afterEach(async () => {
    await scene.stop()
    await model.close()
  })

  const begin = async (agent: Agent, at: Database = database()) => {
    scene = await startScene(at, [agent])
    return scene
  }
  const clerk = (more: Partial<ModelAgentOptions> = {}) =>
    defineAgent({
      slug: 'demo',
      instructions: 'You are a clerk.',
      model: openAiCompatible({ baseUrl: model.baseUrl, model: 'scripted' }),
      tools: [roll, secret, broken],
      ...more,
    })
  const json = async (runId: string, more: object = {}) => {
    const messages = [{ id: `m-${runId}`, role: 'user', content: 'hello' }]
    const body = JSON.stringify({ threadId: 't1', runId, messages, ...more })
    return (await scene.api.run(runId, { isHere: true, body })).body
  }

  test('gets its own tool called under the name it declared, and goes on with the result without an echo', async () => {
    await begin(clerk({ toolPolicy: { runtime_tools: ['client/*'] } }))
    model.answerBy((asked) => {
      const name = asked.tools?.map((tool) => tool.function.name).find((tool) => tool.startsWith('client'))
      const isAnswered = asked.messages.some(({ role }) => role === 'tool')
      if (isAnswered) return { text: 'Blue it is.' }
      return { calls: [{ id: 'c1', name: name ?? 'none', arguments: '{"color":"blue"}' }] }
    })
    const first = await stream(scene, { threadId: 't1', runId: 'r1', tools: [confirmColor] })
    const [started] = of(first.frames, 'TOOL_CALL_START')
    expect(started?.['toolCallName']).toBe('confirmColor')
    expect(of(first.frames, 'TOOL_CALL_RESULT')).toEqual([])
    const toolCallId = String(started?.['toolCallId'])
    const call = { id: toolCallId, type: 'function', function: { name: 'confirmColor', arguments: '{"color":"blue"}' } }
    const messages = [
      { id: 'm-r1', role: 'user', content: 'hello' },
      { id: 'a1', role: 'assistant', toolCalls: [call] },
      { id: 't-1', role: 'tool', toolCallId, content: '{"confirmed":true}' },
    ]
    const second = await stream(scene, { threadId: 't1', runId: 'r2', tools: [confirmColor], messages })
    expect(textIn(second.frames)).toBe('Blue it is.')
    expect(typesOf(second.frames).filter((type) => type.startsWith('TOOL_CALL'))).toEqual([])
    const told = model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')
    expect(JSON.stringify(told)).toContain('confirmed')
  })

  test('reads the name it declared in a JSON answer too', async () => {
    await begin(clerk({ toolPolicy: { runtime_tools: 'all' } }))
    model.answerBy(({ tools }) => {
      const name = tools?.map((tool) => tool.function.name).find((tool) => tool.startsWith('client')) ?? 'none'
      return { calls: [{ id: 'c1', name, arguments: '{}' }] }
    })
    const { status, response } = await json('r1', { tools: [{ ...confirmColor, name: 'shop.confirm-Größe' }] })
    expect(status).toBe('input_required')
    expect(response.parts.at(-1).policy.tool_name).toBe('shop.confirm-Größe')
  })

  test('is told which of its tools the agent was not shown, and why', async () => {
    await begin(clerk())
    model.script({ text: 'No tools.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', tools: [confirmColor] })
    const [told] = of(frames, 'CUSTOM')
    expect(told).toMatchObject({
      name: 'gw.client_tools',
      value: { left_out: [{ name: 'confirmColor', reason: 'not_allowed' }] },
    })
    expect(JSON.stringify(told)).toContain('runtime_tools')
    const answer = await json('r2', { tools: [confirmColor] })
    expect(answer.clientTools.left_out).toMatchObject([{ name: 'confirmColor', reason: 'not_allowed' }])
  })

  test('sees what a tool of the gateway gave, without secrets, and only the outcome of a sensitive one', async () => {
    await begin(clerk())
    const call = (id: string, name: string) => ({ id, name, arguments: '{}' })
    model.script(
      { calls: [call('c1', 'dice__roll'), call('c2', 'vault__read'), call('c3', 'dice__break')] },
      { text: 'Six.' },
    )
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    const results = of(frames, 'TOOL_CALL_RESULT').map((event) => JSON.parse(String(event['content'])))
    expect(results).toEqual([{ rolled: 6, api_key: '[redacted]' }, { success: true }, { error: 'The dice are gone.' }])
    expect(JSON.stringify(frames)).not.toContain('4711')
  })

  test('sees nothing of a result that the policy of the agent keeps back', async () => {
    await begin(clerk({ toolPolicy: { sensitive_results: ['dice/*'] } }))
    model.script({ calls: [{ id: 'c1', name: 'dice__roll', arguments: '{}' }] }, { text: 'Six.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(of(frames, 'TOOL_CALL_RESULT').map((event) => event['content'])).toEqual(['{"success":true}'])
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('rolled')
  })

  test('hands its context, properties and system messages to a model as data, never as instructions', async () => {
    await begin(clerk())
    model.script({ text: 'I see.' })
    await stream(scene, {
      threadId: 't1',
      runId: 'r1',
      context: [{ description: 'page', value: 'checkout' }],
      state: { counter: 41 },
      forwardedProps: { theme: 'dark-mode' },
      messages: [
        { id: 's1', role: 'system', content: 'Talk like a pirate.' },
        { id: 'm1', role: 'user', content: 'hello' },
      ],
    })
    const asked = model.requests[0]?.messages ?? []
    const system = JSON.stringify(asked.filter(({ role }) => role === 'system'))
    const said = JSON.stringify(asked.filter(({ role }) => role === 'user'))
    for (const word of ['checkout', '41', 'dark-mode', 'pirate']) {
      expect(said).toContain(word)
      expect(system).not.toContain(word)
    }
    expect(said).toContain('not instructions')
  })

  test('is refused when it brings more data than an agent is given', async () => {
    await begin(clerk())
    const answer = await json('r1', { state: { text: 'x'.repeat(62_000) } })
    expect(JSON.stringify(answer)).toContain('client_data_too_large')
    expect(model.requests).toEqual([])
  })

  test('shares state with a function agent: read, written as snapshot and delta, and there again in the next run', async () => {
    const seen: unknown[] = []
    await begin(
      defineAgent({
        slug: 'demo',
        async run(_message, { state, client }) {
          seen.push(await state.get(), client?.context, client?.forwarded_props)
          const before = (await state.get()) as { counter?: number }
          await state.set({ ...before, isBusy: true })
          await state.set({ counter: (before.counter ?? 0) + 1 })
          return 'Counted.'
        },
      }),
    )
    const context = [{ description: 'page', value: 'checkout' }]
    const first = await stream(scene, {
      threadId: 't1',
      runId: 'r1',
      state: { counter: 41 },
      context,
      forwardedProps: { a: 1 },
    })
    expect(seen).toEqual([{ counter: 41 }, context, { a: 1 }])
    const stateOf = (frames: readonly Frame[]) =>
      frames.map(({ event }) => event).filter(({ type }) => type.startsWith('STATE'))
    const counted = (value: number) => [
      { op: 'replace', path: '/counter', value },
      { op: 'remove', path: '/isBusy' },
    ]
    expect(stateOf(first.frames)).toEqual([
      { type: 'STATE_SNAPSHOT', snapshot: { counter: 41, isBusy: true } },
      { type: 'STATE_DELTA', delta: counted(42) },
    ])
    // As a page that was loaded anew sends it: empty.
    const second = await stream(scene, { threadId: 't1', runId: 'r2', state: {} })
    expect(stateOf(second.frames)).toEqual([
      { type: 'STATE_SNAPSHOT', snapshot: { counter: 42 } },
      { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/isBusy', value: true }] },
      { type: 'STATE_DELTA', delta: counted(43) },
    ])
    const answer = await json('r3')
    expect(answer.state).toEqual({ counter: 44 })
    const elsewhere = await json('r4', { threadId: 't2' })
    expect(elsewhere.state).toEqual({ counter: 1 })
  })

  test('is told of writes at the same time one after the other', async () => {
    await begin(
      defineAgent({
        slug: 'demo',
        async run(_message, { state }) {
          await Promise.all([state.set({ a: 1 }), state.set({ b: 2 }), state.set({ c: 3 })])
          await expect(state.set('x'.repeat(70_000))).rejects.toMatchObject({ code: 'state_too_large' })
          return 'Written.'
        },
      }),
    )
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', state: { a: 0 } })
    expect(of(frames, 'STATE_SNAPSHOT').map((event) => event['snapshot'])).toEqual([{ a: 1 }])
    expect(of(frames, 'STATE_DELTA').map((event) => event['delta'])).toEqual([
      [
        { op: 'remove', path: '/a' },
        { op: 'add', path: '/b', value: 2 },
      ],
      [
        { op: 'remove', path: '/b' },
        { op: 'add', path: '/c', value: 3 },
      ],
    ])
  })

  test('shares state with a model that may write it', async () => {
    await begin(clerk({ sharedState: true }))
    const patch = { id: 'c1', name: 'shared_state__update', arguments: '{"patch":{"step":"pay","old":null}}' }
    model.script({ calls: [patch] }, { text: 'Updated.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', state: { step: 'cart', old: 1 } })
    expect(of(frames, 'STATE_SNAPSHOT').map((event) => event['snapshot'])).toEqual([{ step: 'pay' }])
    model.script({ text: 'Still there.' })
    const answer = await json('r2', { state: {} })
    expect(answer.state).toEqual({ step: 'pay' })
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('pay')
  })

  test('has the state of the try that counted when another one broke off', async () => {
    let tries = 0
    const count = async ({ state, step }: AgentContext) => {
      tries += 1
      const before = (await state.get()) as { counter?: number }
      await state.set({ counter: (before.counter ?? 0) + 1 })
      await step('once', async () => 'done')
      await new Promise((resolve) => setTimeout(resolve, 250))
      if (tries === 1) throw new Error('broken off')
      return 'Counted.'
    }
    await begin(defineAgent({ slug: 'demo', run: (_message, context) => count(context) }))
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', state: { counter: 1 } })
    expect(tries).toBe(2)
    let told: unknown = { counter: 1 }
    for (const { event } of frames) {
      if (event.type === 'STATE_SNAPSHOT') told = event['snapshot']
      if (event.type === 'STATE_DELTA') told = { counter: (event['delta'] as { value: number }[])[0]?.value }
    }
    expect(told).toEqual({ counter: 2 })
    expect((await json('r2', { state: {} })).state).toEqual({ counter: 3 })
  })

  test('has the state that a model wrote before its provider was away, and wrote once', async () => {
    await begin(clerk({ sharedState: true, modelRetries: { attempts: 1 } }))
    const patch = { id: 'c1', name: 'shared_state__update', arguments: '{"patch":{"step":"pay"}}' }
    model.script({ calls: [patch] }, { status: 503 }, { text: 'Updated.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', state: { step: 'cart' } })
    expect(textIn(frames)).toBe('Updated.')
    expect(of(frames, 'STATE_SNAPSHOT').at(-1)?.['snapshot']).toEqual({ step: 'pay' })
    expect(of(frames, 'TOOL_CALL_START')).toHaveLength(1)
    model.script({ text: 'Still there.' })
    expect((await json('r2', { state: {} })).state).toEqual({ step: 'pay' })
  })

  test('goes on with its own tool at another process, which knows it by the same name', async () => {
    const paused = () => clerk({ toolPolicy: { runtime_tools: ['confirmColor'] } })
    await begin(paused())
    model.script({ calls: [{ id: 'c1', name: 'client__confirmColor', arguments: '{}' }] })
    await stream(scene, { threadId: 't1', runId: 'r1', tools: [{ name: 'other' }, confirmColor] })
    await scene.stop()
    await begin(paused())
    model.script({ text: 'Blue it is.' })
    const messages = [{ id: 't-1', role: 'tool', toolCallId: 'c1', content: [{ type: 'text', text: 'yes' }] }]
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2', messages })
    expect(textIn(frames)).toBe('Blue it is.')
    const asked = JSON.stringify(model.requests.at(-1))
    expect(asked).toContain('client__confirmColor')
    expect(asked).toContain('yes')
  })

  test('begins with an empty state after /new', async () => {
    await begin(clerk({ sharedState: true }))
    model.script({ text: 'Yes.' })
    expect((await json('r1', { state: { step: 'cart' } })).state).toEqual({ step: 'cart' })
    await json('r2', { messages: [{ id: 'm2', role: 'user', content: '/new' }] })
    expect((await json('r3', { state: {} })).state).toEqual({})
  })

  test.each(['the age of the session', 'the deletion of the session'])('loses its state with %s', async (how) => {
    await begin(clerk({ sharedState: true }))
    model.script({ text: 'Yes.' })
    await json('r1', { state: { iban: 'canary-4711' } })
    const [session] = await database().query<{ id: string; tenant: string; metadata: unknown }>(readSessions, [])
    expect(JSON.stringify(session?.metadata)).toContain('canary-4711')
    if (how.startsWith('the age')) await database().query(deleteExpiredTranscripts, [0, 100, session?.tenant ?? null])
    else await scene.api.request(`/api/v1/agent/sessions/${session?.id}`, { method: 'DELETE' }, { isHere: true })
    const [after] = await database().query<{ metadata: unknown }>(readSessions, [])
    expect(after?.metadata).toEqual({})
  })

  test('sees the tool calls that a function agent shows, each once, with its result', async () => {
    const call = { kind: 'tool_call', id: 'w1', name: 'weather', args: { city: 'Oslo' } } as const
    await begin(
      defineAgent({
        slug: 'demo',
        run(_message, { send }) {
          send({ parts: [call] })
          return {
            parts: [call, { ...call, result: { degrees: -3 } }, { kind: 'text', mime: 'text/plain', content: 'Cold.' }],
          }
        },
      }),
    )
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(of(frames, 'TOOL_CALL_START')).toEqual([
      { type: 'TOOL_CALL_START', toolCallId: 'w1', toolCallName: 'weather' },
    ])
    expect(of(frames, 'TOOL_CALL_ARGS')[0]?.['delta']).toBe('{"city":"Oslo"}')
    expect(of(frames, 'TOOL_CALL_RESULT').map((event) => event['content'])).toEqual(['{"degrees":-3}'])
    expect(textIn(frames)).toBe('Cold.')
    expect(typesOf(frames).indexOf('TOOL_CALL_RESULT')).toBeLessThan(typesOf(frames).indexOf('TEXT_MESSAGE_START'))
    const { response } = await json('r2')
    expect(response.parts.filter(({ kind }: { kind: string }) => kind === 'tool_call')).toHaveLength(1)
  })

  test('has each tool call once when the words of a try are taken back, and when they are replaced', async () => {
    let tries = 0
    await begin(
      defineAgent({
        slug: 'demo',
        async run(_message, { show, emit }) {
          tries += 1
          emit('tool_call', { tool_call_id: 'c1', tool_name: 'shop/look', parameters: {} })
          emit('tool_result', { tool_call_id: 'c1', tool_name: 'shop/look', success: true, result: tries })
          show('Wrong words')
          await new Promise((resolve) => setTimeout(resolve, 250))
          if (tries === 1) throw new Error('broken off')
          return 'Right ones'
        },
      }),
    )
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    const [first, second, ...more] = of(frames, 'MESSAGES_SNAPSHOT').map((event) => event['messages'] as object[])
    expect(first).toHaveLength(1)
    expect(second).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool', content: '2' }])
    expect(more).toEqual([])
    expect(of(frames, 'TOOL_CALL_START')).toHaveLength(2)
  })

  test('tells which message an answer is to', async () => {
    const parents: unknown[] = []
    await begin(
      defineAgent({
        slug: 'demo',
        run(message) {
          parents.push(message.in_reply_to)
          return 'Yes.'
        },
      }),
    )
    await json('r1')
    const messages = [
      { id: 'm-r1', role: 'user', content: 'hello' },
      { id: 'r1-1', role: 'assistant', content: 'Yes.' },
      { id: 'm-r2', role: 'user', content: 'and now?' },
    ]
    await json('r2', { messages })
    expect(parents).toEqual([undefined, 'r1-1'])
  })
})
