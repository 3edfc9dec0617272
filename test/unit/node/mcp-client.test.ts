// MCP servers as tool sources, with real peers: the SDK's own server as a program and over HTTP, and servers that misbehave.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type McpServer, type McpServerConfig, readMcpServers } from '../../../src/agents/mcp/mcp-server.ts'
import { createToolServers, type ToolServers } from '../../../src/agents/mcp/tool-servers.ts'
import type { ToolResult } from '../../../src/agents/tools/tool.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import { createMcpConnect } from '../../../src/node/mcp-client.ts'
import { startMcpHttpServer, startRawMcpServer } from '../../doubles/mcp-http-server.ts'
import { ran } from '../../doubles/tool-call.ts'

const program = fileURLToPath(new URL('../../doubles/mcp-program.mjs', import.meta.url))
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })
const never = new AbortController().signal
const patience = { timeout: 30_000, interval: 50 }

let folder: string
let servers: ToolServers
let serversWith: (changes: { readonly patienceMs?: number; readonly monotonicMs?: () => number }) => ToolServers
let logged: { readonly event: string; readonly facts: LogFields | undefined }[]
let nowMs: number
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-mcp-'))
  logged = []
  nowMs = 0
  const write = (event: string, facts?: LogFields): void => void logged.push({ event, facts })
  const log = { info: write, warn: write, error: write }
  serversWith = (changes) =>
    createToolServers({ connect: createMcpConnect(fetch), log, monotonicMs: () => nowMs, ...changes })
  servers = serversWith({ patienceMs: 60_000 })
})
afterEach(async () => {
  await servers.close()
  for (const end of ends.splice(0)) await end()
  await rm(folder, { recursive: true, force: true })
})

const one = (config: McpServerConfig): McpServer => {
  const [server] = readMcpServers('demo', [config])
  if (server === undefined) throw new Error('no server')
  return server
}
const files = (mode = 'good', changes: Partial<McpServerConfig> = {}): McpServer => {
  const env = { MCP_MODE: mode, MCP_NOTES: join(folder, 'notes') }
  return one({ name: 'files', command: process.execPath, args: [program], env, ...changes })
}
const raw = async (answer: Parameters<typeof startRawMcpServer>[0]): Promise<McpServer> => {
  const server = await startRawMcpServer(answer)
  ends.push(server.close)
  return one({ name: 'web', url: server.url })
}
const notes = async (): Promise<readonly string[]> =>
  (await readFile(join(folder, 'notes'), 'utf8')).split('\n').filter((line) => line !== '')
