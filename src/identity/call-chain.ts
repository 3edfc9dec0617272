// Call chains: which agent called us, how far from the beginning, and whether a message goes in circles. Claims for loop
// protection and audit that travel beside an authenticated token; never authority. Whatever cannot be read refuses the request.

import { type CallerContext, maxChainDepth } from '../contract/caller.ts'
import type { RecipientCapabilities } from '../contract/capabilities.ts'

export type CallerField = 'agent' | 'user' | 'host' | 'depth' | 'root'
export type CallerReading =
  | { readonly ok: true; readonly context: CallerContext }
  | {
      readonly ok: false
      readonly code: 'invalid_agent_caller_context'
      readonly field: CallerField
      readonly message: string
      /** The header and what it must be; nothing of what it was. */
      readonly remedy: string
    }

const headerNames = {
  agent: 'x-agents-api-caller-agent',
  user: 'x-agents-api-caller-user',
  host: 'x-agents-api-caller-host',
  depth: 'x-agents-api-chain-depth',
  root: 'x-agents-api-chain-root',
} as const

const plainId = /^[\w.@:-]{1,128}$/
const wholeNumber = /^(?:0|[1-9]\d{0,14})$/

type CallerHeaderValues = Readonly<Record<CallerField, string | undefined>>

/** Headers with any spelling of their names; a value sent twice is no value and is refused. */
export function readCallerContext(
  headers: Readonly<Record<string, string | undefined>>,
  { newRoot, maxDepth = maxChainDepth }: { readonly newRoot: () => string; readonly maxDepth?: number },
): CallerReading {
  const given = readCallerHeaders(headers)
  if (Object.values(given).every((value) => value === undefined))
    return { ok: true, context: startCallerContext(newRoot()) }
  const { depth = '', user = '0', root } = given
  if (!wholeNumber.test(depth)) return rejectCallerHeader('depth', 'must be a whole number from 0')
  if (Number(depth) > maxDepth) return rejectCallerHeader('depth', `must be at most ${maxDepth}: the chain is too long`)
  if (!wholeNumber.test(user)) return rejectCallerHeader('user', 'must be a whole number from 0')
  if (root !== undefined && !plainId.test(root)) return rejectCallerHeader('root', 'must be a plain id')
  if (Number(depth) === 0) return readChainStart(given, root ?? newRoot())
  return readChainHop(given, Number(depth), Number(user))
}

function readChainStart({ agent, user = '0', host = 'self' }: CallerHeaderValues, root: string): CallerReading {
  if (agent !== undefined) return rejectCallerHeader('agent', 'cannot be given at depth 0')
  if (host !== 'self') return rejectCallerHeader('host', 'must be self at depth 0')
  return user === '0'
    ? { ok: true, context: startCallerContext(root) }
    : rejectCallerHeader('user', 'must be 0 at depth 0')
}

function readChainHop({ agent, host, root }: CallerHeaderValues, depth: number, user: number): CallerReading {
  if (agent === undefined || !plainId.test(agent))
    return rejectCallerHeader('agent', 'must be given below the top, as a plain id')
  if (root === undefined) return rejectCallerHeader('root', 'must be given below the top')
  const origin = parseHostOrigin(host)
  if (origin === undefined) return rejectCallerHeader('host', 'must be an absolute http or https address below the top')
  return {
    ok: true,
    context: { caller_agent: agent, caller_user: user, caller_host: origin, chain_depth: depth, chain_root: root },
  }
}

export function startCallerContext(root: string): CallerContext {
  return { caller_agent: null, caller_user: 0, caller_host: 'self', chain_depth: 0, chain_root: root }
}

/** What goes out with a request. The top of a chain says nothing, which is how it is read again. */
export function callerHeaders(context: CallerContext): Readonly<Record<string, string>> {
  if (context.chain_depth === 0 || context.caller_agent === null) return {}
  return {
    [headerNames.agent]: context.caller_agent,
    [headerNames.user]: String(context.caller_user),
    [headerNames.host]: context.caller_host,
    [headerNames.depth]: String(context.chain_depth),
    [headerNames.root]: context.chain_root,
  }
}

