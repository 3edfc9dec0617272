// Agents as the operator sees them: their address, and where and how they can be written to.
import { type AgentFacts, agentLine } from '../agents/agent-settings.ts'
import { formatAddress } from '../contract/index.ts'
import type { GatewayConnection } from '../turns/deps.ts'

/** `own`: the account is this agent's. `default`: it answers where no agent is named. `mention`: a message begins with its name. */
export type AgentReach = { readonly connection: string; readonly by: 'own' | 'default' | 'mention' }

export type AgentView = ReturnType<typeof agentLine> & {
  readonly address: string
  readonly connections: readonly AgentReach[]
}

export function agentView(agent: AgentFacts, connections: readonly GatewayConnection[]): AgentView {
  const domain = connections[0]?.connection.domain ?? 'parley.localhost'
  return {
    ...agentLine(agent),
    address: formatAddress({ local: agent.slug, domain }),
    connections: connections.flatMap((at) => agentReach(agent.slug, at)),
  }
}

function agentReach(slug: string, { key, isShared, connection }: GatewayConnection): readonly AgentReach[] {
  if (connection.agent === slug) return [{ connection: key, by: isShared ? 'default' : 'own' }]
  return isShared ? [{ connection: key, by: 'mention' }] : []
}