const offered = (server: McpServer) => servers.offered([server], never)
const names = async (server: McpServer) => (await offered(server)).tools.map((each) => each.declaration.name)
const call = async (
  server: McpServer,
  name: string,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<ToolResult> => {
  const found = (await offered(server)).tools.find((each) => each.declaration.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  const { tool, declaration } = found
  return ran(
    declaration,
    (ready, _declaration, context) =>
      servers.call({ server, tool, parameters: ready.parameters, declaration }, context),
    { parameters },
  )
}

test('a program is started at its first use, once, and its tools have names of ours', async () => {
  const server = files()
  expect(await names(server)).toEqual([
    'files/read_file',
    'files/write',
    'files/hang',
    'files/huge',
    'files/flood',
    'files/fail',
    'files/grow',
    'files/shrink',
    'files/get-sum',
    'files/get__sum',
    'files/parts',
    'files/structured',
  ])
  const result = await call(server, 'files/read_file', { path: 'a.txt' })
  expect(result).toMatchObject({ success: true, tool_name: 'files/read_file', result: 'contents of a.txt' })
  expect((await notes()).filter((line) => line.startsWith('started'))).toHaveLength(1)
})

test('a program learns nothing of our environment but the path', async () => {
  process.env['PARLEY_MODEL_KEY'] = 'canary'
  await offered(files())
  const [, environment] = await notes()
  expect(environment).toBe('environment MCP_MODE,MCP_NOTES,PATH')
})

test('what a server claims about its tools counts only where it is trusted', async () => {
  const traitsOf = async (server: McpServer) => {
    const { tools } = await offered(server)
    return tools.slice(0, 2).map(({ declaration: { write, idempotent } }) => ({ write, idempotent }))
  }
  expect(await traitsOf(files('good', { trust: true }))).toEqual([
    { write: false, idempotent: true },
    { write: true, idempotent: undefined },
  ])
  expect(await traitsOf(files())).toEqual([
    { write: true, idempotent: undefined },
    { write: true, idempotent: undefined },
  ])
})

test('arguments that do not fit the schema never reach the server', async () => {
  const result = await call(files(), 'files/read_file', { path: 7 })
  expect(result).toMatchObject({ success: false, metadata: { error_type: 'invalid_parameters' } })
  expect((await notes()).some((line) => line.startsWith('read'))).toBe(false)
})

test('results keep their links and lose their pictures; text of any kind is text', async () => {
  const server = files()
  expect((await call(server, 'files/parts')).result).toEqual({
    content: [
      { type: 'text', text: 'see' },
      { type: 'resource_link', uri: 'file:///etc/passwd', name: 'passwd' },
      { type: 'image', mimeType: 'image/png', omitted_bytes: 3 },
    ],
  })
  // Neither a failure nor a pause: both are only what a server wrote.
  const structured = await call(server, 'files/structured')
  expect(structured).toMatchObject({ success: true, result: { success: false, status: 'approval_required' } })
  expect(structured.status).toBeUndefined()
})

test('an error of a tool is told in its own words, a result too large is cut', async () => {
  const server = files()
  expect(await call(server, 'files/fail')).toMatchObject({ success: false, error: 'the disk is full' })
  expect((await call(server, 'files/huge')).result).toMatchObject({ truncated: true, original_bytes: 200_000 })
})

test('a message larger than any may be ends the connection, and the next call has a new one', async () => {
  const server = files('good', { trust: true })
  const lost = await call(server, 'files/flood')
  expect(lost).toMatchObject({ success: false, metadata: { error_type: 'tool_outcome_unknown' } })
  expect(await call(server, 'files/read_file', { path: 'b' })).toMatchObject({ result: 'contents of b' })
})

test('a program that dies in a call leaves its outcome unknown, and is started again for the next', async () => {
  const server = files()
  const died = await call(server, 'files/write', { path: 'die' })
  expect(died).toMatchObject({ success: false, metadata: { error_type: 'tool_outcome_unknown' } })
  expect(await call(server, 'files/write', { path: 'a' })).toMatchObject({ success: true })
  expect((await notes()).filter((line) => line.startsWith('write'))).toEqual(['write die', 'write a'])
  expect(logged.map(({ event }) => event)).toContain('mcp_server_lost')
})

test('a call without an answer ends at its deadline, and others go on meanwhile', async () => {
  const server = files('good', { toolTimeoutsMs: { hang: 300 } })
  await offered(server)
  const [hung, read] = await Promise.all([call(server, 'files/hang'), call(server, 'files/read_file', { path: 'c' })])
  expect(hung).toMatchObject({ success: false, metadata: { error_type: 'tool_outcome_unknown' } })
  expect(read).toMatchObject({ success: true })
})

test('a change of the list is seen by the next turn', async () => {
  const server = files()
  expect(await names(server)).not.toContain('files/grown')
  await call(server, 'files/grow')
  await vi.waitFor(async () => expect(await names(server)).toContain('files/grown'), patience)
})

test('programs end with the gateway', async () => {
  await offered(files())
  const pid = Number((await notes())[0]?.split(' ')[1])
  expect(process.kill(pid, 0)).toBe(true)
  await servers.close()
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), patience)
})

test.each([
  ['that cannot be started', () => files('good', { command: '/does/not/exist' })],
  ['that ends at once', () => files('good', { args: ['-e', 'process.exit(1)'] })],
])('a program %s has no tools, is logged and reported, and is left alone for a while', async (_which, make) => {
  const server = make()
  const reason = 'mcp_server_unavailable: it could not be asked for its tools; they are left out'
  expect(await offered(server)).toEqual({ tools: [], rejected: [{ name: 'files', reason }] })
  await offered(server)
  nowMs = 70_000
  await offered(server)
  const facts = { at: 'files', agent: 'demo', reason: 'unreachable', ms: 0 }
  expect(logged).toEqual([{ event: 'mcp_server_unavailable', facts }])
})

