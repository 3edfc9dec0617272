// Routes an inbound event to an agent where several share a connection. The thread's own agent is known to the accept
// statement only: here it is said whether that one may take it.

import type { Agent } from '../agents/define-agent.ts'
import { type InboundMessage, type NormalizedMessage, textOf } from '../contract/index.ts'
import { mentionsIn, type TextMention } from '../identity/mentions.ts'
import { routeAgent } from '../identity/route-agent.ts'
import { controlNames } from '../turns/chat-commands.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { Route } from './accept.ts'
import { parseChatCommand } from './chat-command.ts'

/** What is written to an agent of ours that does not exist: the gateway says so, and no other agent answers for it. */
export const unknownAgent = 'unknown_agent'

/** Only where several agents share the connection: one that answers there alone takes everything. */
export function routeToAgent(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  at: GatewayConnection,
  event: InboundMessage,
): Route {
  const { agent: defaultAgent, domain } = at.connection
  const agents = [...deps.agents.keys()]
  const sticky = { agent: defaultAgent, isSticky: true, isAddressed: false, agents }
  // An amendment belongs to the agent that has what it amends; where several have it, to the one it was sent to.
  if ((event.message.channel?.event ?? 'new') !== 'new')
    return event.isAddressed === true ? { ...sticky, agent: event.agent } : sticky
  // The adapter knows it from the envelope.
  if (event.isAddressed === true || event.agent !== defaultAgent)
    return { ...sticky, agent: event.agent, isSticky: false, isAddressed: true }
  const isControl = parseChatCommand(event.message, controlNames) !== undefined
  const mentions = listLeadingMentions(event.message)
  if (mentions.length === 0) return sticky
  const routed = routeAgent({ mentions, defaultAgent, agents: new Set(agents), domains: new Set([domain]) })
  // A command is about that agent's work; the talk goes on with whom it was.
  if (routed.kind === 'routed' && routed.reason === 'mention')
    return { ...sticky, agent: routed.slug, isSticky: false, isAddressed: !isControl }
  const isUnknown = !isControl && mentions.some((mention) => mention.domain === domain)
  return isUnknown ? { ...sticky, isSticky: false, mustReplyIndividually: unknownAgent } : sticky
}

/** Whether it begins with the name of an agent of ours, where several answer. */
export function beginsWithAgentName(
  deps: { readonly agents: ReadonlyMap<string, Agent> },
  { isShared, connection }: Pick<GatewayConnection, 'isShared' | 'connection'>,
  message: Pick<NormalizedMessage, 'parts' | 'channel'>,
): boolean {
  if (!isShared) return false
  const { agent: defaultAgent, domain } = connection
  const agents = new Set(deps.agents.keys())
  const routed = routeAgent({
    mentions: listLeadingMentions(message),
    defaultAgent,
    agents,
    domains: new Set([domain]),
  })
  return routed.kind === 'routed' && routed.reason === 'mention'
}

/** The mentions a message begins with, without those that the platform itself resolves: its own account, a person. */
function listLeadingMentions(message: Pick<NormalizedMessage, 'parts' | 'channel'>): readonly TextMention[] {
  const command = message.channel?.command ?? parseChatCommand(message, controlNames)
  const text = command?.args ?? textOf(message.parts)
  if (!/^[\s,]*@/.test(text)) return []
  const known = new Set(
    (message.channel?.mentions ?? []).filter(({ subject }) => subject !== undefined).map((mention) => mention.text),
  )
  return mentionsIn(text).filter((mention) => mention.isLeading && !known.has(mention.text))
}
