// Which of a sender's evidence policy may rest on: what this process proved, or verified after an issuer was trusted.
import type { IdentityEvidence, PolicySender } from '../../contract/index.ts'

/** The order is the adapter's: its own proof comes first. */
export function filterAcceptedEvidence(sender: PolicySender): readonly IdentityEvidence[] {
  return (sender.identities ?? []).filter((evidence) => isAcceptedEvidence(evidence, sender.verified))
}

function isAcceptedEvidence({ proof }: IdentityEvidence, isVerified: boolean): boolean {
  if (proof.type === 'transport' || proof.type === 'bearer-token') return isVerified
  // A value still in place means that it was not verified yet.
  return proof.type === 'signed-attestation' && 'verified_by' in proof && !('value' in proof)
}
