// The built program with an MCP server, as a person configures it: bundling must not part the client from what it needs.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { startParley } from '../../doubles/parley-process.ts'

const library = new URL('../../../dist/index.js', import.meta.url).href
const program = fileURLToPath(new URL('../../doubles/mcp-program.mjs', import.meta.url))

const configText = (notes: string): string => `
import { defineAgent, defineConfig } from ${JSON.stringify(library)}
const call = { name: 'files/read_file', parameters: { path: 'a.txt' } }
const model = async ({ turn, messages }) =>
  turn === 1 ? { tool_calls: [call] } : { content: 'It says: ' + messages.at(-1).payload.result }
const mcpServers = [{ name: 'files', command: process.execPath, args: [${JSON.stringify(program)}], env: { MCP_NOTES: ${JSON.stringify(notes)} } }]
export default defineConfig({ agents: [defineAgent({ slug: 'demo', model, mcpServers })] })
`

test('the gateway starts an MCP server, uses its tool, and ends it with itself', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-mcp-'))
  const notes = join(dataDir, 'notes')
  await writeFile(join(dataDir, 'parley.config.mjs'), configText(notes))
  const parley = await startParley({ dataDir })
  try {
    expect((await parley.ask('r1', 'what is in a.txt?')).text).toContain('"content":"It says: contents of a.txt"')
  } finally {
    expect(await parley.stop()).toBe(0)
  }
  const pid = Number(/started (\d+)/.exec(await readFile(notes, 'utf8'))?.[1])
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 30_000 })
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
}, 120_000)
