// The MCP servers of a process, as a turn sees them: what they offer, and one call. A server that is down or misbehaves offers
// nothing, is reported, and takes no other server down with it.

import { GatewayError } from '../../lib/errors.ts'
import { asFields, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { runWithDeadline } from '../tools/execute-call.ts'
import { type RejectedDeclaration, type ToolContext, type ToolDeclaration, ToolError } from '../tools/tool.ts'
import type { McpServer } from './mcp-server.ts'
import {
  createSharedSession,
  isMcpFailure,
  McpFailure,
  type McpSession,
  type SharedSession,
  type SharedSessionDeps,
} from './mcp-session.ts'
import { readCallResult, type ServerTool, type ServerTools, toToolDeclarations } from './server-tools.ts'

export type ServerCall = {
  readonly server: McpServer
  readonly tool: string
  readonly parameters: Fields
  readonly declaration: ToolDeclaration
}

/** Whether a server is there now, as this process sees it. */
export type ServerState = { readonly server: string; readonly agent: string; readonly isThere: boolean }

export interface ToolServers {
  /** Starts them in the background, so that the first turn finds their tools. */
  prepare(servers: readonly McpServer[]): void
  states(): readonly ServerState[]
  offered(servers: readonly McpServer[], signal: AbortSignal): Promise<ServerTools>
  call(call: ServerCall, context: Pick<ToolContext, 'key' | 'signal' | 'assertHeld'>): Promise<Fields>
  /** Ends every connection and every program. */
  close(): Promise<void>
}

export type ToolServersDeps = LinkDeps & {
  /** How long turns wait for a server from its start on; the start itself takes longer where it has to, for a later turn. */
  readonly patienceMs?: number
}

const defaultPatienceMs = 10_000

/** One connection per agent and server: sessions hold state that agents must not share. */
export function createToolServers({ patienceMs = defaultPatienceMs, ...deps }: ToolServersDeps): ToolServers {
  const links = new Map<McpServer, ServerLink>()
  const getServerLink = (server: McpServer): ServerLink => {
    const link = links.get(server) ?? createServerLink(server, deps)
    links.set(server, link)
    return link
  }
  return {
    prepare(servers) {
      for (const server of servers)
        void getServerLink(server)
          .tools()
          .catch(() => {})
    },
    states: () => [...links].map(([{ name, agent }, link]) => ({ server: name, agent, isThere: link.isThere() })),
    async offered(servers, signal) {
      const all = await Promise.all(
        servers.map(
          async (server) =>
            (await getServerLink(server).toolsInTime(patienceMs, signal)) ?? unavailableServerTools(server),
        ),
      )
      return { tools: all.flatMap((each) => each.tools), rejected: all.flatMap((each) => each.rejected) }
    },
    async call({ server, tool, parameters, declaration }, { key, signal, assertHeld }) {
      const link = getServerLink(server)
      try {
        await assertToolOffered(link, tool, declaration)
        const answer = await link.use((session) => {
          // Connecting may have taken long. Asked right before the call is written.
          assertHeld()
          return session.callTool({ name: tool, parameters, key }, signal)
        })
        return readCallResult(declaration.name, answer)
      } catch (error) {
        throw isMcpFailure(error) ? mcpCallError(error, declaration) : error
      }
    },
    async close() {
      await Promise.all([...links.values()].map((link) => link.close()))
    },
  }
}

/** A turn keeps the tools it began with; one that its server has taken back meanwhile is not asked for. */
async function assertToolOffered(link: ServerLink, tool: string, { name }: ToolDeclaration): Promise<void> {
  const known = await link.tools().catch((error: unknown) => {
    // A line that breaks while the list is read has carried no call.
    throw isMcpFailure(error) && error.kind === 'lost' ? new McpFailure('unreachable') : error
  })
  if (!known.tools.some((each) => each.tool === tool))
    throw new ToolError(
      `${name} is unavailable: its server does not offer it any more. Nothing was done.`,
      'mcp_tool_unavailable',
    )
}

function unavailableServerTools({ name }: McpServer): {
  tools: readonly ServerTool[]
  rejected: readonly RejectedDeclaration[]
} {
  const reason = 'mcp_server_unavailable: it could not be asked for its tools; they are left out'
  return { tools: [], rejected: [{ name, reason }] }
}

/** JSON-RPC: the parameters do not fit. What the server says about that helps the model as a result would. */
const invalidParameters = -32602
const maxDetail = 500

/** What the model is told. Only a broken line leaves open whether the call took effect. */
function mcpCallError({ kind, code, detail }: McpFailure, { name, idempotent }: ToolDeclaration): Error {
  switch (kind) {
    case 'refused': {
      const why =
        code === invalidParameters && detail !== '' ? detail.slice(0, maxDetail) : `error ${code ?? 'unknown'}`
      return new ToolError(`The server of ${name} refused the call: ${why}`, 'mcp_call_refused')
    }
    case 'rejected':
      return new ToolError(`The server of ${name} did not let us in. Do not call it again.`, 'mcp_server_rejected')
    case 'session_gone':
    case 'unreachable':
      return new ToolError(
        `${name} is unavailable: its server cannot be reached. Nothing was done.`,
        'mcp_server_unavailable',
      )
    case 'lost':
      return idempotent === true
        ? new ToolError(`The connection to ${name} broke. It may be called again.`, 'mcp_connection_lost')
        : new GatewayError('tool_outcome_unknown', `[agent] the connection to ${name} broke during a call`)
  }
}

// The tools of a server are asked for once per connection. A server that is missing is tried again in the background, so that its
// tools are there for the next turn; that it is missing, and that it is back, is logged once.

type LinkDeps = Omit<SharedSessionDeps, 'onToolsChanged' | 'onDown'>

type ServerLink = SharedSession & {
  /** Asked for again after the server said that they changed, and on every new connection. */
  readonly tools: () => Promise<ServerTools>
  /** The same, or undefined where they are not there in time: `maxMs` from when the server was started, not for each turn anew. */
  readonly toolsInTime: (maxMs: number, signal: AbortSignal) => Promise<ServerTools | undefined>
  readonly isThere: () => boolean
}

const againMs = 1_000
/** A turn's patience with a server that could not be reached a moment ago. */
const shortPatienceMs = 2_000

function createServerLink(server: McpServer, deps: LinkDeps): ServerLink {
  const { log, monotonicMs } = deps
  const at = { at: server.name, agent: server.agent }
  let listing: Promise<ServerTools> | undefined
  let listedAt = 0
  let isListed = false
  let isFailing = false
  let missingSince = monotonicMs()
  /** Why it is missing, as the log has it; undefined: it is there, or is being started. */
  let told: string | undefined
  let retry: ReturnType<typeof setTimeout> | undefined
  let isOver = false

  const logServerMissing = (reason: string, code?: string): void => {
    if (isOver || told === reason) return
    told = reason
    const ms = Math.round(monotonicMs() - missingSince)
    log.warn('mcp_server_unavailable', { ...at, reason, ...(code === undefined ? {} : { code }), ms })
  }
  const logServerAvailable = (count: number): void => {
    isListed = true
    isFailing = false
    if (told !== undefined)
      log.info('mcp_server_available', { ...at, count, ms: Math.round(monotonicMs() - missingSince) })
    told = undefined
  }
  const scheduleListingRetry = (ms: number): void => {
    clearTimeout(retry)
    if (isOver) return
    const mine = setTimeout(() => {
      getCachedServerTools().catch(() => {
        // Too early by a moment, or no connection was tried at all: nothing else would try again.
        if (retry === mine) scheduleListingRetry(againMs)
      })
    }, ms)
    retry = mine
  }
  const clearToolListing = (): void => {
    listing = undefined
  }
  const shared = createSharedSession(server, {
    ...deps,
    onToolsChanged: clearToolListing,
    onDown({ error, coolMs }) {
      if (isListed) missingSince = monotonicMs()
      isListed = false
      isFailing = error !== undefined
      if (error !== undefined) logServerMissing(...toUnavailableReason(error))
      else if (told === undefined) {
        told = 'lost'
        log.warn('mcp_server_lost', at)
      }
      scheduleListingRetry(coolMs)
    },
  })
  const getCachedServerTools = (): Promise<ServerTools> => {
    if (listing !== undefined) return listing
    const mine = fetchServerTools(server, shared, deps)
    listing = mine
    listedAt = monotonicMs()
    mine.then(
      (found) => {
        if (listing === mine) logServerAvailable(found.tools.length)
      },
      () => {
        if (listing === mine) listing = undefined
      },
    )
    return mine
  }
  return {
    use: shared.use,
    tools: getCachedServerTools,
    async toolsInTime(maxMs, signal) {
      const asked = getCachedServerTools()
      const patienceMs = isFailing ? Math.min(shortPatienceMs, maxMs) : maxMs
      const timeoutMs = Math.max(0, patienceMs - (monotonicMs() - listedAt))
      try {
        const end = await runWithDeadline(() => asked, { signal, timeoutMs })
        if (end.kind === 'done') return end.value
        if (told === undefined) logServerMissing('starting')
      } catch (error) {
        if (signal.aborted) throw error
      }
      return undefined
    },
    isThere: () => isListed,
    async close() {
      isOver = true
      clearTimeout(retry)
      await shared.close()
    },
  }
}

function toUnavailableReason(error: unknown): [reason: string, code?: string] {
  if (!isMcpFailure(error)) return ['no_answer']
  return error.code === undefined ? [error.kind] : [error.kind, String(error.code)]
}

const never = new AbortController().signal

async function fetchServerTools(server: McpServer, { use }: SharedSession, { log }: LinkDeps): Promise<ServerTools> {
  const at = server.name
  const listed = await use(async (session) => {
    const timeoutMs = server.startTimeoutMs
    const end = await runWithDeadline((signal) => fetchAllToolPages(session, signal), { signal: never, timeoutMs })
    // A server that does not even say what it can do is worth no connection.
    if (end.kind === 'timed_out') throw new McpFailure('lost')
    return end.value
  })
  if ('fault' in listed) {
    log.warn('mcp_tools_rejected', { at, reason: listed.fault })
    return { tools: [], rejected: [{ name: at, reason: `mcp_${listed.fault}: all its tools are left out` }] }
  }
  const declared = toToolDeclarations(server, listed.tools)
  const count = declared.rejected.length
  if (count > 0) log.warn('mcp_tools_rejected', { at, reason: 'invalid_declaration', count })
  return declared
}

// Listing is bounded: a server that never stops listing has no tools.

const maxPages = 32
const maxTools = 256
const maxBytes = 512 * 1024

/** `fault` is a code: the whole list is worth nothing then. */
export type ToolListing = { readonly tools: readonly unknown[] } | { readonly fault: ListFault }
export type ListFault = 'no_tool_list' | 'too_many_tools' | 'tool_list_too_large' | 'endless_tool_list'

async function fetchAllToolPages(session: McpSession, signal: AbortSignal): Promise<ToolListing> {
  const tools: unknown[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  let bytes = 0
  do {
    const page = asFields(await session.listTools(cursor, signal))
    const listed = page['tools']
    if (!Array.isArray(listed)) return { fault: 'no_tool_list' }
    tools.push(...listed)
    if (tools.length > maxTools) return { fault: 'too_many_tools' }
    bytes += JSON.stringify(listed).length
    if (bytes > maxBytes) return { fault: 'tool_list_too_large' }
    cursor = trimmedText(page['nextCursor'])
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size >= maxPages)) return { fault: 'endless_tool_list' }
    if (cursor !== undefined) cursors.add(cursor)
  } while (cursor !== undefined)
  return { tools }
}
