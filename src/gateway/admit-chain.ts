// Hop 6, for messages that agents send: whether their chain may go on here. A chain is no authority; it can only
// take away.
import type { NormalizedMessage } from '../contract/index.ts'
import type { ChainStore } from '../db/call-chains.ts'
import { exceedsHopLimit } from '../identity/chain/agent-chain.ts'
import { isCallerLoop } from '../identity/chain/caller-loop.ts'

export type ChainDeps = {
  readonly chains: ChainStore
  /** Our own origin, as others are told it. */
  readonly host: () => Promise<string>
}

/** For whom a message waits, and which one it is. */
export type ChainedMessage = { readonly agent: string; readonly inboxId: string }

/** How often one agent may come back to another in one conversation before a person speaks again. */
const maxPairTurns = 5

export type ChainRefusal = 'gw:agent_loop' | 'gw:hop_limit'

/**
 * Undefined: it may. The visit is remembered before anything runs; a message that is tried again, after a crash or alone after a
 * failed merge, stands where it stood and does not take itself for a loop.
 */
export async function admitChain(
  { chains, host: ownHost }: ChainDeps,
  { channel }: Pick<NormalizedMessage, 'channel'>,
  { agent, inboxId }: ChainedMessage,
): Promise<ChainRefusal | undefined> {
  const caller = channel?.caller
  if (caller === undefined || caller.chain_depth === 0) return undefined
  const { chain_depth: depth, chain_root: root } = caller
  if (exceedsHopLimit(depth)) return 'gw:hop_limit'
  const host = await ownHost()
  if (isCallerLoop(caller, { agent, host }, [])) return 'gw:agent_loop'
  if (await chains.visit({ root, agent, host, depth })) return 'gw:agent_loop'
  // A person who speaks begins a chain of their own: within one chain two agents have only each other to talk to.
  const pair = { root, agent: caller.caller_agent ?? '', host: caller.caller_host }
  return (await chains.turnsWith(inboxId, pair)) >= maxPairTurns ? 'gw:agent_loop' : undefined
}
