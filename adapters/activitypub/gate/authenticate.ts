// Who signed an activity: by the request's own signature; by the activity's proof only where the operator lets proofs stand alone.
import type { OnceClaim } from '../../../src/contract/index.ts'
import { sha256Bytes, toHex } from '../../../src/lib/index.ts'
import type { ReadActivity, VerifiedActivity } from '../wire/activity.ts'
import type { RemoteActor } from '../wire/actor.ts'
import type { KeyVerifier } from './ask-key.ts'
import { parseCavageSignature } from './cavage.ts'
import type { SignatureChecker } from './check-signature.ts'
import { proofLifeMs, signatureLifeMs } from './clock.ts'
import { parseMessageSignatures } from './message-signature.ts'
import { hasProof, type ProofClaim, parseProofs } from './proof.ts'
import { type Checked, checkedValue, rejectSignature } from './refusal.ts'
import type { SignatureClaim, SignedRequest } from './signed-request.ts'

export type Signer = {
  readonly actor: RemoteActor
  readonly keyId: string
  readonly method: VerifiedActivity['method']
  readonly once: readonly OnceClaim[]
}

export type AuthenticateDeps = {
  readonly desk: KeyVerifier
  readonly checker: SignatureChecker
  readonly nowMs: number
  readonly acceptsProofs: boolean
}

const utf8 = new TextEncoder()

export function hasSignature({ headers }: SignedRequest): boolean {
  return (headers['signature'] ?? '') !== ''
}

export async function authenticate(
  deps: AuthenticateDeps,
  request: SignedRequest,
  activity: ReadActivity,
): Promise<Checked<Signer>> {
  const bySignature = hasSignature(request)
    ? await authenticateByRequest(deps, request, activity.actor)
    : rejectSignature('missing_signature')
  if (!deps.acceptsProofs || !hasProof(activity.raw)) {
    if (bySignature.kind === 'passed' || !deps.acceptsProofs || hasSignature(request)) return bySignature
    return rejectSignature('missing_proof')
  }
  const proofs = await parseProofs(activity.raw, deps.nowMs)
  const signer = bySignature.kind === 'passed' ? bySignature : await authenticateByProof(deps, proofs, activity.actor)
  if (signer.kind === 'refused') return signer
  // A copy that leaves the signature of the request out still has the proof.
  const once = await signatureReplayClaims(signedHashes(proofs), proofLifeMs)
  return checkedValue({ ...signer.value, once: [...signer.value.once, ...once] })
}

/** One way for one request: with `Signature-Input` it is RFC 9421 and nothing else. */
async function authenticateByRequest(
  deps: AuthenticateDeps,
  request: SignedRequest,
  actor: string,
): Promise<Checked<Signer>> {
  const isNew = request.headers['signature-input'] !== undefined
  const claims = isNew ? parseMessageSignatures(request, deps.nowMs) : [parseCavageSignature(request, deps.nowMs)]
  const signer = await firstValidClaim(claims, async (claim: SignatureClaim) => {
    const signed = claim.texts.map(encodeSigningText)
    const { keyId, algorithm, signature } = claim
    const owner = await deps.desk.ask(keyId, actor, (key) =>
      anyValid(signed, (bytes) => deps.checker.check(key, algorithm, signature, bytes)),
    )
    return owner.kind === 'passed'
      ? checkedValue({ actor: owner.value, keyId, method: 'ap-http-signature' as const })
      : owner
  })
  if (signer.kind === 'refused') return signer
  // Of every label: a copy may come with another of them alone.
  const texts = claims.flatMap((claim) => (claim.kind === 'passed' ? claim.value.texts : []))
  return checkedValue({
    ...signer.value,
    once: await signatureReplayClaims(texts.map(encodeSigningText), signatureLifeMs),
  })
}

async function authenticateByProof(
  deps: AuthenticateDeps,
  proofs: readonly Checked<ProofClaim>[],
  actor: string,
): Promise<Checked<Signer>> {
  return firstValidClaim(proofs, async ({ keyId, signature, signed }: ProofClaim) => {
    const owner = await deps.desk.ask(keyId, actor, (key) =>
      anyValid(signed, (bytes) => deps.checker.check(key, 'ed25519', signature, bytes)),
    )
    return owner.kind === 'passed'
      ? checkedValue({ actor: owner.value, keyId, method: 'ap-object-integrity-proof' as const, once: [] })
      : owner
  })
}

function signedHashes(proofs: readonly Checked<ProofClaim>[]): readonly Uint8Array<ArrayBuffer>[] {
  return proofs.flatMap((proof) => (proof.kind === 'passed' ? proof.value.signed : []))
}

/**
 * By what was signed, address, time and body: the bytes of a signature and the name of its key can be written in several ways that
 * hold (ECDSA, base64).
 */
function signatureReplayClaims(
  signed: readonly Uint8Array<ArrayBuffer>[],
  forMs: number,
): Promise<readonly OnceClaim[]> {
  return Promise.all(signed.map(async (bytes) => ({ key: toHex(await sha256Bytes(bytes)), forMs })))
}

function encodeSigningText(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(utf8.encode(text))
}

/** Each is judged by itself. Where none holds, what is told is why the last one does not. */
async function firstValidClaim<Claim, T>(
  claims: readonly Checked<Claim>[],
  judge: (claim: Claim) => Promise<Checked<T>>,
): Promise<Checked<T>> {
  let last: Checked<T> = rejectSignature('malformed_signature')
  for (const claim of claims) {
    const judged = claim.kind === 'passed' ? await judge(claim.value) : claim
    if (judged.kind === 'passed') return judged
    last = judged
  }
  return last
}

async function anyValid<T, J extends string>(
  items: readonly T[],
  judge: (item: T) => Promise<J>,
): Promise<J | 'wrong'> {
  let last: J | 'wrong' = 'wrong'
  for (const item of items) {
    last = await judge(item)
    if (last === 'right') return last
  }
  return last
}
