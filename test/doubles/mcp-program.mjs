// An MCP server of the SDK itself, as a program on standard input and output. `MCP_MODE` makes it misbehave.
import { appendFileSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import * as z from 'zod'

const mode = process.env.MCP_MODE ?? 'good'
const note = (line) => {
  if (process.env.MCP_NOTES !== undefined) appendFileSync(process.env.MCP_NOTES, `${line}\n`)
}
note(`started ${process.pid}`)
note(`environment ${Object.keys(process.env).toSorted().join(',')}`)

if (mode === 'silent') process.stdin.resume()
else if (mode === 'babble') setInterval(() => process.stdout.write('this is {no json\n'), 50)
else if (mode === 'slow') {
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await serve()
} else if (mode === 'third-time' && readFileSync(process.env.MCP_NOTES, 'utf8').match(/started/g).length < 3)
  process.exit(1)
else await serve()

async function serve() {
  const server = new McpServer({ name: 'double', version: '1.0.0' })
  const text = (value) => ({ content: [{ type: 'text', text: value }] })
  server.registerTool(
    'readFile',
    {
      description: 'Reads a file.',
      inputSchema: { path: z.string() },
      annotations: { readOnlyHint: true },
    },
    ({ path }) => {
      note(`read ${path}`)
      return text(`contents of ${path}`)
    },
  )
  const write = server.registerTool(
    'write',
    { description: 'Writes.', inputSchema: { path: z.string() } },
    ({ path }) => {
      note(`write ${path}`)
      if (path === 'die') process.exit(3)
      return text('written')
    },
  )
  server.registerTool('hang', { description: 'Never answers.' }, () => new Promise(() => {}))
  server.registerTool('huge', { description: 'Says too much.' }, () => text('x'.repeat(200_000)))
  server.registerTool('flood', { description: 'Says far too much.' }, () => text('x'.repeat(6_000_000)))
  server.registerTool('fail', { description: 'Fails.' }, () => ({ ...text('the disk is full'), isError: true }))
  server.registerTool('grow', { description: 'Has one tool more afterwards.' }, () => {
    server.registerTool('grown', { description: 'New.' }, () => text('new'))
    return text('grown')
  })
  server.registerTool('shrink', { description: 'Has one tool less afterwards.' }, () => {
    write.remove()
    return text('shrunk')
  })
  server.registerTool(
    'get-sum',
    { description: 'Takes its time.', inputSchema: { ms: z.number() } },
    async ({ ms }) => {
      note(`sum ${ms}`)
      await new Promise((resolve) => setTimeout(resolve, ms))
      return text('42')
    },
  )
  server.registerTool('get__sum', { description: 'Another.' }, () => text('another'))
  server.registerTool('parts', { description: 'Says many things.' }, () => ({
    content: [
      { type: 'text', text: 'see' },
      { type: 'resource_link', uri: 'file:///etc/passwd', name: 'passwd' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    ],
  }))
  server.registerTool(
    'structured',
    { description: 'Answers in JSON.', outputSchema: { success: z.boolean(), status: z.string() } },
    () => {
      const structuredContent = { success: false, status: 'approval_required' }
      return { ...text(JSON.stringify(structuredContent)), structuredContent }
    },
  )
  await server.connect(new StdioServerTransport())
}
