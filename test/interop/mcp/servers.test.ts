// The reference servers of the MCP project, as programs: their tools have names of ours, and their calls are answered.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type McpServer, type McpServerConfig, readMcpServers } from '../../../src/agents/mcp/mcp-server.ts'
import { createToolServers, type ToolServers } from '../../../src/agents/mcp/tool-servers.ts'
import { createMcpConnect } from '../../../src/node/mcp-client.ts'
import { ran } from '../../doubles/tool-call.ts'
import { describeBeside, loadPeer, provePeer } from '../peer.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })
const never = new AbortController().signal

type Programs = { readonly everything: string; readonly filesystem: string }

const loaded = loadPeer<Programs>('the servers of the MCP project', (require) => {
  const program = (name: string) =>
    join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist', 'index.js')
  return { everything: program('server-everything'), filesystem: program('server-filesystem') }
})

const serverOf = (config: McpServerConfig): McpServer => {
  const [server] = readMcpServers('demo', [config])
  if (server === undefined) throw new Error('no server')
  return server
}
const write = () => {}
const start = (): ToolServers =>
  createToolServers({
    connect: createMcpConnect(fetch),
    log: { info: write, warn: write, error: write },
    monotonicMs: () => performance.now(),
    patienceMs: 60_000,
  })
const everything = ({ everything: path }: Programs, changes: Partial<McpServerConfig> = {}) =>
  serverOf({ name: 'every', command: process.execPath, args: [path], ...changes })

const peer = await provePeer('the servers of the MCP project', loaded, async (programs) => {
  const servers = start()
  try {
    const { tools } = await servers.offered([everything(programs)], never)
    if (tools.length === 0) throw new Error('it lists no tools')
  } finally {
    await servers.close()
  }
})

describeBeside('a server of the MCP project', peer, (programs) => {
  let servers: ToolServers
  let folder: string
  beforeEach(async () => {
    servers = start()
    folder = await mkdtemp(join(tmpdir(), 'parley-mcp-peer-'))
  })
  afterEach(async () => {
    await servers.close()
    await rm(folder, { recursive: true, force: true })
  })
  const call = async (server: McpServer, name: string, parameters: Readonly<Record<string, unknown>>) => {
    const { tools } = await servers.offered([server], never)
    const found = tools.find((each) => each.declaration.name === name)
    if (found === undefined) throw new Error(`no tool ${name} among ${tools.map((each) => each.declaration.name)}`)
    return ran(
      found.declaration,
      (ready, _declaration, context) => servers.call({ ...found, server, parameters: ready.parameters }, context),
      { parameters },
    )
  }

  test('has each of its tools under a name of its own that providers take', async () => {
    const { tools, rejected } = await servers.offered([everything(programs())], never)
    expect(rejected).toEqual([])
    const shown = tools.map((each) => String(each.declaration.provider_safe_name))
    expect(new Set(shown).size).toBe(tools.length)
    expect(shown).toContain('every__get-sum')
    expect(shown.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([])
  })

  test('adds two numbers', async () => {
    const result = await call(everything(programs()), 'every/get-sum', { a: 2, b: 40 })
    expect(result).toMatchObject({ success: true, result: expect.stringContaining('42') })
  })

  test('may work longer than ten seconds', async () => {
    const slow = { duration: 12, steps: 2 }
    const result = await call(everything(programs()), 'every/trigger-long-running-operation', slow)
    expect(result).toMatchObject({ success: true })
  })

  test('that works longer than it may leaves its outcome unknown', async () => {
    const server = everything(programs(), { toolTimeoutsMs: { 'trigger-long-running-operation': 1_000 } })
    const result = await call(server, 'every/trigger-long-running-operation', { duration: 5, steps: 1 })
    expect(result).toMatchObject({ success: false, metadata: { error_type: 'tool_outcome_unknown' } })
    expect(await call(server, 'every/echo', { message: 'still here' })).toMatchObject({ success: true })
  })

  test('reads a file of the folder it was given', async () => {
    await writeFile(join(folder, 'note.txt'), 'forty-two')
    const files = serverOf({ name: 'files', command: process.execPath, args: [programs().filesystem, folder] })
    const result = await call(files, 'files/read_text_file', { path: join(folder, 'note.txt') })
    expect(result.success).toBe(true)
    expect(JSON.stringify(result.result)).toContain('forty-two')
  })
})
