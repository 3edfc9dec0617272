// Loops between gateways: the five headers name only the last caller, so each gateway remembers whom a chain has visited.
import type { CallerContext } from '../../contract/index.ts'
import { parseHostOrigin } from './caller-context.ts'

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
