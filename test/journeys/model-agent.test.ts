// A model with tools behind a channel: asked over HTTP, its calls mediated, its turn journaled, its words delivered.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const transcript = nameStatement(
  'test_lines',
  `select envelope ->> 'type' as type, envelope ->> 'role' as role from messages order by seq`,
)
const fates = nameStatement('test_fates', 'select state, reason from inbox order by seq')

describeOnDatabase('a model agent', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  const searched: string[] = []
  const search = defineTool({
    name: 'demo/search',
    description: 'Searches the archive.',
    parameters: z.object({ q: z.string() }),
    idempotent: true,
    execute: async ({ q }) => {
      searched.push(q)
      return { found: `about ${q}` }
    },
  })
  const call = (id: string, q: string) => ({ id, name: 'demo__search', arguments: JSON.stringify({ q }) })
  const start = (changes: Partial<ModelAgentDefinition> = {}) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', instructions: 'Be brief.', model, tools: [search], ...changes })],
      connections: loopbackConnections(vendor.origin),
    })
  }
  const say = async (id: string, text: string) => {
    await gateway.deliver({ id, from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.some((message) => message.text !== '') && isQuiet())
  }
  const isQuiet = async () => {
    const rows = await database().query<{ state: string }>(fates, [])
    return rows.every((row) => row.state !== 'queued' && row.state !== 'in_turn')
  }
  const texts = () => vendor.messages.map((message) => message.text)

  beforeEach(async () => {
    searched.length = 0
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('answers in its own words, and remembers what was said', async () => {
    start()
    server.script({ text: 'Hello Ada.' }, { text: 'You said hi.' })
    await say('m1', 'hi')
    await say('m2', 'what did I say?')
    expect(texts()).toEqual(['Hello Ada.', 'You said hi.'])
    const asked = server.requests[1]?.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`)
    expect(asked).toEqual(['system: "Be brief."', 'user: "hi"', 'assistant: "Hello Ada."', 'user: "what did I say?"'])
  })

  test('uses three tools at once and tells what they found', async () => {
    start()
    server.script({ calls: [call('a', 'one'), call('b', 'two'), call('c', 'three')] }, { text: 'All three found.' })
    await say('m1', 'look')
    expect(searched).toEqual(['one', 'two', 'three'])
    expect(texts()).toEqual(['All three found.'])
    const roles = server.requests[1]?.messages.map((message) => message.role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'tool'])
    expect((await database().query<{ type: string }>(transcript, [])).map((line) => line.type)).toEqual([
      'text',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'tool_call',
      'tool_result',
      'multimodal_part',
    ])
  })

  test('is told about a tool nobody declared and about broken arguments, and goes on', async () => {
    start()
    const unknown = { id: 'a', name: 'rm_rf', arguments: '{}' }
    const broken = { id: 'b', name: 'demo__search', arguments: '{"q": ' }
    server.script({ calls: [unknown, broken] }, { text: 'Never mind.' })
    await say('m1', 'look')
    expect(searched).toEqual([])
    expect(texts()).toEqual(['Never mind.'])
  })

  test('that never stops calling is stopped by its budget, and says so', async () => {
    start({ maxTurns: 3 })
    let count = 0
    server.script({ calls: [call('x', `q${count++}`)] }, { calls: [call('y', 'q1')] }, { calls: [call('z', 'q2')] })
    await say('m1', 'look')
    expect(texts()[0]).toContain('used up the steps')
    expect(server.requests).toHaveLength(3)
  })

  test('repeats neither model calls nor effects when its turn fails after them', async () => {
    let tries = 0
    start({
      tools: [
        search,
        defineTool({
          name: 'demo/break',
          description: 'Breaks once.',
          parameters: z.object({}),
          idempotent: true,
          execute: () => {
            tries += 1
            return 'ok'
          },
        }),
      ],
      shouldContinue: () => {
        if (tries === 1 && server.requests.length === 1) {
          tries += 1
          throw Object.assign(new Error('the database went away'), {
            name: 'GatewayError',
            code: 'storage_unavailable',
          })
        }
        return true
      },
    })
    server.script({ calls: [call('a', 'one'), { id: 'b', name: 'demo__break', arguments: '{}' }] }, { text: 'Done.' })
    await say('m1', 'look')
    expect(texts()).toEqual(['Done.'])
    expect(searched).toEqual(['one'])
    expect(server.requests).toHaveLength(2)
  })

  test('waits out a provider that fails, and answers when it is back', async () => {
    start()
    server.script({ status: 500 }, { status: 500 }, { status: 500 }, { text: 'Back.' })
    await say('m1', 'hi')
    expect(texts()).toEqual(['Back.'])
  }, 60_000)

  test('tells a refused key in safe words, and nothing of what the provider wrote', async () => {
    start()
    server.script({ status: 401, body: '{"error":{"message":"key sk-canary is wrong"}}' })
    await say('m1', 'hi')
    expect(texts()[0]).toContain('I cannot answer right now')
    expect(texts().join()).not.toContain('canary')
  })
})
