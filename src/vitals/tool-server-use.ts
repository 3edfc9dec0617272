// Which MCP servers are there, as a metric: a server that is missing takes its tools from every turn.
import type { MetricFamily } from './exposition.ts'

type ServerState = { readonly server: string; readonly agent: string; readonly isThere: boolean }

export function toolServerMetrics(states: readonly ServerState[]): readonly MetricFamily[] {
  const samples = states.map(({ server, agent, isThere }) => ({ labels: { agent, server }, value: isThere ? 1 : 0 }))
  const help = 'Whether the MCP server of an agent is connected and has listed its tools.'
  return samples.length === 0 ? [] : [{ name: 'parley_mcp_server_up', help, type: 'gauge', samples }]
}
