// The MCP servers of a process, as a turn sees them: what they offer, and one call. A server that is down or lies offers
// nothing, is reported, and takes nobody down with it.
import { type Fields, GatewayError } from '../../contract/index.ts'
import { type Bounds, withDeadline } from '../tools/deadline.ts'
import type { RejectedDeclaration, ToolContext, ToolDeclaration } from '../tools/tool.ts'
import { ToolError } from '../tools/tool-error.ts'
import { callResult } from './call-result.ts'
import type { ServerTool, ServerTools } from './declare-tools.ts'
import type { McpServer } from './mcp-server.ts'
import { isMcpFailure, type McpFailure } from './mcp-session.ts'
import { createServerLink, type LinkDeps, type ServerLink } from './server-link.ts'

export type ServerCall = {
  readonly server: McpServer
  readonly tool: string
  readonly parameters: Fields
  readonly declaration: ToolDeclaration
}

export interface ToolServers {
  offered(servers: readonly McpServer[], signal: AbortSignal): Promise<ServerTools>
  call(call: ServerCall, context: Pick<ToolContext, 'key' | 'signal' | 'assertHeld'>): Promise<Fields>
  /** Ends every connection and every program. */
  close(): Promise<void>
}

export type ToolServersDeps = LinkDeps & {
  /** How long a turn waits for a server that is being started; the start itself goes on, for the next turn. */
  readonly patienceMs?: number
}

const defaultPatienceMs = 10_000

/** One connection per agent and server: sessions hold state that agents must not share. */
export function createToolServers({ patienceMs = defaultPatienceMs, ...deps }: ToolServersDeps): ToolServers {
  const links = new Map<McpServer, ServerLink>()
  const linkOf = (server: McpServer): ServerLink => {
    const link = links.get(server) ?? createServerLink(server, deps)
    links.set(server, link)
    return link
  }
  return {
    async offered(servers, signal) {
      const all = await Promise.all(
        servers.map((server) => offeredBy(linkOf(server), server, { signal, timeoutMs: patienceMs })),
      )
      return { tools: all.flatMap((each) => each.tools), rejected: all.flatMap((each) => each.rejected) }
    },
    async call({ server, tool, parameters, declaration }, { key, signal, assertHeld }) {
      try {
        const answer = await linkOf(server).use((session) => {
          // Connecting may have taken long. Asked right before the call is written (ruling 17).
          assertHeld()
          return session.callTool({ name: tool, parameters, key }, signal)
        })
        return callResult(declaration.name, answer)
      } catch (error) {
        throw isMcpFailure(error) ? told(error, declaration) : error
      }
    },
    async close() {
      await Promise.all([...links.values()].map((link) => link.close()))
    },
  }
}

async function offeredBy(link: ServerLink, server: McpServer, bounds: Bounds): Promise<ServerTools> {
  try {
    const end = await withDeadline(() => link.tools(), bounds)
    return end.kind === 'done' ? end.value : absent(server)
  } catch (error) {
    if (bounds.signal.aborted) throw error
    return absent(server)
  }
}

function absent({ name }: McpServer): { tools: readonly ServerTool[]; rejected: readonly RejectedDeclaration[] } {
  const reason = 'mcp_server_unavailable: it could not be asked for its tools; they are left out'
  return { tools: [], rejected: [{ name, reason }] }
}

/** JSON-RPC: the parameters do not fit. What the server says about that helps the model as a result would. */
const invalidParameters = -32602
const maxDetail = 500

/** What the model is told. Only a broken line leaves open whether the call took effect. */
function told({ kind, code, detail }: McpFailure, { name, idempotent }: ToolDeclaration): Error {
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
      return new ToolError(`The server of ${name} cannot be reached; nothing was done.`, 'mcp_server_unavailable')
    case 'lost':
      return idempotent === true
        ? new ToolError(`The connection to ${name} broke. It may be called again.`, 'mcp_connection_lost')
        : new GatewayError('tool_outcome_unknown', `[agent] the connection to ${name} broke during a call`)
  }
}
