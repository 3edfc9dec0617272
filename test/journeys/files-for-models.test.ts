// A picture that somebody sent, as a model sees it: its bytes go to the provider and into no row.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { nameStatement } from '../../src/db/client.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { memoryBlobs } from '../doubles/memory-blobs.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])
const base64 = Buffer.from(png).toString('base64')
const everything = nameStatement(
  'test_everything',
  `select string_agg(query_to_xml(format('select * from %I', tablename), true, false, '')::text, '') as dump
   from pg_tables where schemaname = 'public'`,
)
const letter = { id: 'm1', from: 'ada', text: 'what is this?', files: [{ id: 'f1', mime: 'image/png', name: 'a.png' }] }

describeOnDatabase('pictures for a model', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  const start = (files: boolean, on = database()) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const agents = [defineAgent({ slug: 'demo', model, files })]
    gateway = createTestGateway(
      on,
      { agents, connections: loopbackConnections(vendor.origin) },
      { files: memoryBlobs() },
    )
  }
  beforeEach(async () => {
    vendor = await startVendorStub()
    vendor.files.set('f1', { bytes: png })
    server = await startScriptedModel()
    server.script({ text: 'a square' })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })
  const asked = (at: number) => server.requests[at]?.messages.at(-1)?.content

  test('an agent that takes files shows it, in its own turn only', async () => {
    start(true)
    await gateway.deliver(letter)
    await settleUntil(gateway, () => vendor.messages.length === 1)
    expect(asked(0)).toEqual([
      { type: 'text', text: expect.stringMatching(/^what is this\?\s+\[file: a\.png/) },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    ])
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'sure?' })
    await settleUntil(gateway, () => vendor.messages.length === 2)
    expect(JSON.stringify(server.requests[1])).not.toContain(base64)
    expect((await database().query<{ dump: string }>(everything, []))[0]?.dump).not.toContain(base64)
  })

  test('an agent that does not is told its name', async () => {
    start(false)
    await gateway.deliver(letter)
    await settleUntil(gateway, () => vendor.messages.length === 1)
    expect(asked(0)).toMatch(/^what is this\?\s+\[file: a\.png/)
  })

  test('after a crash the model is not asked about it again', async () => {
    let isBroken = false
    const breaking = watchedDatabase(database(), (name) => {
      if (isBroken || name !== 'before:complete_turn') return
      isBroken = true
      throw new GatewayError('storage_unavailable', 'the database went away')
    })
    start(true, breaking)
    await gateway.deliver(letter)
    await settleUntil(gateway, () => vendor.messages.length === 1)
    expect([isBroken, server.requests.length]).toEqual([true, 1])
  })
})