/** What the agent we call is told: one deeper, with us as the caller. Undefined when that would be too deep. */
export function createNextCallChain(
  context: CallerContext,
  self: { readonly agent: string; readonly host: string; readonly user?: number },
  maxDepth = maxChainDepth,
): CallerContext | undefined {
  if (context.chain_depth >= maxDepth) return undefined
  return {
    caller_agent: self.agent,
    caller_user: self.user ?? 0,
    caller_host: parseHostOrigin(self.host) ?? self.host,
    chain_depth: context.chain_depth + 1,
    chain_root: context.chain_root,
  }
}

function readCallerHeaders(headers: Readonly<Record<string, string | undefined>>): CallerHeaderValues {
  const lower = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    // Joined as HTTP joins them: a comma is in no value we take.
    const before = lower.get(key)
    if (value !== undefined) lower.set(key, before === undefined ? value.trim() : `${before}, ${value.trim()}`)
  }
  const callerHeader = (field: CallerField) => lower.get(headerNames[field])
  return {
    agent: callerHeader('agent'),
    user: callerHeader('user'),
    host: callerHeader('host'),
    depth: callerHeader('depth'),
    root: callerHeader('root'),
  }
}

/** Scheme, host and port; undefined for anything but an absolute http or https address. */
function parseHostOrigin(host: string | undefined): string | undefined {
  if (host === undefined || host.length > 512 || !/^https?:\/\/[^\s,@]+$/i.test(host)) return undefined
  return URL.canParse(host) ? new URL(host).origin : undefined
}

function rejectCallerHeader(field: CallerField, reason: string): CallerReading {
  const code = 'invalid_agent_caller_context'
  const remedy = `${headerNames[field]} ${reason}`
  return { ok: false, code, field, message: `${code}: ${remedy}`, remedy }
}

// Loops between gateways: the five headers name only the last caller, so each gateway remembers which agents a chain has visited.

/** One agent that worked on a chain; the gateway keeps these under the chain's root. */
export type ChainAncestor = { readonly agent: string; readonly host: string }

/** True when the chain comes back to an agent it has passed, or an agent calls itself. */
export function isCallerLoop(
  context: CallerContext,
  self: ChainAncestor,
  /** What is remembered for `context.chain_root`, and for no other root. */
  ancestors: readonly ChainAncestor[],
): boolean {
  if (context.chain_depth === 0) return false
  const caller = { agent: context.caller_agent ?? '', host: context.caller_host }
  return [...ancestors, caller].some((passed) => passed.agent === self.agent && isSameChainHost(passed.host, self.host))
}

/** One gateway may be written with a path or a slash at the end; its origin is one. */
function isSameChainHost(one: string, other: string): boolean {
  return (parseHostOrigin(one) ?? one) === (parseHostOrigin(other) ?? other)
}

// Loops inside a conversation: how many calls are left, and whether a message goes in circles.

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
export function createAgentChain(depth: number, ceiling = defaultMaxHops): AgentChain | undefined {
  if (depth < 1 || depth > ceiling) return undefined
  return { hop: depth, max_hops: ceiling, is_final: depth === ceiling }
}

/** True where a chain has more hops behind it than we allow. */
export function exceedsHopLimit(depth: number, ceiling = defaultMaxHops): boolean {
  return depth > ceiling
}

/** What the agent is told about its position; nothing outside a chain. */
export function describeCallChainForAgent(chain: AgentChain | undefined): string | undefined {
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
export function findAgentLoopFault(
  visits: readonly Visit[],
  thread: string,
  agent: string,
): 'gw:agent_loop' | undefined {
  const here = visits.filter((visit) => visit.thread === thread)
  const sincePerson = here.slice(here.findLastIndex((visit) => visit.by === 'person') + 1)
  return sincePerson.some((visit) => visit.by === 'agent' && visit.agent === agent) ? 'gw:agent_loop' : undefined
}

function isConsistentChain({ hop, max_hops, is_final }: AgentChain): boolean {
  const areWhole = Number.isSafeInteger(hop) && Number.isSafeInteger(max_hops)
  return areWhole && hop >= 1 && hop <= max_hops && is_final === (hop === max_hops)
}
