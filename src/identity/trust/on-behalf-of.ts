// For whom a caller acts. Trusted only where the proof covers the list, and never turned into a subject.
import type { IdentityEvidence } from '../../contract/index.ts'

/** Nearest first; empty when the proof says nothing about it. */
export function delegatedSubjects({ on_behalf_of = [], proof }: IdentityEvidence): readonly string[] {
  // A transport proves who delivered, not what the deliverer says about others.
  return proof.type === 'bearer-token' || proof.type === 'signed-attestation' ? on_behalf_of : []
}
