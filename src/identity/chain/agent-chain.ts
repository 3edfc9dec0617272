// Chains of agents inside a conversation: how many hops are left, and whether a message goes in circles.
import type { RecipientCapabilities } from '../../contract/index.ts'

export type AgentChain = NonNullable<RecipientCapabilities['agent_chain']>
export type ChainCode = 'NM_CHAIN_INVALID' | 'gw:hop_limit' | 'gw:agent_loop'
export type NextChain =
  | { readonly ok: true; readonly chain: AgentChain }
  | { readonly ok: false; readonly code: ChainCode }

const defaultMaxHops = 4

/** The chain a dispatch to another agent carries, or why there is none. `inbound` is what came with our own message. */
export function nextAgentChain(
  inbound: AgentChain | undefined,
  { ceiling = defaultMaxHops, isFromAgent = inbound !== undefined }: { ceiling?: number; isFromAgent?: boolean } = {},
): NextChain {
  if (inbound !== undefined && !isConsistentChain(inbound)) return { ok: false, code: 'NM_CHAIN_INVALID' }
  // An agent that sends no chain is taken to be the first of one.
  const hop = (inbound?.hop ?? (isFromAgent ? 1 : 0)) + 1
  const max_hops = Math.min(inbound?.max_hops ?? ceiling, ceiling)
  if (hop > max_hops) return { ok: false, code: 'gw:hop_limit' }
  return { ok: true, chain: { hop, max_hops, is_final: hop === max_hops } }
}

/** A position in a chain that another gateway counted. Undefined at its top, and below the last allowed position. */
export function agentChainAt(depth: number, ceiling = defaultMaxHops): AgentChain | undefined {
  if (depth < 1 || depth > ceiling) return undefined
  return { hop: depth, max_hops: ceiling, is_final: depth === ceiling }
}

/** True where a chain has more hops behind it than we allow. */
export function exceedsHopLimit(depth: number, ceiling = defaultMaxHops): boolean {
  return depth > ceiling
}

/** What the agent is told about its position; nothing outside a chain. */
export function chainCue(chain: AgentChain | undefined): string | undefined {
  if (chain === undefined) return undefined
  const { hop, max_hops, is_final } = chain
  if (is_final) return `This is the final hop (${hop} of ${max_hops}): conclude, and do not call another agent.`
  return `This is hop ${hop} of ${max_hops} in a chain of agents; ${max_hops - hop} remaining.`
}

/** One turn of a thread: an agent's, or a person's, with whom every chain begins anew. */
export type Visit =
  | { readonly thread: string; readonly by: 'person' }
  | { readonly thread: string; readonly by: 'agent'; readonly agent: string }

/** `gw:agent_loop` when the agent has had its turn in this thread since a person last spoke. Oldest visit first. */
export function loopFault(visits: readonly Visit[], thread: string, agent: string): 'gw:agent_loop' | undefined {
  const here = visits.filter((visit) => visit.thread === thread)
  const sincePerson = here.slice(here.findLastIndex((visit) => visit.by === 'person') + 1)
  return sincePerson.some((visit) => visit.by === 'agent' && visit.agent === agent) ? 'gw:agent_loop' : undefined
}

function isConsistentChain({ hop, max_hops, is_final }: AgentChain): boolean {
  const areWhole = Number.isSafeInteger(hop) && Number.isSafeInteger(max_hops)
  return areWhole && hop >= 1 && hop <= max_hops && is_final === (hop === max_hops)
}
