// A model turn over a real HTTP stream: what the provider says, calls, refuses, delays or breaks off.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { textEnvelope, toolCallEnvelope, toolResultEnvelope } from '../../../../src/agents/messages.ts'
import { aiSdkModel } from '../../../../src/agents/models/ai-sdk.ts'
import { addRetries, type RetryPolicy } from '../../../../src/agents/models/failover.ts'
import type { ModelRequest } from '../../../../src/agents/models/model.ts'
import { openAiCompatible } from '../../../../src/agents/models/openai-compatible.ts'
import { type ScriptedModelServer, startScriptedModel } from '../../../doubles/scripted-model-server.ts'

let server: ScriptedModelServer
const waits: number[] = []
const retries: RetryPolicy = {
  attempts: 5,
  baseMs: 2_000,
  maxMs: 60_000,
  jitter: () => 0,
  sleep: async (ms) => void waits.push(ms),
}

beforeEach(async () => {
  server = await startScriptedModel()
  waits.length = 0
})
afterEach(() => server.close())

const tools = [
  {
    name: 'host/search',
    provider_safe_name: 'host__search',
    source: 'host',
    description: 'Searches.',
    parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    executor: 'host',
    scope: 'run',
  },
] as const

function ask(changes: Partial<ModelRequest> = {}) {
  const model = addRetries(aiSdkModel(openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })), retries)
  return model({
    messages: [textEnvelope('user', 'hello')],
    tools: [...tools],
    model: {},
    context: {},
    budgets: {},
    turn: 1,
    runId: 'r',
    sessionId: 's',
    signal: new AbortController().signal,
    ...changes,
  })
}

describe('a model turn', () => {
  test('streams its text and counts its tokens', async () => {
    server.script({ text: 'one two three' })
    const deltas: string[] = []
    const turn = await ask({ onDelta: (delta) => deltas.push(delta) })
    expect(turn).toMatchObject({ content: 'one two three', tool_calls: [], usage: { total_tokens: 15 } })
    expect(deltas).toEqual(['one ', 'two ', 'three'])
    expect(turn.request_metadata).toMatchObject({ provider_response_id: 'chatcmpl-1', model: 'scripted' })
  })

  test('asks for three tools at once, in order and under their ids', async () => {
    const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'host__search', arguments: JSON.stringify({ q: id }) }))
    server.script({ calls })
    const turn = await ask()
    expect(turn.tool_calls).toEqual(['a', 'b', 'c'].map((id) => ({ id, name: 'host__search', parameters: { q: id } })))
  })

  test('shows the provider safe names, and calls and results in one piece', async () => {
    server.script({ text: 'ok' })
    const call = (id: string) =>
      toolCallEnvelope('', { tool: 'host/search', parameters: { q: id }, turn: 1 }, { tool_call_id: id })
    const result = (id: string) =>
      toolResultEnvelope('"x"', 'host/search', { success: true, result: 'x' }, { tool_call_id: id })
    await ask({
      system: 'Be brief.',
      messages: [textEnvelope('user', 'go'), call('a'), call('b'), result('a'), result('b')],
    })
    const [request] = server.requests
    expect(request?.messages.map((message) => message.role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool'])
    expect(JSON.stringify(request?.messages)).toContain('host__search')
    expect(request?.tools?.[0]?.function.name).toBe('host__search')
  })

  test('keeps a call to a tool nobody declared, and one with broken arguments, as what they are', async () => {
    server.script({
      calls: [
        { id: 'a', name: 'unknown', arguments: '{}' },
        { id: 'b', name: 'host__search', arguments: '{"q": ' },
      ],
    })
    const turn = await ask()
    expect(turn.tool_calls).toEqual([
      { id: 'a', name: 'unknown', parameters: {} },
      { id: 'b', name: 'host__search', parameters: {}, metadata: { invalid_arguments: true } },
    ])
  })

  test('never reads a call out of text', async () => {
    const text =
      '<function_calls><invoke name="host__search"></invoke></function_calls> {"tool_calls":[{"name":"host__search"}]}'
    server.script({ text })
    expect(await ask()).toMatchObject({ content: text, tool_calls: [] })
  })

  test('L-49: waits out two refusals for haste, doubling', async () => {
    server.script({ status: 429 }, { status: 429 }, { text: 'back' })
    expect(await ask()).toMatchObject({ content: 'back' })
    expect(waits).toEqual([2_000, 4_000])
    expect(server.requests).toHaveLength(3)
  })

  test('L-49: does not repeat a request that was refused for what it is', async () => {
    server.script({ status: 400 })
    expect(await ask()).toMatchObject({ failure: { type: 'invalid_request', code: '400' } })
    expect(server.requests).toHaveLength(1)
  })

  test('honours Retry-After, and hands a long one to the turn', async () => {
    server.script({ status: 429, headers: { 'retry-after': '7' } }, { text: 'back' })
    await ask()
    expect(waits).toEqual([7_000])
    server.script({ status: 429, headers: { 'retry-after': '600' } })
    await expect(ask()).rejects.toMatchObject({ code: 'provider_unavailable' })
  })

  test('L-49: a stream cut in the middle is not repeated behind what was shown, and is no answer', async () => {
    server.script({ text: 'one two three', cutAfter: 3 }, { text: 'again' })
    const deltas: string[] = []
    await expect(ask({ onDelta: (delta) => deltas.push(delta) })).rejects.toMatchObject({
      code: 'provider_unavailable',
      details: { type: 'network' },
    })
    expect(server.requests).toHaveLength(1)
    expect(deltas).toEqual(['one ', 'two '])
  })

  test('tells a wrong key apart, without the provider’s words', async () => {
    server.script({ status: 401, body: '{"error":{"message":"key sk-canary is wrong"}}' })
    const turn = await ask()
    expect(turn).toMatchObject({ failure: { type: 'authentication' } })
    expect(JSON.stringify(turn)).not.toContain('canary')
  })

  test('stops when its turn must stop', async () => {
    server.script({ hang: true })
    const stop = new AbortController()
    const asked = ask({ signal: stop.signal })
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort(new Error('lease lost'))
    await expect(asked).rejects.toThrow('lease lost')
  })
})
