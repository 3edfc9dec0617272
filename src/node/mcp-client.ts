// The MCP client on Node: a program on its standard input and output, or streamable HTTP. The SDK is loaded by the first agent
// that has a server; it speaks the protocol, and what it would believe or run of a server's schemas is left to us.

import process from 'node:process'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { McpError } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import type { McpServer } from '../agents/mcp/mcp-server.ts'
import { createMcpSession, type McpConnect, McpFailure, type McpSession } from '../agents/mcp/mcp-session.ts'
import { settleWithin } from '../lib/index.ts'
import type { Secret } from '../lib/secret.ts'

/** One message of a server, and one answer over HTTP. */
const maxMessageBytes = 4 * 1024 * 1024
/** Longer than a server may take for anything: the deadline of what is asked comes first. */
const graceMs = 15_000
const goodbyeMs = 2_000

/** Whatever the server sent: it is read on our side, tool by tool. */
const anything = z.looseObject({})

export function createMcpConnect(fetch: typeof globalThis.fetch): McpConnect {
  return async (server, hooks, signal) => {
    const sdk = await loadSdk()
    const { reach, startTimeoutMs, timeoutMs, toolTimeoutsMs } = server
    const requestMs = Math.max(startTimeoutMs, timeoutMs, ...Object.values(toolTimeoutsMs)) + graceMs
    const bounded = createBoundedFetch(fetch, { maxBytes: maxMessageBytes, requestMs })
    const transport = reach.kind === 'command' ? commandTransport(sdk, reach) : urlTransport(sdk, reach, bounded)
    // No capabilities: it may ask us for nothing, neither samples of our model nor questions to our people.
    const client = new sdk.Client(
      { name: 'parley', version: manifest.version },
      { capabilities: {}, jsonSchemaValidator: noValidator },
    )
    let isOpen = false
    let isClosed = false
    client.onclose = () => {
      isClosed = true
      if (isOpen) hooks.onClosed()
    }
    // Over HTTP the stream that would tell of changes may be what broke: the list is asked for again.
    client.onerror = () => hooks.onToolsChanged()
    client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => hooks.onToolsChanged())
    try {
      await client.connect(transport, { signal, timeout: requestMs })
    } catch (error) {
      await client.close().catch(() => {})
      throw toMcpFailure(error, sdk, { isOpen: false, isClosed })
    }
    isOpen = true
    return openMcpSession(client, transport, sdk, { isClosed: () => isClosed, requestMs })
  }
}

type SessionFacts = { readonly isClosed: () => boolean; readonly requestMs: number }

function openMcpSession(
  client: Client,
  transport: Transport,
  sdk: Sdk,
  { isClosed, requestMs }: SessionFacts,
): McpSession {
  return createMcpSession(
    async ({ method, params }, signal) => {
      try {
        return await client.request({ method, params: { ...params } }, anything, { signal, timeout: requestMs })
      } catch (error) {
        signal.throwIfAborted()
        throw toMcpFailure(error, sdk, { isOpen: true, isClosed: isClosed() })
      }
    },
    async () => {
      if (transport instanceof sdk.StreamableHTTPClientTransport) {
        await settleWithin(
          transport.terminateSession().catch(() => {}),
          goodbyeMs,
          undefined,
        )
      }
      await client.close()
    },
  )
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>

async function loadSdk() {
  const [client, stdio, http, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/stdio.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  return { ...client, ...stdio, ...http, ...types } satisfies McpErrors
}

function commandTransport(sdk: Sdk, reach: Extract<McpServer['reach'], { kind: 'command' }>): Transport {
  const { command, args, env, cwd } = reach
  return new sdk.StdioClientTransport({
    command,
    args: [...args],
    env: childEnvironment(env, sdk.DEFAULT_INHERITED_ENV_VARS),
    // What it writes there may hold anything.
    stderr: 'ignore',
    maxBufferSize: maxMessageBytes,
    ...(cwd === undefined ? {} : { cwd }),
  })
}

function urlTransport(
  sdk: Sdk,
  reach: Extract<McpServer['reach'], { kind: 'url' }>,
  fetch: ReturnType<typeof createBoundedFetch>,
) {
  const headers = Object.entries(reach.headers).map(([name, value]) => [name, value.reveal()] as const)
  return new sdk.StreamableHTTPClientTransport(new URL(reach.url), {
    fetch,
    requestInit: { headers: Object.fromEntries(headers) },
  })
}

/** Schemas of a remote server are not compiled: their result is not used here. */
const noValidator = {
  getValidator: () => () => {
    throw new McpFailure('lost')
  },
}

// fetch for MCP over HTTP: no answer is larger than it may be, and no request stays open longer than it may. The stream of a
// server's own messages is open for as long as the server likes; there each message is bounded.

export type FetchBounds = { readonly maxBytes: number; readonly requestMs: number }

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

function createBoundedFetch(fetch: typeof globalThis.fetch, { maxBytes, requestMs }: FetchBounds): Fetch {
  return async (url, init = {}) => {
    const isStream = (init.method ?? 'GET') === 'GET'
    const signals = [init.signal, isStream ? undefined : AbortSignal.timeout(requestMs)].filter((each) => !!each)
    const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) })
    if (response.body === null) return response
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(limitStreamBytes(maxBytes, isStream)), {
      status,
      statusText,
      headers,
    })
  }
}

