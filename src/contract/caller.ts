// Callers of our APIs: the holder of a token or an anonymous caller, how far along a chain of agents, and what they are told about
// the token they need.
import * as z from 'zod'
import type { RecipientCapabilities } from './capabilities.ts'
import type { RejectReason } from './results.ts'

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
  /** What it may be used for (`hasBearerScope`). Undefined: whatever callers of agents may do. */
  readonly scopes?: readonly string[]
  /** Who issued it, where we did not. */
  readonly issuerClaims?: ForeignTokenClaims
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
  /** What it does, as `hasBearerScope` asks. */
  readonly scope?: string
  /** URLs by which this agent is called here: a token made out to one of them is for this agent. */
  readonly audiences?: readonly string[]
  /** The request names its agent: a token for another one will not do, also where agents share the connection. */
  readonly isNamed?: boolean
}

/** The scope a token needs to have an agent run over the API. */
export const runScope = 'run'

/** True where no token is required: what such a caller may do is the channel's to say. */
export function hasBearerScope(bearer: Pick<Bearer, 'scopes'> | undefined, scope: string): boolean {
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

// Ids that callers choose: threads, runs, messages, tasks. They are stored, compared, logged and shown, so nothing in them may end a line,
// move a cursor, turn text around or be half a character. Checked when the request comes in, while the caller can still be told.

/** Control characters (C0, DEL, C1), line and paragraph separators, and the embeddings, overrides and isolates of UAX 9. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

export const plainIdRemedy = 'use visible characters: no control characters, line breaks or changes of direction'

export function isPlainId(text: string): boolean {
  return !unfit.test(text) && text.isWellFormed()
}

/** Blanks at its ends do not count. */
export function callerChosenIdSchema(maxLength = 512): z.ZodString {
  return z.string().trim().min(1).max(maxLength).refine(isPlainId, plainIdRemedy)
}

// The `WWW-Authenticate` header (RFC 6750 section 3, RFC 9728 section 5.1).

export type ChallengeFacts = {
  readonly reason: RejectReason
  readonly realm?: string
  /** What the token would have to be good for. */
  readonly scope?: string
  /** Where it is written who issues tokens for this place. */
  readonly resourceMetadata?: string
}

/** The word of RFC 6750 for it. Undefined: it says nothing about a token, or none came. */
export function bearerErrorCode(
  reason: RejectReason,
): 'invalid_token' | 'insufficient_scope' | 'issuer_unavailable' | undefined {
  if (reason === 'insufficient_scope' || reason === 'issuer_unavailable') return reason
  return reason === 'invalid_token' || reason.startsWith('token_') ? 'invalid_token' : undefined
}

export function bearerChallenge({ reason, realm, scope, resourceMetadata }: ChallengeFacts): string {
  const error = bearerErrorCode(reason)
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['realm', realm],
    // Of a server that does not answer RFC 6750 knows nothing, and the token may be fine.
    ['error', error === 'issuer_unavailable' ? undefined : error],
    ['error_description', error === 'invalid_token' && reason !== error ? reason : undefined],
    ['scope', scope],
    ['resource_metadata', resourceMetadata],
  ]
  const told = facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${stripUnquotable(value)}"`]))
  return ['Bearer', told.join(', ')].join(' ').trim()
}

/** What would end the quotes, or the header, has no place in it. */
function stripUnquotable(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]|["\\]/g, '')
}

// Authentication sources that act without a person: identity limits them, and the agent loop shows them fewer tools. One list for
// both.

/** Sources of authority (`auth_source`) behind which no person sits. */
export const autonomousSources: readonly string[] = ['system', 'runtime', 'agent_token']
