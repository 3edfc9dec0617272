// Whom a token is for and when it is valid: the same checks for a JWT and for an introspected token.
import type { RejectReason } from '../../contract/index.ts'
import type { TokenClaims } from './token-claims.ts'

const skewSeconds = 60

export type AudienceContext = {
  readonly agent: string
  /** URLs of that agent here. */
  readonly audiences: readonly string[]
  /** Further agents whose tokens will do: whom a request is for may be known only when it is taken. */
  readonly others: readonly string[]
}

/** The one agent a token is made out to, null for all of them, undefined for none. */
export function resolveAudienceAgent(
  given: readonly string[],
  written: readonly string[],
  { agent, audiences, others }: AudienceContext,
): string | null | undefined {
  const isAudienceFor = (slug: string): boolean =>
    written.some((each) => each.includes('{agent}') && given.includes(each.replaceAll('{agent}', slug)))
  if (written.some((each) => !each.includes('{agent}') && given.includes(each))) return null
  if (audiences.some((each) => given.includes(each)) || isAudienceFor(agent)) return agent
  return others.find(isAudienceFor)
}

/** Undefined: it counts now. */
export function findTokenTimeFault(
  { expiresAt, notBefore, issuedAt }: TokenClaims,
  nowMs: number,
  maxLifetimeSeconds: number,
): RejectReason | undefined {
  const now = nowMs / 1000
  // Without both its lifetime is unknown.
  if (expiresAt === undefined || issuedAt === undefined || expiresAt <= issuedAt) return 'token_lifetime'
  if (now - skewSeconds >= expiresAt) return 'token_expired'
  if (now + skewSeconds < Math.max(issuedAt, notBefore ?? 0)) return 'token_not_yet_valid'
  return expiresAt - issuedAt > maxLifetimeSeconds ? 'token_lifetime' : undefined
}
