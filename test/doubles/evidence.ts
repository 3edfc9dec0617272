// Evidence for tests: everything filled in, the test names what matters.
import type { IdentityEvidence } from '../../src/contract/evidence.ts'
import { type Sender, unverifiedSender, verifiedSender } from '../../src/contract/index.ts'

export const evidenceNow = Date.parse('2026-11-16T12:00:00.000Z')
export const audience = '@agent@verse8.io'

/** A time so many seconds from `evidenceNow`. */
export function at(seconds: number): string {
  return new Date(evidenceNow + seconds * 1000).toISOString()
}

/** Proven by this process. */
export function ownEvidence(changes: Partial<IdentityEvidence> = {}): IdentityEvidence {
  return {
    subject: 'space:T123/U456',
    issuer: 'gw.example',
    method: 'urn:test:member:v1',
    assurance: 'platform',
    audience,
    issued_at: at(0),
    proof: { type: 'transport', verified_by: 'parley' },
    ...changes,
  }
}

/** As another gateway sends it: signed, short-lived, not yet verified. */
export function carriedEvidence(changes: Partial<IdentityEvidence> = {}): IdentityEvidence {
  return ownEvidence({
    issuer: 'connector.example',
    issued_at: at(-10),
    expires_at: at(290),
    proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'connector.example#k1', value: 'header..signature' },
    ...changes,
  })
}

export function senderWith(...evidence: readonly IdentityEvidence[]): Sender {
  const [first, ...others] = evidence
  if (first === undefined) return unverifiedSender('parley.localhost')
  return verifiedSender([first, ...others], { address: '@someone@test.parley.localhost', auth_method: 'test' })
}
