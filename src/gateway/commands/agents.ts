// /agents: who answers on this connection and how to write to them; and the reply to a message for an unknown agent.
import type { Agent, AgentReply } from '../../agent/agent.ts'
import { textPart } from '../../contract/index.ts'
import type { GatewayConnection, GatewayDeps } from '../deps.ts'
import type { ChatCommandContext } from './command.ts'

export function answerAgents({ deps, at, agent }: ChatCommandContext): string {
  const current = deps.agents.get(agent)
  if (!at.isShared)
    return current === undefined ? 'No agent answers here.' : `Only ${describeAgent(current)} answers here.`
  const { agent: defaultAgent } = at.connection
  return [
    'Begin a message with a name to write to that agent; it then answers whatever follows.',
    ...listAgentAddresses(deps),
    `Until you name an agent, @${defaultAgent} answers. You are talking with @${agent}.`,
  ].join('\n')
}

/** No other agent answers in its place: none of them was meant. */
export function unknownAgentReply(deps: Pick<GatewayDeps, 'agents'>, at: GatewayConnection): AgentReply {
  const { domain } = at.connection
  const text = [`There is no agent with that name at ${domain}. You can write to:`, ...listAgentAddresses(deps)].join(
    '\n',
  )
  const error = { code: 'agent_unknown', message: 'there is no agent of that name', retryable: false }
  return { parts: [textPart(text)], status: 'refused', error }
}

function listAgentAddresses({ agents }: Pick<GatewayDeps, 'agents'>): readonly string[] {
  return [...agents.values()].map((agent) => `@${agent.slug} - ${agent.description ?? agent.label ?? agent.slug}`)
}

function describeAgent({ slug, label, description }: Agent): string {
  return description === undefined ? (label ?? slug) : `${label ?? slug} (${description})`
}
