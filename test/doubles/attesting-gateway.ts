// Another gateway that signs what it says about people, and a verifier that holds it to its key, its message and to once.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import type { IdentityEvidence } from '../../src/contract/evidence.ts'
import type { AttestationVerifier } from '../../src/identity/trust.ts'

export type AttestingGateway = {
  /** Evidence with a signature over everything else it says. */
  readonly attest: (evidence: IdentityEvidence) => IdentityEvidence
  readonly verifier: AttestationVerifier
}

export function createAttestingGateway(): AttestingGateway {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const usedBy = new Map<string, string>()
  return {
    attest(evidence) {
      const value = sign(null, signedBytes(evidence), privateKey).toString('base64url')
      return { ...evidence, proof: { ...evidence.proof, value } as IdentityEvidence['proof'] }
    },
    verifier: {
      async verify(carried, { messageId }) {
        const evidence = carried as IdentityEvidence
        const value = String((evidence.proof as { value?: unknown }).value)
        if (!verify(null, signedBytes(evidence), publicKey, Buffer.from(value, 'base64url'))) return 'EV_SIG_INVALID'
        const boundTo = evidence.claims?.['message_id']
        if (boundTo !== undefined && boundTo !== messageId) return 'EV_BINDING'
        const first = usedBy.get(value) ?? messageId
        usedBy.set(value, first)
        return first === messageId ? undefined : 'EV_REPLAY'
      },
    },
  }
}

function signedBytes({ proof, ...rest }: IdentityEvidence): Uint8Array {
  const { value: _value, ...head } = proof as { value?: unknown }
  return new TextEncoder().encode(JSON.stringify([rest, head]))
}
