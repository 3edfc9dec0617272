// Object integrity proofs (FEP-8b32, eddsa-jcs-2022): the activity carries its signature, whichever server brings it.

import { canonicalJson, type Fields, type JsonObject, sha256Bytes } from '../../../src/lib/index.ts'
import { decodeBase58, encodeMultibase, encodeUtf8 } from './key-material.ts'
import { type Checked, passedCheckOf, rejectSignature, type SignatureRejectReason } from './rejection.ts'
import { checkProofTimes, longestKeyId } from './signed-request.ts'

export type ProofClaim = {
  readonly keyId: string
  readonly signature: Uint8Array<ArrayBuffer>
  /** What may have been signed: proofs that do not repeat the document's context are signed with and without it. */
  readonly signed: readonly Uint8Array<ArrayBuffer>[]
}

const maxProofs = 4
const utf8 = new TextEncoder()

export function hasProof(document: Fields): boolean {
  return document['proof'] !== undefined
}

/** One step for each proof; never empty. */
export async function parseProofs(document: Fields, nowMs: number): Promise<readonly Checked<ProofClaim>[]> {
  const { proof, ...unsecured } = document
  const proofs = Array.isArray(proof) ? proof : [proof]
  if (proofs.length === 0 || proofs.length > maxProofs) return [rejectSignature('malformed_proof')]
  return Promise.all(proofs.map((each) => readProof(unsecured, each, nowMs)))
}

async function readProof(document: Fields, proof: unknown, nowMs: number): Promise<Checked<ProofClaim>> {
  if (typeof proof !== 'object' || proof === null || Array.isArray(proof)) return rejectSignature('malformed_proof')
  const { proofValue, ...options } = proof as Fields
  const keyId = options['verificationMethod']
  const signature = decodeProofValue(proofValue)
  if (typeof keyId !== 'string' || keyId.length > longestKeyId || signature === undefined)
    return rejectSignature('malformed_proof')
  const fault = checkProofOptions(options, nowMs)
  if (fault !== undefined) return rejectSignature(fault)
  const forms = canonicalProofForms(document, options)
  if (forms === undefined) return rejectSignature('malformed_proof')
  return passedCheckOf({ keyId, signature, signed: await Promise.all(forms.map(hashProofForm)) })
}

function decodeProofValue(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  return typeof value === 'string' && value.startsWith('z') ? decodeBase58(value.slice(1), 64) : undefined
}

/** A proof made out to another party (`domain`, `challenge`), or that needs another (`previousProof`), is none for us. */
function checkProofOptions(options: Fields, nowMs: number): SignatureRejectReason | undefined {
  if (options['type'] !== 'DataIntegrityProof' || options['proofPurpose'] !== 'assertionMethod')
    return 'malformed_proof'
  if (options['cryptosuite'] !== 'eddsa-jcs-2022') return 'unknown_algorithm'
  if (['domain', 'challenge', 'previousProof'].some((name) => options[name] !== undefined)) return 'malformed_proof'
  const { created, expires } = options
  if (typeof created !== 'string') return 'missing_time'
  if (expires !== undefined && typeof expires !== 'string') return 'expired'
  return checkProofTimes({ created, expires }, nowMs)
}

type Form = readonly [options: string, document: string]

/** Undefined where the proof speaks of another context than the document, or something has no canonical form. */
function canonicalProofForms(document: Fields, options: Fields): readonly Form[] | undefined {
  const [context, own] = [document['@context'], options['@context']]
  try {
    if (own !== undefined) {
      if (!isContextPrefix(own, context)) return undefined
      return [[canonicalJson(options), canonicalJson({ ...document, '@context': own })]]
    }
    const text = canonicalJson(document)
    const plain: Form = [canonicalJson(options), text]
    return context === undefined ? [plain] : [[canonicalJson({ ...options, '@context': context }), text], plain]
  } catch {
    // Half a character (RFC 8785 section 3.2.2.2).
    return undefined
  }
}

/** vc-di-eddsa 3.3.2: the document's context begins with the proof's. */
function isContextPrefix(own: unknown, whole: unknown): boolean {
  const [start, all] = [Array.isArray(own) ? own : [own], Array.isArray(whole) ? whole : [whole]]
  return start.length <= all.length && start.every((each, index) => canonicalJson(each) === canonicalJson(all[index]))
}

async function hashProofForm([options, document]: Form): Promise<Uint8Array<ArrayBuffer>> {
  const both = new Uint8Array(64)
  both.set(await sha256Bytes(utf8.encode(options)))
  both.set(await sha256Bytes(utf8.encode(document)), 32)
  return both
}

// A proof holds also where another server passes the activity on.

export type ProofKey = { readonly id: string; readonly privateKey: CryptoKey }

export async function addProof(activity: JsonObject, key: ProofKey, nowMs: number): Promise<JsonObject> {
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
  return sha256Bytes(encodeUtf8(canonicalJson(value)))
}
