// The attestor: what the gateway signs about a sender for the remote agent it forwards to: who they are as far as it was
// verified here, addressed to that agent and bound to this message, and valid for minutes. Claims stay here: the remote agent is
// told no more than who speaks.
import { exportJWK, FlattenedSign, generateKeyPair, importJWK, type JWK } from 'jose'
import type { KeyRing } from '../contract/channel.ts'
import type { IdentityEvidence } from '../contract/evidence.ts'
import { canonicalJson, sha256Hex } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'

const algorithm = 'EdDSA'
const typ = 'identity-evidence+jws'
const lifeMs = 5 * 60_000
const mostAtOnce = 4

export type Attestor = {
  /** Nothing where there is nothing to sign with, or no verified sender. */
  attest(evidence: readonly IdentityEvidence[], to: Addressee): Promise<readonly JsonObject[]>
  /** What others verify it with. Undefined: nothing is signed here. */
  card(): Promise<JsonObject | undefined>
}

/** The address of the agent that is asked, and the id of the message as it is sent there. */
export type Addressee = { readonly audience: string; readonly messageId: string }

export type AttestorDeps = {
  /** The name of our host, which is what we are called as an issuer. */
  readonly issuer: string
  /** Private JWKs, the same for all replicas; undefined: there are none. */
  readonly readKeys: () => Promise<KeyRing | undefined>
  readonly newId: () => string
  readonly now: () => number
}

export async function makeAttestationKey(): Promise<string> {
  const { privateKey } = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}

export function createAttestor({ issuer, readKeys, newId, now }: AttestorDeps): Attestor {
  const importAttestationKey = async (text: string) => {
    const jwk = JSON.parse(text) as JWK
    const { kty = '', crv = '', x = '' } = jwk
    // Named by what it is, so that a new key is never taken for the one before.
    const kid = `${issuer}#${(await sha256Hex(x)).slice(0, 16)}`
    return { kid, publicJwk: { kty, crv, x, kid, alg: algorithm, use: 'sig' }, key: await importJWK(jwk, algorithm) }
  }
  const known = new Map<string, ReturnType<typeof importAttestationKey>>()
  const cachedAttestationKey = (text: string): ReturnType<typeof importAttestationKey> => {
    const key = known.get(text) ?? importAttestationKey(text)
    known.set(text, key)
    return key
  }
  return {
    async attest(evidence, { audience, messageId }) {
      const ring = evidence.length === 0 ? undefined : await readKeys()
      if (ring === undefined) return []
      const own = await cachedAttestationKey(ring.signing)
      const at = now()
      const signed = evidence.slice(0, mostAtOnce).map(async ({ subject, method, assurance }) => {
        const head = { type: 'signed-attestation', alg: algorithm, kid: own.kid, canonicalization: 'jcs' }
        const said = {
          id: newId(),
          subject,
          issuer,
          method,
          assurance,
          audience,
          issued_at: new Date(at).toISOString(),
          expires_at: new Date(at + lifeMs).toISOString(),
          claims: { message_id: messageId },
        }
        const payload = new TextEncoder().encode(canonicalJson({ ...said, proof: head }))
        const jws = await new FlattenedSign(payload)
          .setProtectedHeader({ alg: algorithm, kid: own.kid, typ })
          .sign(own.key)
        return { ...said, proof: { ...head, value: `${jws.protected}..${jws.signature}` } }
      })
      return Promise.all(signed)
    },
    async card() {
      const ring = await readKeys()
      if (ring === undefined) return undefined
      const keys = await Promise.all(ring.all.map(async (text) => (await cachedAttestationKey(text)).publicJwk))
      // One that was replaced a moment ago still signs: it stands among the active ones with its successor.
      const count = ring.all.indexOf(ring.signing) + 1
      return { issuer, keys: { active: keys.slice(0, count), previous: keys.slice(count) } }
    },
  }
}
