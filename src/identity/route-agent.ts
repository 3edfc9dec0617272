// Routes a message to an agent: the connection's own, the one addressed, the one of this thread, the default.
import type { TextMention } from './mentions.ts'

export type AgentRoute =
  | {
      readonly kind: 'routed'
      readonly slug: string
      readonly reason: 'connection' | 'mention' | 'sticky' | 'default'
    }
  | { readonly kind: 'unroutable'; readonly code: 'agent_unknown' }

export type RouteRequest = {
  /** Set where the account on the platform is one agent's own; then no other agent answers there. */
  readonly connectionAgent?: string
  readonly mentions: readonly TextMention[]
  readonly defaultAgent?: string
  /** Whom the thread talks with: the agent that was addressed last in it. */
  readonly sticky?: string
  readonly agents: ReadonlySet<string>
  /** Our own domains: `@agent@elsewhere` belongs to another server. */
  readonly domains: ReadonlySet<string>
}

export function routeAgent(request: RouteRequest): AgentRoute {
  const { connectionAgent, sticky, defaultAgent, agents } = request
  // A connection that names an agent that does not exist is a fault to be seen, not a reason to answer as another.
  if (connectionAgent !== undefined) return routeToKnownAgent(connectionAgent, 'connection', agents)
  const addressed = findAddressedAgent(request)
  if (addressed !== undefined) return { kind: 'routed', slug: addressed, reason: 'mention' }
  if (sticky !== undefined && agents.has(sticky)) return { kind: 'routed', slug: sticky, reason: 'sticky' }
  return routeToKnownAgent(defaultAgent, 'default', agents)
}

/** The first leading mention that is one of ours. Agents' names have no capitals, so a capital in a mention is a person's habit. */
function findAddressedAgent({ mentions, agents, domains }: RouteRequest): string | undefined {
  return mentions
    .filter(({ isLeading, domain }) => isLeading && (domain === undefined || domains.has(domain)))
    .map(({ local }) => local.toLowerCase())
    .find((slug) => agents.has(slug))
}

function routeToKnownAgent(
  slug: string | undefined,
  reason: 'connection' | 'default',
  agents: ReadonlySet<string>,
): AgentRoute {
  if (slug === undefined || !agents.has(slug)) return { kind: 'unroutable', code: 'agent_unknown' }
  return { kind: 'routed', slug, reason }
}
