// An MCP server over streamable HTTP on loopback: the SDK's own, or one whose answers a test writes itself.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import * as z from 'zod'

export type McpHttpServer = {
  readonly url: string
  /** Headers of every request, and the parameters of every call. */
  readonly seen: { readonly headers: IncomingMessage['headers'][]; readonly calls: unknown[] }
  /** Forgets every session, as a restart does. */
  readonly forget: () => void
  readonly close: () => Promise<void>
}

export async function startMcpHttpServer(): Promise<McpHttpServer> {
  const seen: McpHttpServer['seen'] = { headers: [], calls: [] }
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const server = createServer((request, response) => {
    seen.headers.push(request.headers)
    handle(request, response).catch(() => response.destroy())
  })
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known !== undefined) return known.handleRequest(request, response)
    if (typeof id === 'string') return void response.writeHead(404).end('{"error":"session canary-secret not found"}')
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    })
    await scripted(seen.calls).connect(transport as Parameters<McpServer['connect']>[0])
    await transport.handleRequest(request, response)
  }
  const url = await listening(server)
  return {
    url,
    seen,
    forget: () => sessions.clear(),
    close: () => closed(server),
  }
}

function scripted(calls: unknown[]): McpServer {
  const server = new McpServer({ name: 'double', version: '1.0.0' })
  const inputSchema = { q: z.string() }
  server.registerTool('search', { description: 'Searches.', inputSchema }, ({ q }, { _meta }) => {
    calls.push({ q, key: _meta?.['parley/idempotency-key'] })
    return { content: [{ type: 'text', text: `about ${q}` }] }
  })
  return server
}

export type RawAnswer = (method: string, params: Readonly<Record<string, unknown>>) => unknown

/** Answers initialize properly, and everything else with what `answer` returns as the result. */
export async function startRawMcpServer(answer: RawAnswer): Promise<Pick<McpHttpServer, 'url' | 'close'>> {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    readJson(request).then(
      ({ id, method, params }) => {
        if (id === undefined) return void response.writeHead(202).end()
        const result =
          method === 'initialize'
            ? {
                protocolVersion: '2025-06-18',
                capabilities: { tools: {} },
                serverInfo: { name: 'raw', version: '1' },
              }
            : answer(method, params ?? {})
        if (result === undefined) return
        const body = typeof result === 'string' ? result : JSON.stringify({ jsonrpc: '2.0', id, result })
        response.writeHead(200, { 'content-type': 'application/json' }).end(body)
      },
      () => response.destroy(),
    )
  })
  return { url: await listening(server), close: () => closed(server) }
}

type RpcRequest = {
  readonly id?: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

async function readJson(request: IncomingMessage): Promise<RpcRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as RpcRequest
}

async function listening(server: Server): Promise<string> {
  // A machine that stalls for seconds must not find its connection closed.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