/** With the clock that the timers have. */
const timely = (patienceMs: number): void => {
  servers = serversWith({ patienceMs, monotonicMs: () => performance.now() })
}
const events = () => logged.map(({ event, facts }) => [event, facts?.['reason']].filter((each) => each !== undefined))
const starts = async () => (await notes()).filter((line) => line.startsWith('started')).length

test('a server that starts slowly is missing from one turn and there for the next, and the log tells both once', async () => {
  timely(200)
  const server = files('slow')
  expect(await offered(server)).toMatchObject({ tools: [], rejected: [{ name: 'files' }] })
  expect(events()).toEqual([['mcp_server_unavailable', 'starting']])
  // The second turn does not wait for what the first has waited for.
  const askedAt = performance.now()
  expect((await offered(server)).tools).toEqual([])
  expect(performance.now() - askedAt).toBeLessThan(150)
  await vi.waitFor(() => expect(logged.at(-1)?.event).toBe('mcp_server_available'), patience)
  expect(await names(server)).toContain('files/write')
  expect(events()).toEqual([['mcp_server_unavailable', 'starting'], ['mcp_server_available']])
  expect(logged[0]?.facts).toMatchObject({ at: 'files', agent: 'demo', ms: expect.any(Number) })
  expect(logged[1]?.facts).toMatchObject({ at: 'files', agent: 'demo', count: 12 })
  expect(await starts()).toBe(1)
})

test('a server that could not be started is started again without a turn that asks for it', async () => {
  timely(60_000)
  const server = files('third-time')
  expect((await offered(server)).tools).toEqual([])
  await vi.waitFor(() => expect(logged.at(-1)?.event).toBe('mcp_server_available'), patience)
  expect(await names(server)).toContain('files/write')
  expect(events()).toEqual([['mcp_server_unavailable', 'unreachable'], ['mcp_server_available']])
  expect(await starts()).toBe(3)
})

test('servers are started before the first turn asks, and whether they are there can be read', async () => {
  timely(60_000)
  const server = files()
  servers.prepare([server])
  expect(servers.states()).toEqual([{ server: 'files', agent: 'demo', isThere: false }])
  await vi.waitFor(() => expect(servers.states()[0]?.isThere).toBe(true), patience)
  expect(await names(server)).toContain('files/write')
  expect(await starts()).toBe(1)
})

test('a program that dies in a call is there again without being asked for; one that dies again and again is left alone longer', async () => {
  timely(60_000)
  const server = files()
  await call(server, 'files/write', { path: 'die' })
  await vi.waitFor(() => expect(servers.states()[0]?.isThere).toBe(true), patience)
  expect(await starts()).toBe(2)
  expect(events()).toEqual([['mcp_server_lost'], ['mcp_server_available']])
  await call(server, 'files/write', { path: 'die' })
  expect((await offered(server)).tools).toEqual([])
  await vi.waitFor(() => expect(servers.states()[0]?.isThere).toBe(true), patience)
  expect(await starts()).toBe(3)
})

test('a tool that its server has taken back is unavailable to the turn that still has it, and nothing is sent', async () => {
  const server = files()
  const { tools } = await offered(server)
  await call(server, 'files/shrink')
  await vi.waitFor(async () => expect(await names(server)).not.toContain('files/write'), patience)
  const write = tools.find((each) => each.tool === 'write')
  if (write === undefined) throw new Error('no tool')
  const gone = await ran(
    write.declaration,
    (ready, _declaration, context) => servers.call({ ...write, server, parameters: ready.parameters }, context),
    { parameters: { path: 'x' } },
  )
  expect(gone).toMatchObject({ success: false, metadata: { error_type: 'mcp_tool_unavailable' } })
  expect((await notes()).some((line) => line.startsWith('write'))).toBe(false)
})

