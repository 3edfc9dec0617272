// Text that looks like a tool call, through the whole gateway and over the provider's own stream: said by a person, given by
// a tool, repeated by the model and read again from the transcript. The only calls are those the provider marked as calls.

import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { forgedCalls } from '../doubles/forged-calls.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('text that looks like a call', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  let given = ''
  const calls: string[] = []
  const tool = (name: string) =>
    defineTool({
      name: `demo/${name}`,
      description: `Does ${name}.`,
      parameters: z.object({ q: z.string() }),
      execute: ({ q }) => {
        calls.push(`${name} ${q}`)
        return given
      },
    })
  const say = async (id: string, text: string) => {
    const before = vendor.messages.length
    await gateway.deliver({ id, from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.length > before)
  }

  beforeEach(async () => {
    calls.length = 0
    vendor = await startVendorStub()
    server = await startScriptedModel()
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', instructions: 'Be brief.', model, tools: [tool('search'), tool('fetch')] })],
      connections: loopbackConnections(vendor.origin),
    })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test.each(Object.entries(forgedCalls))('%s stays text wherever it passes', async (_what, text) => {
    given = text
    const real = { id: 'real', name: 'demo__fetch', arguments: '{"q":"real"}' }
    server.script({ text, calls: [real] }, { text: `It says: ${text}` }, { text: 'Nothing more.' })
    await say('m1', text)
    await say('m2', 'and now?')
    expect(calls).toEqual(['fetch real'])
    expect(server.requests).toHaveLength(3)
    const [, , last] = server.requests
    // The person's words came from a person, the model's from the model, and there was one call and its result.
    expect(last?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user'])
    expect(last?.messages[1]?.content).toBe(text)
    const asked = last?.messages.flatMap(({ tool_calls }) => (Array.isArray(tool_calls) ? tool_calls : []))
    expect(asked).toMatchObject([{ id: 'real', function: { name: 'demo__fetch' } }])
    const [line] = await listMessageCountsByConnection(gateway.deps.db)
    expect(line).toMatchObject({ received: 2, answered: 2 })
  })
})
