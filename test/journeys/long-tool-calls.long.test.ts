// A tool that takes longer than the lease of its turn.
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { createToolServers } from '../../src/agents/mcp/tool-servers.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { toProviderSafeName } from '../../src/agents/tools/tool-names.ts'
import { createMcpConnect } from '../../src/node/mcp-client.ts'
import { startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestGateway, loopbackConnections, settleUntil } from '../doubles/test-gateway.ts'
import { startVendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const program = fileURLToPath(new URL('../doubles/mcp-program.mjs', import.meta.url))
vi.setConfig({ testTimeout: 120_000, hookTimeout: 90_000 })

describeOnDatabase('a call of a tool', (database) => {
  test('may take longer than the lease of its turn, which is renewed meanwhile, and is made once', async () => {
    const vendor = await startVendorStub()
    const server = await startScriptedModel()
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const mcpServers = [{ name: 'files', command: process.execPath, args: [program], timeoutMs: 60_000 }]
    const gateway = createTestGateway(
      database(),
      {
        agents: [defineAgent({ slug: 'demo', model, mcpServers })],
        connections: loopbackConnections(vendor.origin),
        turns: { leaseMs: 15_000 },
      },
      { createToolServers: (deps) => createToolServers({ ...deps, connect: createMcpConnect(deps.fetch) }) },
    )
    const name = toProviderSafeName('files/get-sum')
    server.script({ calls: [{ id: 'a', name, arguments: '{"ms":17000}' }] }, { text: 'It is added up.' })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'add up' })
    await settleUntil(gateway, () => vendor.messages.length > 0, 60_000)
    expect(vendor.messages.map((message) => message.text)).toEqual(['It is added up.'])
    expect(server.requests).toHaveLength(2)
    const told = server.requests[1]?.messages.at(-1)
    expect(told).toMatchObject({ role: 'tool', content: expect.stringContaining('42') })
    expect(gateway.logged.map(({ event }) => event)).not.toContain('turn_fenced')
    gateway.stop()
    await gateway.closeTools()
    await vendor.close()
    await server.close()
  })
})
