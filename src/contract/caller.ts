// Who calls one of our APIs (hop 2): the holder of a token or nobody we know, and how far along a chain of agents.
import * as z from 'zod'
import type { RecipientCapabilities } from './capabilities.ts'
import type { RejectReason } from './outcomes.ts'

/** Longer chains are refused, whoever counts (ruling 48). */
export const maxChainDepth = 16

export const callerContextSchema = z.object({
  /** Null at the top of a chain. */
  caller_agent: z.string().nullable(),
  caller_user: z.number().int().min(0),
  /** `self` at the top of a chain, else the caller's origin. */
  caller_host: z.string(),
  chain_depth: z.number().int().min(0).max(maxChainDepth),
  chain_root: z.string(),
})

/** Which agent called us, and how far from the beginning: claims for loop protection and audit, never authority. */
export type CallerContext = Readonly<z.infer<typeof callerContextSchema>>

/** Whoever showed a token that is valid now and may talk to the agent. */
export type Bearer = {
  /** The eight digits its prefix shows; the token itself is known to its holder alone. */
  readonly tokenId: string
  /** The principal it was made for, else a subject of its own. */
  readonly subject: string
  /** The one agent it may talk to. Null: every one. */
  readonly agent: string | null
  /** What it was limited to when it was made. */
  readonly claims: Readonly<Record<string, unknown>>
}

export type CallerVerdict =
  | {
      readonly kind: 'identified'
      /** Undefined: no token was sent, and the channel decides whether it trusts such a caller at all. */
      readonly bearer: Bearer | undefined
      /** Undefined: no chain was named. */
      readonly caller: CallerContext | undefined
      readonly agentChain: RecipientCapabilities['agent_chain']
    }
  /** A header about the chain cannot be read. `remedy` names it and repeats nothing of it. */
  | { readonly kind: 'unreadable'; readonly bearer: Bearer | undefined; readonly remedy: string }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }

/** Port: judges what a request says about its caller. A token that is not valid is never taken for no token. */
export interface CallerDesk {
  identify(headers: Readonly<Record<string, string>>, agent: string): Promise<CallerVerdict>
}
