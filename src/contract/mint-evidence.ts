// Mints evidence for adapters: what their transport proved, bound to the agent it was sent to.

import { hasOnlyVisibleCharacters } from '../lib/clean-text.ts'
import { UnparsableEventError } from './adapter.ts'
import type { Bearer } from './caller.ts'
import type { IdentityEvidence } from './evidence.ts'

/** Kinds of control a proof can show, weakest first; the order is what policies compare (docs/identity.md). */
export const assuranceClasses = ['delegated', 'domain', 'address', 'platform', 'oauth', 'agent', 'wallet'] as const
export type AssuranceClass = (typeof assuranceClasses)[number]

export type ProvenFacts = {
  /** Namespaced and stable: the platform's own id, never a name that can change hands. */
  readonly subject: string
  readonly method: string
  readonly assurance: AssuranceClass
  /** Our own name as issuer, the domain of the connection; or the issuer of the token. */
  readonly issuer: string
  /** The agent's address: evidence for one agent is worth nothing to another. */
  readonly recipient: string
  readonly issuedAt: string
  readonly notBefore?: string
  readonly expiresAt?: string
  /** Whom the subject acts for, where the proof itself says so. */
  readonly onBehalfOf?: readonly string[]
  readonly keyId?: string
  /** Proven by a token that this process looked up or verified, by its id; without it by the transport. */
  readonly tokenId?: string
  readonly claims?: Readonly<Record<string, unknown>>
}

const namespaced = /^[a-z][a-z0-9+.-]*:[^\s]+$/
const maxSubjectLength = 512

/** True for a subject that names its namespace and hides nothing: `space:part/part`. */
export function isNamespacedSubject(subject: string): boolean {
  return subject.length <= maxSubjectLength && namespaced.test(subject) && hasOnlyVisibleCharacters(subject)
}

/**
 * Evidence made here, for an adapter whose transport proved who sent an event. A subject that is not a plain id makes the event
 * unreadable: no sender is guessed.
 *
 * @example
 * mintEvidence({
 *   subject: 'pigeon:42',
 *   method: 'urn:example:pigeon:signature:v1',
 *   assurance: 'platform',
 *   issuer: connection.domain,
 *   recipient: 'demo@pigeon.example',
 *   issuedAt: arrival.receivedAt,
 * })
 */
export function mintEvidence(proven: ProvenFacts): IdentityEvidence {
  const { subject, issuer, method, assurance, recipient, issuedAt, notBefore, expiresAt, onBehalfOf, claims } = proven
  const { tokenId, keyId } = proven
  if (!isNamespacedSubject(subject)) throw new UnparsableEventError('invalid_subject')
  return {
    subject,
    issuer,
    method,
    assurance,
    audience: recipient,
    issued_at: issuedAt,
    ...(notBefore === undefined ? {} : { not_before: notBefore }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(onBehalfOf === undefined ? {} : { on_behalf_of: [...onBehalfOf] }),
    ...(claims === undefined ? {} : { claims: { ...claims } }),
    proof:
      tokenId === undefined
        ? { type: 'transport', verified_by: 'parley', ...(keyId === undefined ? {} : { key_id: keyId }) }
        : { type: 'bearer-token', verified_by: 'parley', token_id: tokenId },
  }
}

// From a bearer token: the same facts whichever adapter mints it.

/** What `mintEvidence` needs of a bearer; the adapter adds its own name of the method, and for whom it is. */
export function bearerEvidenceFacts(
  { tokenId, subject, claims, issuerClaims }: Bearer,
  here: { readonly domain: string; readonly receivedAt: string },
): Omit<ProvenFacts, 'method' | 'recipient'> {
  const known = { subject, tokenId, claims }
  if (issuerClaims === undefined)
    return { ...known, issuer: here.domain, assurance: 'oauth', issuedAt: here.receivedAt }
  const { issuer, kind, issuedAt = here.receivedAt, ...more } = issuerClaims
  return { ...known, ...more, issuer, assurance: kind === 'jwt' ? 'agent' : 'oauth', issuedAt }
}
