// One MCP server as the turns of this process see it: its tools, asked for once per connection, its calls, and whether it is
// there. A server that is missing is tried again in the background, so that its tools are there for the next turn; that it is
// missing, and that it is back, is logged once.
import { runWithDeadline } from '../tools/deadline.ts'
import { declareTools, type ServerTools } from './declare-tools.ts'
import { listTools } from './list-tools.ts'
import type { McpServer } from './mcp-server.ts'
import { isMcpFailure, McpFailure } from './mcp-session.ts'
import { createSharedSession, type SharedSession, type SharedSessionDeps } from './shared-session.ts'

export type LinkDeps = Omit<SharedSessionDeps, 'onToolsChanged' | 'onDown'>

export type ServerLink = SharedSession & {
  /** Asked for again after the server said that they changed, and on every new connection. */
  readonly tools: () => Promise<ServerTools>
  /** The same, or undefined where they are not there in time: `maxMs` from when the server was started, not for each turn anew. */
  readonly toolsInTime: (maxMs: number, signal: AbortSignal) => Promise<ServerTools | undefined>
  readonly isThere: () => boolean
}

const againMs = 1_000
/** A turn's patience with a server that could not be reached a moment ago. */
const shortPatienceMs = 2_000

export function createServerLink(server: McpServer, deps: LinkDeps): ServerLink {
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

  const tellMissing = (reason: string, code?: string): void => {
    if (isOver || told === reason) return
    told = reason
    const ms = Math.round(monotonicMs() - missingSince)
    log.warn('mcp_server_unavailable', { ...at, reason, ...(code === undefined ? {} : { code }), ms })
  }
  const tellThere = (count: number): void => {
    isListed = true
    isFailing = false
    if (told !== undefined)
      log.info('mcp_server_available', { ...at, count, ms: Math.round(monotonicMs() - missingSince) })
    told = undefined
  }
  const scheduleRetry = (ms: number): void => {
    clearTimeout(retry)
    if (isOver) return
    const mine = setTimeout(() => {
      tools().catch(() => {
        // Too early by a moment, or no connection was tried at all: nothing else would try again.
        if (retry === mine) scheduleRetry(againMs)
      })
    }, ms)
    retry = mine
  }
  const onToolsChanged = (): void => {
    listing = undefined
  }
  const shared = createSharedSession(server, {
    ...deps,
    onToolsChanged,
    onDown({ error, coolMs }) {
      if (isListed) missingSince = monotonicMs()
      isListed = false
      isFailing = error !== undefined
      if (error !== undefined) tellMissing(...unavailableReason(error))
      else if (told === undefined) {
        told = 'lost'
        log.warn('mcp_server_lost', at)
      }
      scheduleRetry(coolMs)
    },
  })
  const tools = (): Promise<ServerTools> => {
    if (listing !== undefined) return listing
    const mine = fetchServerTools(server, shared, deps)
    listing = mine
    listedAt = monotonicMs()
    mine.then(
      (found) => {
        if (listing === mine) tellThere(found.tools.length)
      },
      () => {
        if (listing === mine) listing = undefined
      },
    )
    return mine
  }
  return {
    use: shared.use,
    tools,
    async toolsInTime(maxMs, signal) {
      const asked = tools()
      const patienceMs = isFailing ? Math.min(shortPatienceMs, maxMs) : maxMs
      const timeoutMs = Math.max(0, patienceMs - (monotonicMs() - listedAt))
      try {
        const end = await runWithDeadline(() => asked, { signal, timeoutMs })
        if (end.kind === 'done') return end.value
        if (told === undefined) tellMissing('starting')
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

function unavailableReason(error: unknown): [reason: string, code?: string] {
  if (!isMcpFailure(error)) return ['no_answer']
  return error.code === undefined ? [error.kind] : [error.kind, String(error.code)]
}

const never = new AbortController().signal

async function fetchServerTools(server: McpServer, { use }: SharedSession, { log }: LinkDeps): Promise<ServerTools> {
  const at = server.name
  const listed = await use(async (session) => {
    const timeoutMs = server.startTimeoutMs
    const end = await runWithDeadline((signal) => listTools(session, signal), { signal: never, timeoutMs })
    // A server that does not even say what it can do is worth no connection.
    if (end.kind === 'timed_out') throw new McpFailure('lost')
    return end.value
  })
  if ('fault' in listed) {
    log.warn('mcp_tools_rejected', { at, reason: listed.fault })
    return { tools: [], rejected: [{ name: at, reason: `mcp_${listed.fault}: all its tools are left out` }] }
  }
  const declared = declareTools(server, listed.tools)
  const count = declared.rejected.length
  if (count > 0) log.warn('mcp_tools_rejected', { at, reason: 'invalid_declaration', count })
  return declared
}
