// Who calls one of our APIs (hop 2): the holder of a token or an anonymous caller, and how far along a chain of agents.
import * as z from 'zod'
import type { RecipientCapabilities } from './capabilities.ts'
import type { RejectReason } from './outcomes.ts'

/** Longer chains are refused, whichever side counts. */
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

/** A caller with a token that is valid now and may talk to the agent. */
export type Bearer = {
  /** The eight digits its prefix shows, or the id its issuer gave it; the token itself is known to its holder alone. */
  readonly tokenId: string
  /** The principal it was made for, else a subject of its own. */
  readonly subject: string
  /** The one agent it may talk to. Null: every one. */
  readonly agent: string | null
  /** What it was limited to when it was made. */
  readonly claims: Readonly<Record<string, unknown>>
  /** A short name of the same principal that fits an address. Without it: one made of the token's digits. */
  readonly name?: string
  /** What it may be used for (`bearerMay`). Undefined: whatever callers of agents may do. */
  readonly scopes?: readonly string[]
  /** Who issued it, where we did not. */
  readonly vouched?: ForeignTokenClaims
}

/** What a token of another issuer says about itself, once it was found to hold. Times are RFC 3339. */
export type ForeignTokenClaims = {
  readonly issuer: string
  /** `jwt`: signed with a key of the caller's own organization. `oauth`: an authorization server stands behind it. */
  readonly kind: 'jwt' | 'oauth'
  readonly issuedAt?: string
  readonly notBefore?: string
  readonly expiresAt?: string
  /** Whom the caller acts for, nearest first: signed inside the token, or told by its server. */
  readonly onBehalfOf?: readonly string[]
}

/** What a request wants of a token, where the adapter knows it already. */
export type TokenRequirements = {
  /** What it does, as `bearerMay` asks. */
  readonly scope?: string
  /** URLs by which this agent is called here: a token made out to one of them is for this agent. */
  readonly audiences?: readonly string[]
  /** The request names its agent: a token for another one will not do, also where agents share the connection. */
  readonly isNamed?: boolean
}

/** The scope a token needs to have an agent run over the API. */
export const runScope = 'run'

/** True where no token is required: what such a caller may do is the channel's to say. */
export function bearerMay(bearer: Pick<Bearer, 'scopes'> | undefined, scope: string): boolean {
  return bearer?.scopes?.includes(scope) ?? true
}

export type CallerResult =
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
  /** `challenge`: the WWW-Authenticate header of the answer. */
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge?: string }

/** Port: judges what a request says about its caller. A token that is not valid is never taken for no token. */
export interface CallerVerifier {
  identify(headers: Readonly<Record<string, string>>, agent: string, wish?: TokenRequirements): Promise<CallerResult>
  /**
   * The WWW-Authenticate header for a caller whom the adapter itself turns away: without a token, or with one that may not.
   * `resource`: the URL that was called.
   */
  challenge(reason: RejectReason, at?: { readonly scope?: string; readonly resource?: string }): string
}