function limitStreamBytes(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      // A line that ends is read and gone.
      if (isStream && chunk.includes(newline)) size = chunk.length - chunk.lastIndexOf(newline)
      else size += chunk.length
      if (size > maxBytes) controller.error(new Error('the MCP server said more than it may'))
      else controller.enqueue(chunk)
    },
  })
}

const newline = 0x0a

// A server's program gets PATH of our environment, and nothing else but what its configuration names.

/** The SDK adds variables of its own choice; an undefined one is not passed to the program. */
function childEnvironment(
  given: Readonly<Record<string, Secret>>,
  inherited: readonly string[],
): Record<string, string> {
  const none = inherited.map((name) => [name, undefined] as const)
  const own = Object.entries(given).map(([name, value]) => [name, value.reveal()] as const)
  // Node leaves out variables without a value; the SDK's type does not know them.
  return Object.fromEntries([...none, ['PATH', process.env['PATH']], ...own]) as Record<string, string>
}

// Errors of the SDK in our five kinds. Their texts hold addresses and bodies; only the words of a protocol error come along.

type McpErrors = {
  readonly McpError: typeof McpError
  readonly StreamableHTTPError: abstract new (
    code: number,
    message: string,
  ) => Error & { readonly code?: number | undefined }
}

export type SessionState = {
  /** The session had been made; before that nothing can have happened. */
  readonly isOpen: boolean
  readonly isClosed: boolean
}

/** The SDK's own, for an answer that never came. */
const requestTimeout = -32001

function toMcpFailure(error: unknown, errors: McpErrors, { isOpen, isClosed }: SessionState): McpFailure {
  if (error instanceof errors.StreamableHTTPError) return mcpFailureByStatus(error.code, isOpen)
  if (!isOpen) return new McpFailure('unreachable')
  if (error instanceof errors.McpError && error.code !== requestTimeout && !isClosed) {
    const detail = error.message.replace(/^MCP error -?\d+: /, '')
    return new McpFailure('refused', { code: error.code, detail })
  }
  return new McpFailure('lost')
}

function mcpFailureByStatus(status: number | undefined, isOpen: boolean): McpFailure {
  if (status === undefined || status < 400) return new McpFailure(isOpen ? 'lost' : 'unreachable')
  const code = { code: status }
  if (status === 401 || status === 403) return new McpFailure('rejected', code)
  if (!isOpen) return new McpFailure('unreachable', code)
  // The specification's word for a session that is over.
  if (status === 404) return new McpFailure('session_gone', code)
  return new McpFailure(status < 500 ? 'refused' : 'lost', code)
}
