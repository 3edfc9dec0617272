// A model that uses the tools of an MCP server, from a person's message to the answer they get.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { createToolServers } from '../../src/agents/mcp/tool-servers.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { toProviderSafeName } from '../../src/agents/tools/tool-names.ts'
import type { GatewayEvent } from '../../src/contract/gateway-events.ts'
import { createMcpConnect } from '../../src/node/mcp-client.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const program = fileURLToPath(new URL('../doubles/mcp-program.mjs', import.meta.url))

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

describeOnDatabase('an agent with an MCP server', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  let folder: string
  let events: GatewayEvent[]

  const start = (changes: Partial<ModelAgentDefinition> = {}) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const env = { MCP_NOTES: join(folder, 'notes') }
    const mcpServers = [{ name: 'files', command: process.execPath, args: [program], env }]
    gateway = createTestGateway(
      database(),
      {
        agents: [defineAgent({ slug: 'demo', model, mcpServers, ...changes })],
        connections: loopbackConnections(vendor.origin),
        onEvent: (event) => void events.push(event),
      },
      {
        createToolServers: (deps) =>
          createToolServers({ ...deps, connect: createMcpConnect(deps.fetch), patienceMs: 60_000 }),
      },
    )
  }
  const say = async (text: string) => {
    await gateway.deliver({ id: 'm1', from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.length > 0, 60_000)
    return vendor.messages.map((message) => message.text)
  }
  const notes = async () => (await readFile(join(folder, 'notes'), 'utf8')).split('\n')
  const payloadsOf = (type: string) =>
    events.flatMap((each) => (each.type === type && 'payload' in each ? [each.payload] : []))

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-mcp-'))
    events = []
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await gateway.closeTools()
    await vendor.close()
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('is shown its tools, calls one, and answers with what it found', async () => {
    start()
    const call = { id: 'a', name: 'files__read_file', arguments: '{"path":"notes.txt"}' }
    server.script({ calls: [call] }, { text: 'It says: contents of notes.txt' })
    expect(await say('what is in notes.txt?')).toEqual(['It says: contents of notes.txt'])
    expect(server.requests[0]?.tools?.map((tool) => tool.function.name)).toContain('files__read_file')
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain('contents of notes.txt')
    expect((await notes()).filter((line) => line.startsWith('read'))).toEqual(['read notes.txt'])
  })

  test('keeps to its policies with them: what is hidden is not shown, what is forbidden is not done', async () => {
    start({ toolPolicy: { deny: ['files/hang'] }, actionPolicy: { tools: { 'files/write': 'forbidden' } } })
    server.script(
      { calls: [{ id: 'a', name: 'files__write', arguments: '{"path":"x"}' }] },
      { text: 'I may not write.' },
    )
    expect(await say('write x')).toEqual(['I may not write.'])
    expect(server.requests[0]?.tools?.map((tool) => tool.function.name)).not.toContain('files__hang')
    expect((await notes()).some((line) => line.startsWith('write'))).toBe(false)
  })

  test('answers without them when the server is down, and whoever watches is told why', async () => {
    start({ mcpServers: [{ name: 'files', command: '/does/not/exist' }] })
    server.script({ text: 'Hello.' })
    expect(await say('hi')).toEqual(['Hello.'])
    expect(server.requests[0]?.tools ?? []).toEqual([])
    expect(payloadsOf('loop.tool_declarations_rejected')).toEqual([
      {
        rejected: [{ name: 'files', reason: expect.stringContaining('mcp_server_unavailable') }],
        rejected_count: 1,
        accepted_count: 0,
      },
    ])
    expect(gateway.logged.map(({ event }) => event)).toContain('mcp_server_unavailable')
  })

  test('goes on after a failure with the tools it was offered, also when their server is gone, and does nothing twice', async () => {
    let isBroken = true
    start({
      shouldContinue: () => {
        if (!isBroken) return true
        isBroken = false
        // From here on no server answers any more.
        void gateway.closeTools()
        throw Object.assign(new Error('the database went away'), { name: 'GatewayError', code: 'storage_unavailable' })
      },
    })
    server.script({ calls: [{ id: 'a', name: 'files__write', arguments: '{"path":"once"}' }] }, { text: 'Written.' })
    expect(await say('write')).toEqual(['Written.'])
    expect((await notes()).filter((line) => line.startsWith('write'))).toEqual(['write once'])
    expect(server.requests).toHaveLength(2)
  })

  test('has tools whose names differ in a stroke only, each called by its own name, also when the turn is taken up again', async () => {
    let isBroken = true
    start({
      shouldContinue: () => {
        if (!isBroken) return true
        isBroken = false
        throw Object.assign(new Error('the database went away'), { name: 'GatewayError', code: 'storage_unavailable' })
      },
    })
    const [sum, other] = ['files__get-sum', toProviderSafeName('files/get__sum')]
    server.script(
      { calls: [{ id: 'a', name: sum, arguments: '{"ms":1}' }] },
      { calls: [{ id: 'b', name: other, arguments: '{}' }] },
      { text: 'Both.' },
    )
    expect(await say('both')).toEqual(['Both.'])
    const shown = server.requests.map((each) => each.tools?.map((tool) => tool.function.name).toSorted())
    expect(shown[0]).toEqual(expect.arrayContaining([sum, other]))
    expect(shown[1]).toEqual(shown[0])
    expect(JSON.stringify(server.requests[2]?.messages.at(-1))).toContain('another')
    expect((await notes()).filter((line) => line.startsWith('sum'))).toEqual(['sum 1'])
  })

  test('is refused by name where no MCP server can be reached', () => {
    start()
    const agents = [...gateway.deps.agents.values()]
    const refused = () => createTestGateway(database(), { agents, connections: loopbackConnections(vendor.origin) })
    expect(refused).toThrow('[agent] "demo": the MCP server "files" can be reached from Node only')
  })
})
