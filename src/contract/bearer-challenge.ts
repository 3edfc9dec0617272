// What a caller is told about the token it needs, in one header (RFC 6750 section 3, RFC 9728 section 5.1).
import type { RejectReason } from './outcomes.ts'

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