test('the limits of a server and of its single tools are the limits of their calls', async () => {
  const server = files('good', { timeoutMs: 300_000, toolTimeoutsMs: { huge: 900_000 } })
  const { tools } = await offered(server)
  const limitOf = (name: string) => tools.find((each) => each.tool === name)?.declaration.timeout_ms
  expect([limitOf('write'), limitOf('huge')]).toEqual([300_000, 900_000])
  expect(() => one({ name: 'x', command: 'y', timeoutMs: 4_000_000 })).toThrow('an hour at most')
  expect(() => one({ name: 'x', command: 'y', toolTimeoutsMs: { a: -1 } })).toThrow('toolTimeoutsMs.a')
})

test('every name that a server gives its tools is one of ours, each another, whichever comes first', async () => {
  const spelled = [
    'get-sum',
    'get_sum',
    'getSum',
    'get.sum',
    'GET SUM',
    'a/b',
    'a__b',
    '1st',
    '検索',
    '天気',
    `x${'y'.repeat(200)}`,
  ]
  const named = async (listed: readonly string[]) => {
    const { tools, rejected } = await offered(await raw(() => ({ tools: listed.map((name) => tool(name)) })))
    expect(rejected).toEqual([])
    return new Map(tools.map((each) => [each.tool, each.declaration]))
  }
  const first = await named(spelled)
  const shown = [...first.values()].map((each) => each.provider_safe_name)
  expect(new Set([...first.values()].map((each) => each.name)).size).toBe(spelled.length)
  expect(new Set(shown).size).toBe(spelled.length)
  expect(shown.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name ?? ''))).toEqual([])
  expect(first.get('get-sum')).toMatchObject({ name: 'web/get-sum', provider_safe_name: 'web__get-sum' })
  expect(first.get('get_sum')).toMatchObject({ name: 'web/get_sum', provider_safe_name: 'web__get_sum' })
  expect(first.get('1st')?.name).toBe('web/tool_1st')
  expect(new Map([...(await named(spelled.toReversed()))].toReversed())).toEqual(first)
})

test.each(['silent', 'babble'])(
  'a program that is %s does not hold up a turn for ever, and ends with us',
  async (mode) => {
    servers = serversWith({ patienceMs: 500 })
    const { tools, rejected } = await offered(files(mode))
    expect(tools).toEqual([])
    expect(rejected[0]?.reason).toContain('mcp_server_unavailable')
    await vi.waitFor(notes, patience)
    await servers.close()
    const pid = Number((await notes())[0]?.split(' ')[1])
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), patience)
  },
  90_000,
)

test('a server over HTTP is asked with its headers, and given the key of the call', async () => {
  const peer = await startMcpHttpServer()
  ends.push(peer.close)
  const server = one({ name: 'web', url: peer.url, headers: { authorization: 'Bearer t0ken' } })
  expect(await call(server, 'web/search', { q: 'cats' })).toMatchObject({ success: true, result: 'about cats' })
  expect(peer.seen.calls).toEqual([{ q: 'cats', key: 'key-1' }])
  expect(new Set(peer.seen.headers.map((headers) => headers.authorization))).toEqual(new Set(['Bearer t0ken']))
  expect(JSON.stringify(server)).not.toContain('t0ken')
})

test('a session the server has forgotten is made anew, and the call is made once', async () => {
  const peer = await startMcpHttpServer()
  ends.push(peer.close)
  const server = one({ name: 'web', url: peer.url })
  await offered(server)
  peer.forget()
  expect(await call(server, 'web/search', { q: 'dogs' })).toMatchObject({ success: true })
  expect(peer.seen.calls).toHaveLength(1)
})

test('a server over HTTP that went away is unreachable, not unknown, once that is clear', async () => {
  const peer = await startMcpHttpServer()
  const server = one({ name: 'web', url: peer.url })
  const { tools } = await offered(server)
  await peer.close()
  const [search] = tools
  if (search === undefined) throw new Error('no tool')
  const again = () =>
    ran(
      search.declaration,
      (ready, _declaration, context) => servers.call({ ...search, server, parameters: ready.parameters }, context),
      { parameters: { q: 'x' } },
    )
  expect(await again()).toMatchObject({ metadata: { error_type: 'tool_outcome_unknown' } })
  expect(await again()).toMatchObject({ metadata: { error_type: 'mcp_server_unavailable' } })
})

