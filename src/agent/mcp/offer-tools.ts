// The tools of an agent's MCP servers for one turn. What the servers offered is a step: a turn that goes on after a crash
// has the tools it had, also when a server has changed its mind or is gone.
import { GatewayError } from '../../contract/index.ts'
import type { SignalContext } from '../context.ts'
import type { Tool } from '../tools/define-tool.ts'
import type { RejectedDeclaration } from '../tools/tool.ts'
import type { ServerTool, ServerTools } from './declare-tools.ts'
import type { McpServer } from './mcp-server.ts'
import type { ToolServers } from './tool-servers.ts'

export type OfferedTools = { readonly tools: readonly Tool[]; readonly rejected: readonly RejectedDeclaration[] }

export async function offerTools(
  servers: readonly McpServer[],
  context: Pick<SignalContext, 'step' | 'toolServers'>,
): Promise<OfferedTools> {
  if (servers.length === 0) return { tools: [], rejected: [] }
  const { toolServers } = context
  if (toolServers === undefined)
    throw new GatewayError('config_invalid', '[agent] MCP servers need Node; run the gateway there, or remove them')
  const offered = await context.step(
    'mcp tools',
    async ({ signal }) => JSON.parse(JSON.stringify(await toolServers.offered(servers, signal))),
    { effect: false },
  )
  // The journal holds what this very step returned.
  const { tools, rejected } = offered as ServerTools
  const byName = new Map(servers.map((server) => [server.name, server]))
  return { tools: tools.flatMap((each) => serverTool(each, byName.get(each.server), toolServers)), rejected }
}

/** None for a server that was taken out of the configuration since. */
function serverTool({ tool, declaration }: ServerTool, server: McpServer | undefined, servers: ToolServers): Tool[] {
  if (server === undefined) return []
  const execute: Tool['execute'] = ({ parameters }, _declaration, context) =>
    servers.call({ server, tool, parameters, declaration }, context)
  return [{ declaration, execute }]
}
