// The MCP servers of a process, as a turn sees them: what they offer, and one call. A server that is down or lies offers
// nothing, is reported, and takes no other server down with it.
import { type Fields, GatewayError } from '../../contract/index.ts'
import type { RejectedDeclaration, ToolContext, ToolDeclaration } from '../tools/tool.ts'
import { ToolError } from '../tools/tool-error.ts'
import { callResult } from './call-result.ts'
import type { ServerTool, ServerTools } from './declare-tools.ts'
import type { McpServer } from './mcp-server.ts'
import { isMcpFailure, McpFailure } from './mcp-session.ts'
import { createServerLink, type LinkDeps, type ServerLink } from './server-link.ts'

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
  const linkToServer = (server: McpServer): ServerLink => {
    const link = links.get(server) ?? createServerLink(server, deps)
    links.set(server, link)
    return link
  }
  return {
    prepare(servers) {
      for (const server of servers)
        void linkToServer(server)
          .tools()
          .catch(() => {})
    },
    states: () => [...links].map(([{ name, agent }, link]) => ({ server: name, agent, isThere: link.isThere() })),
    async offered(servers, signal) {
      const all = await Promise.all(
        servers.map(
          async (server) =>
            (await linkToServer(server).toolsInTime(patienceMs, signal)) ?? unavailableServerTools(server),
        ),
      )
      return { tools: all.flatMap((each) => each.tools), rejected: all.flatMap((each) => each.rejected) }
    },
    async call({ server, tool, parameters, declaration }, { key, signal, assertHeld }) {
      const link = linkToServer(server)
      try {
        await assertOffered(link, tool, declaration)
        const answer = await link.use((session) => {
          // Connecting may have taken long. Asked right before the call is written.
          assertHeld()
          return session.callTool({ name: tool, parameters, key }, signal)
        })
        return callResult(declaration.name, answer)
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
async function assertOffered(link: ServerLink, tool: string, { name }: ToolDeclaration): Promise<void> {
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