test('a server that wants other credentials is rejected by name, without its words', async () => {
  const door = createServer((_request, response) => void response.writeHead(401).end('canary-secret'))
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  const address = door.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  ends.push(async () => void door.close())
  await offered(one({ name: 'web', url: `http://127.0.0.1:${address.port}/` }))
  expect(logged).toEqual([
    { event: 'mcp_server_unavailable', facts: { at: 'web', agent: 'demo', reason: 'rejected', code: '401', ms: 0 } },
  ])
})

const tool = (name: string, more: object = {}) => ({ name, description: 'x', inputSchema: { type: 'object' }, ...more })

test.each([
  ['ten thousand tools', 'too_many_tools', () => ({ tools: Array.from({ length: 10_000 }, (_, i) => tool(`t${i}`)) })],
  ['an endless list', 'endless_tool_list', () => ({ tools: [], nextCursor: crypto.randomUUID() })],
  ['the same page for ever', 'endless_tool_list', () => ({ tools: [], nextCursor: 'again' })],
  ['no list at all', 'no_tool_list', () => ({ tools: 'many' })],
  [
    'megabytes of description',
    'tool_list_too_large',
    () => ({ tools: [tool('a', { description: 'x'.repeat(600_000) })] }),
  ],
])('a server with %s has none', async (_what, reason, answer) => {
  const server = await raw(answer)
  const { tools, rejected } = await offered(server)
  expect(tools).toEqual([])
  expect(rejected).toEqual([{ name: 'web', reason: `mcp_${reason}: all its tools are left out` }])
  expect(logged).toEqual([{ event: 'mcp_tools_rejected', facts: { at: 'web', reason } }])
})

test('tools that lie about themselves are rejected one by one', async () => {
  const long = `a${'b'.repeat(90)}`
  const listed = [
    tool('good'),
    tool('good'),
    tool('GOOD'),
    tool(''),
    tool('list', { inputSchema: [] }),
    { name: 'bare' },
    tool('text', { inputSchema: { type: 'string' } }),
    tool('odd', { inputSchema: { type: 'object', properties: { a: 'string' } } }),
    tool('req', { inputSchema: { type: 'object', required: 'a' } }),
    'seven',
    null,
    tool('1st'),
    tool(long),
  ]
  const { tools, rejected } = await offered(await raw(() => ({ tools: listed })))
  expect(tools.map((each) => each.tool)).toEqual(['good', 'GOOD', '1st', long])
  expect(tools.at(-1)?.declaration.provider_safe_name).toMatch(/^web_ab+_X[0-9a-f]{16}$/)
  expect(rejected.map(({ name }) => name)).toEqual([
    'web/good',
    'web/',
    'web/list',
    'web/bare',
    'web/text',
    'web/odd',
    'web/req',
    'web/',
    'web/',
  ])
})

test.each([
  ['a call answered with invalid JSON', '{"jsonrpc": "2.0", "id"', 'tool_outcome_unknown'],
  ['a call answered with five megabytes', `"${'x'.repeat(5_000_000)}"`, 'tool_outcome_unknown'],
  ['a call answered with something that is no result', { content: 'text' }, 'mcp_invalid_result'],
])('%s is a failed call and nothing more', async (_what, answer, errorType) => {
  const server = await raw((method) => (method === 'tools/list' ? { tools: [tool('act')] } : answer))
  expect(await call(server, 'web/act')).toMatchObject({ success: false, metadata: { error_type: errorType } })
  expect(await names(server)).toEqual(['web/act'])
})

test('a turn that has lost its lease sends nothing', async () => {
  const peer = await startMcpHttpServer()
  ends.push(peer.close)
  const server = one({ name: 'web', url: peer.url })
  const [search] = (await offered(server)).tools
  if (search === undefined) throw new Error('no tool')
  const lost = () => {
    throw Object.assign(new Error('moved on'), { name: 'GatewayError', code: 'lease_lost' })
  }
  const sent = servers.call(
    { server, tool: search.tool, parameters: { q: 'x' }, declaration: search.declaration },
    { key: 'k', signal: never, assertHeld: lost },
  )
  await expect(sent).rejects.toThrow('moved on')
  expect(peer.seen.calls).toEqual([])
})
