// A model that answers with JSON of a schema: told the form, checked, asked once more, and failed in safe words.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import type { GatewayEvent } from '../../src/contract/gateway-events.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const output = z.object({ topic: z.string(), urgent: z.boolean() })

describeOnDatabase('an agent with structured output', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  let events: GatewayEvent[]

  const start = (changes: Partial<ModelAgentDefinition> = {}, structuredOutputs = false) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted', structuredOutputs })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', instructions: 'Sort.', model, output, ...changes })],
      connections: loopbackConnections(vendor.origin),
      onEvent: (event) => void events.push(event),
    })
  }
  const say = async (text: string) => {
    await gateway.deliver({ id: 'm1', from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.length > 0)
    return vendor.messages.map((message) => message.text)
  }

  beforeEach(async () => {
    events = []
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('answers with JSON that fits, also when the model put it into a code block', async () => {
    start()
    server.script({ text: '```json\n{ "topic": "bill",  "urgent": true }\n```' })
    expect(await say('sort this')).toEqual(['{"topic":"bill","urgent":true}'])
    const [request] = server.requests as unknown as { messages: { content: string }[]; response_format?: unknown }[]
    expect(request?.messages[0]?.content).toContain('"required":["topic","urgent"]')
    expect(request?.response_format).toEqual({ type: 'json_object' })
  })

  test('hands the schema itself to a server that takes one', async () => {
    start({}, true)
    server.script({ text: '{"topic":"bill","urgent":true}' })
    await say('sort this')
    const [request] = server.requests as { response_format?: { type: string; json_schema: { schema: object } } }[]
    expect(request?.response_format?.type).toBe('json_schema')
    expect(request?.response_format?.json_schema.schema).toMatchObject({ required: ['topic', 'urgent'] })
  })

  test.each([
    ['no JSON', 'It is a bill.', 'That was no JSON'],
    ['JSON of another form', '{"topic":7}', 'urgent is required'],
  ])('asks once more after %s, and says what was wrong', async (_what, wrong, note) => {
    start()
    server.script({ text: wrong }, { text: '{"topic":"bill","urgent":false}' })
    expect(await say('sort this')).toEqual(['{"topic":"bill","urgent":false}'])
    const again = server.requests[1]?.messages.slice(-2).map(({ content }) => JSON.stringify(content)) ?? []
    expect(again[0]).toContain(JSON.stringify(wrong).slice(1, -1))
    expect(again[1]).toContain(note)
  })

  test('fails in safe words after the second try, and nothing the model wrote gets out', async () => {
    start()
    server.script({ text: 'canary-secret' }, { text: '{"topic":"canary-secret"}' })
    const [told] = await say('sort this')
    expect(told).toContain('could not bring my answer into the form')
    expect(server.requests).toHaveLength(2)
    expect(JSON.stringify([told, events, gateway.logged])).not.toContain('canary-secret')
    const failed = events.find((event) => event.type === 'loop.failed')
    expect(failed).toMatchObject({ payload: { error: "The model's JSON does not fit its schema." } })
  })

  test('checks what only zod can check', async () => {
    start({ output: z.object({ topic: z.string().refine((topic) => topic !== 'x', 'is not x') }) })
    server.script({ text: '{"topic":"x"}' }, { text: '{"topic":"y"}' })
    expect(await say('sort this')).toEqual(['{"topic":"y"}'])
  })

  test('takes a JSON Schema, and null where that allows it', async () => {
    start({ output: { type: ['object', 'null'] } })
    server.script({ text: 'null' })
    expect(await say('sort this')).toEqual(['null'])
  })
})
