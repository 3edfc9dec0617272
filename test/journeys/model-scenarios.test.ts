// What a provider may do to us, each through the whole gateway: every run ends in a typed result, the person reads safe
// words, and the books balance.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { ToolError } from '../../src/agents/tools/tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { secret } from '../../src/lib/secret.ts'
import { type ScriptedAnswer, type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const unsent = nameStatement('test_unsent', 'select 1 from outbox where settled_at is null')
const turns = nameStatement(
  'test_turn_ends',
  `select state, reason, response ->> 'status' as status, response -> 'error' ->> 'code' as code,
     (response -> 'error' ->> 'retryable')::boolean as retryable, (response -> 'usage' ->> 'output_tokens')::int as tokens
   from turns order by started_at`,
)

const key = 'sk-canary-key-of-this-test'
const canary = 'canary: the provider said this at http://10.0.0.7/v1 about sk-live-1234'
const shout = JSON.stringify({ error: { message: canary, type: 'canary' } })

type Ended = { readonly name: string; readonly facts: Readonly<Record<string, unknown>> }

describeOnDatabase('a model behind the gateway', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  const events: Ended[] = []
  const searched: string[] = []

  const search = defineTool({
    name: 'demo/search',
    description: 'Searches the archive.',
    parameters: z.object({ q: z.string() }),
    idempotent: true,
    execute: async ({ q }) => {
      if (q === 'closed') throw new ToolError('The archive is closed.', 'closed')
      searched.push(q)
      return { found: `about ${q}` }
    },
  })
  const ping = defineTool({
    name: 'demo/ping',
    description: 'Needs no arguments at all.',
    parameters: z.object({}),
    execute: () => {
      searched.push('ping')
      return 'pong'
    },
  })
  const call = (id: string, q: string) => ({ id, name: 'demo__search', arguments: JSON.stringify({ q }) })

  /** One message through the whole gateway; what was said, how the run ended, and how its turn did. */
  const run = async (answers: readonly ScriptedAnswer[], changes: Partial<ModelAgentDefinition> = {}) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted', apiKey: secret(key) })
    const agent = defineAgent({
      slug: 'demo',
      model,
      tools: [search, ping],
      modelRetries: { baseMs: 5, maxMs: 5_000 },
      onEvent: (name, facts) => events.push({ name, facts }),
      ...changes,
    })
    gateway = createTestGateway(database(), {
      agents: [agent],
      connections: loopbackConnections(vendor.origin),
      turns: { maxOutageMs: 1 },
    })
    server.script(...answers)
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'look for it' })
    // A dead message has ended before its apology is sent.
    const isOver = async () => (await books()).inFlight === 0 && (await database().query(unsent, [])).length === 0
    await settleUntil(gateway, isOver, 60_000)
    const said = vendor.messages.map((message) => message.text)
    const [turn] = await database().query<Record<string, unknown>>(turns, [])
    return { said, turn, end: events.findLast(({ name }) => name === 'completed' || name === 'failed') }
  }
  const books = async () => {
    const [line] = await listMessageCountsByConnection(gateway.deps.db)
    if (line === undefined) throw new Error('nothing was received')
    return line
  }
  const balances = async (fate: 'answered' | 'dead') => {
    const { received, answered, merged, refused, dead, inFlight } = await books()
    expect({ received, sum: answered + merged + refused + dead + inFlight }).toEqual({ received: 1, sum: 1 })
    expect({ answered, dead }).toEqual({ answered: 0, dead: 0, [fate]: 1 })
  }
  const isSafe = (said: readonly string[]) => {
    const shown = `${said.join('\n')}\n${JSON.stringify(gateway.logged)}`
    expect(shown).not.toMatch(/canary|sk-live|10\.0\.0\.7|Error:/)
    // The log may name the class of an error; people are not told even that.
    expect(said.join('\n')).not.toContain('AI_')
    expect(shown).not.toContain(server.baseUrl)
  }

  beforeEach(async () => {
    events.length = 0
    searched.length = 0
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('streams a text, which is the answer', async () => {
    const { said, turn, end } = await run([{ text: 'Found it in the attic.' }])
    expect(said).toEqual(['Found it in the attic.'])
    expect(end).toMatchObject({ name: 'completed', facts: { status: 'completed', stop_reason: 'natural' } })
    expect(turn).toMatchObject({ state: 'answered', status: 'completed', code: null, tokens: 5 })
    await balances('answered')
  })

  test('asks for three tools in one turn, and each runs once, in order', async () => {
    const calls = [call('a', 'one'), call('b', 'two'), call('c', 'three')]
    const { said, end } = await run([{ text: 'Let me look.', calls }, { text: 'All found.' }])
    expect(searched).toEqual(['one', 'two', 'three'])
    expect(said).toEqual(['All found.'])
    expect(end).toMatchObject({ facts: { status: 'completed', tool_results: 3 } })
    const results = server.requests[1]?.messages.filter((message) => message.role === 'tool')
    expect(results?.map((message) => message['tool_call_id'])).toEqual(['a', 'b', 'c'])
    await balances('answered')
  })

  test('asks for a tool that nobody declared: nothing runs, it is told, and it answers', async () => {
    const { said, end } = await run([{ calls: [{ id: 'a', name: 'rm_rf', arguments: '{}' }] }, { text: 'Never mind.' }])
    expect({ said, searched }).toEqual({ said: ['Never mind.'], searched: [] })
    expect(JSON.stringify(server.requests[1]?.messages)).toContain("Tool 'rm_rf' not found")
    expect(end).toMatchObject({ facts: { status: 'completed', stop_reason: 'natural' } })
    await balances('answered')
  })

  test.each(['{"q": ', '', 'null', '[1]', '"text"'])(
    'writes the arguments %j: the tool does not run, not even one that needs none',
    async (text) => {
      const calls = [
        { id: 'a', name: 'demo__ping', arguments: text },
        { id: 'b', name: 'demo__search', arguments: text },
      ]
      const { said } = await run([{ calls }, { text: 'Sorry.' }])
      // No arguments at all are no broken ones: that is how some models call a tool that needs none.
      expect(searched).toEqual(text === '' ? ['ping'] : [])
      expect(said).toEqual(['Sorry.'])
      await balances('answered')
    },
  )

  test('asks to slow down and says until when: asked again then, and not before', async () => {
    const started = performance.now()
    const { said } = await run([{ status: 429, headers: { 'retry-after': '1' }, body: shout }, { text: 'Now.' }])
    expect(performance.now() - started).toBeGreaterThanOrEqual(990)
    expect({ said, requests: server.requests.length }).toEqual({ said: ['Now.'], requests: 2 })
    expect(events.find(({ name }) => name === 'provider_retry')?.facts).toMatchObject({ type: 'rate_limit' })
    isSafe(said)
    await balances('answered')
  })

  test('fails once and answers then', async () => {
    const { said } = await run([{ status: 500, body: shout }, { text: 'Back.' }])
    expect({ said, requests: server.requests.length }).toEqual({ said: ['Back.'], requests: 2 })
    isSafe(said)
    await balances('answered')
  })

  test.each(['reset', 'end', 'silence'] as const)(
    'breaks off in the middle of its words (%s): half an answer is never sent',
    async (cutBy) => {
      const half = { text: 'one two three four', cutAfter: 3, cutBy }
      const { said, end } = await run([half, { text: 'one two three four' }], { modelTimeoutMs: 400 })
      expect(said).toEqual(['one two three four'])
      expect(end).toMatchObject({ facts: { status: 'completed' } })
      await balances('answered')
    },
  )

  test.each([
    ['never answers', { hang: true }, { modelTimeoutMs: 150 }],
    ['always fails', { status: 503, body: shout }, {}],
    ['always wants us to wait for long', { status: 429, headers: { 'retry-after': '2' }, body: shout }, {}],
    ['always breaks off', { text: 'one two three', cutAfter: 2 }, {}],
  ] as const)(
    '%s: after its time the turn is given up, with an apology',
    async (_name, answer, changes) => {
      const { said, turn } = await run([answer], { modelRetries: { baseMs: 5, maxMs: 20 }, ...changes })
      expect(said).toEqual([expect.stringContaining('Sorry, I could not answer')])
      expect(turn).toMatchObject({ state: 'dead', reason: 'provider_unavailable', status: 'failed' })
      isSafe(said)
      await balances('dead')
    },
    60_000,
  )

  const broken = { baseMs: 5, maxMs: 20 }
  test.each([
    ['a page instead of an answer', page(), 'invalid_response', true, 'Something went wrong'],
    [
      'no JSON',
      { status: 200, body: 'data: {"choices": [nonsense canary\n\n' },
      'invalid_response',
      true,
      'went wrong',
    ],
    ['JSON of another kind', { status: 200, body: 'data: {"canary": 1}\n\n' }, 'invalid_response', true, 'went wrong'],
    ['nothing at all', { status: 200, body: '' }, 'invalid_response', true, 'Something went wrong'],
    ['an error in the stream', { status: 200, body: `data: ${shout}\n\n` }, 'provider_error', true, 'went wrong'],
    ['too much in the stream', { status: 200, body: `data: ${tooLong()}\n\n` }, 'context_length', false, 'too long'],
    ['a refused key', { status: 401, body: shout }, 'authentication', false, 'I cannot answer right now'],
    ['an empty purse', { status: 429, body: quota() }, 'quota', false, 'I cannot answer right now'],
    ['no such model', { status: 404, body: shout }, 'not_found', false, 'I cannot answer right now'],
    ['a refused request', { status: 400, body: shout }, 'invalid_request', false, 'refused this request'],
    ['a conversation too long for it', { status: 400, body: tooLong() }, 'context_length', false, 'grown too long'],
    ['a refusal to speak', { finish: 'content_filter' }, 'content_filter', false, 'declined to answer'],
  ] as const)('gives %s: the run fails as such, in safe words', async (_name, answer, type, retryable, words) => {
    const { said, turn, end } = await run([answer], { modelRetries: broken })
    expect(said).toEqual([expect.stringContaining(words)])
    expect(end).toMatchObject({ name: 'failed', facts: { type, status: 'failed', stop_reason: 'provider_error' } })
    expect(turn).toMatchObject({ state: 'answered', status: 'failed', code: 'failed', retryable })
    isSafe(said)
    await balances('answered')
  })

  test('never stops calling: its budget stops it, and what it may ask next is said', async () => {
    const endless = Array.from({ length: 20 }, (_, index) => ({ calls: [call(`c${index}`, `q${index}`)] }))
    const { said, turn, end } = await run(endless, { maxTurns: 5 })
    expect(server.requests).toHaveLength(5)
    expect(said).toEqual([expect.stringContaining('used up the steps')])
    expect(end).toMatchObject({ facts: { status: 'budget_exceeded', stop_reason: 'max_turns' } })
    expect(turn).toMatchObject({ status: 'failed', code: 'budget_exceeded', retryable: true })
    await balances('answered')
  })

  test('repeats a call that fails the same way: it is nudged, then stopped', async () => {
    const again = { calls: [call('x', 'closed')] }
    const { said, turn, end } = await run([again], { maxTurns: 10 })
    expect(JSON.stringify(server.requests.at(-1)?.messages)).toContain('failed 2 times with the same arguments')
    expect(server.requests).toHaveLength(3)
    expect(said).toEqual([expect.stringContaining('going in circles')])
    expect(end).toMatchObject({ facts: { status: 'stalled', stop_reason: 'stalled' } })
    expect(turn).toMatchObject({ code: 'stalled', retryable: false })
    await balances('answered')
  })

  test('tells nothing of what it used: the answer counts all the same', async () => {
    const { said, turn } = await run([{ text: 'Free of charge.', hasUsage: false }])
    expect({ said, turn }).toMatchObject({ said: ['Free of charge.'], turn: { status: 'completed', tokens: 0 } })
    await balances('answered')
  })
})

function page(): ScriptedAnswer {
  return { status: 200, headers: { 'content-type': 'text/html' }, body: `<html><body>${canary}</body></html>` }
}

function quota(): string {
  return JSON.stringify({ error: { message: canary, code: 'insufficient_quota' } })
}

function tooLong(): string {
  return JSON.stringify({ error: { message: `${canary}: maximum context length is 8192 tokens` } })
}
