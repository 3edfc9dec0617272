// A proof inside the activity itself (FEP-8b32, eddsa-jcs-2022): it holds also where another server passes the activity on.
import type { JsonObject } from '../../../src/contract/index.ts'
import { canonicalJson } from '../../../src/lib/index.ts'
import { encodeMultibase, encodeUtf8, hashSha256 } from './encode.ts'

export type ProofKey = { readonly id: string; readonly privateKey: CryptoKey }

export async function withProof(activity: JsonObject, key: ProofKey, nowMs: number): Promise<JsonObject> {
  const options: JsonObject = {
    ...('@context' in activity ? { '@context': activity['@context'] ?? null } : {}),
    type: 'DataIntegrityProof',
    cryptosuite: 'eddsa-jcs-2022',
    verificationMethod: key.id,
    proofPurpose: 'assertionMethod',
    created: `${new Date(nowMs).toISOString().slice(0, 19)}Z`,
  }
  const hashes = new Uint8Array(64)
  hashes.set(await hashCanonicalJson(options), 0)
  hashes.set(await hashCanonicalJson(activity), 32)
  const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', key.privateKey, hashes))
  return { ...activity, proof: { ...options, proofValue: encodeMultibase(signature) } }
}

function hashCanonicalJson(value: JsonObject): Promise<Uint8Array> {
  return hashSha256(encodeUtf8(canonicalJson(value)))
}
