// One MCP server as the turns of this process see it: its tools, asked for once per connection, and its calls.
import { withDeadline } from '../tools/deadline.ts'
import { declareTools, type ServerTools } from './declare-tools.ts'
import { listTools } from './list-tools.ts'
import type { McpServer } from './mcp-server.ts'
import { McpFailure } from './mcp-session.ts'
import { createSharedSession, type SharedSession, type SharedSessionDeps } from './shared-session.ts'

export type LinkDeps = Omit<SharedSessionDeps, 'onToolsChanged'>

export type ServerLink = SharedSession & {
  /** Asked for again after the server said that they changed, and on every new connection. */
  readonly tools: () => Promise<ServerTools>
}

const listMs = 15_000

export function createServerLink(server: McpServer, deps: LinkDeps): ServerLink {
  let listing: Promise<ServerTools> | undefined
  const onToolsChanged = (): void => {
    listing = undefined
  }
  const shared = createSharedSession(server, { ...deps, onToolsChanged })
  return {
    ...shared,
    tools() {
      if (listing !== undefined) return listing
      const mine = list(server, shared, deps)
      listing = mine
      mine.catch(() => {
        if (listing === mine) listing = undefined
      })
      return mine
    },
  }
}

const never = new AbortController().signal

async function list(server: McpServer, { use }: SharedSession, { log }: LinkDeps): Promise<ServerTools> {
  const at = server.name
  const listed = await use(async (session) => {
    const end = await withDeadline((signal) => listTools(session, signal), { signal: never, timeoutMs: listMs })
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
