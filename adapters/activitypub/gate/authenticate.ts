// Who signed an activity: by the request's own signature; by the activity's proof only where the operator lets proofs stand alone.
import type { OnceClaim } from '../../../src/contract/index.ts'
import { hexOf, sha256Bytes } from '../../../src/verification/index.ts'
import type { GatedActivity, ReadActivity } from '../wire/activity.ts'
import type { RemoteActor } from '../wire/actor.ts'
import type { KeyDesk } from './ask-key.ts'
import { readCavage } from './cavage.ts'
import type { SignatureChecker } from './check-signature.ts'
import { proofLifeMs, signatureLifeMs } from './clock.ts'
import { readMessageSignatures } from './message-signature.ts'
import { hasProof, type ProofClaim, readProofs } from './proof.ts'
import { passed, refused, type Step } from './refusal.ts'
import type { SignatureClaim, SignedRequest } from './signed-request.ts'

export type Signer = {
  readonly actor: RemoteActor
  readonly keyId: string
  readonly method: GatedActivity['method']
  readonly once: readonly OnceClaim[]
}

export type AuthenticateDeps = {
  readonly desk: KeyDesk
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
): Promise<Step<Signer>> {
  const bySignature = hasSignature(request)
    ? await byRequest(deps, request, activity.actor)
    : refused('missing_signature')
  if (!deps.acceptsProofs || !hasProof(activity.raw)) {
    if (bySignature.kind === 'passed' || !deps.acceptsProofs || hasSignature(request)) return bySignature
    return refused('missing_proof')
  }
  const proofs = await readProofs(activity.raw, deps.nowMs)
  const signer = bySignature.kind === 'passed' ? bySignature : await byProof(deps, proofs, activity.actor)
  if (signer.kind === 'refused') return signer
  // A copy that leaves the signature of the request out still has the proof.
  const once = await claimsOn(signedIn(proofs), proofLifeMs)
  return passed({ ...signer.value, once: [...signer.value.once, ...once] })
}

/** One way for one request: with `Signature-Input` it is RFC 9421 and nothing else. */
async function byRequest(deps: AuthenticateDeps, request: SignedRequest, actor: string): Promise<Step<Signer>> {
  const isNew = request.headers['signature-input'] !== undefined
  const claims = isNew ? readMessageSignatures(request, deps.nowMs) : [readCavage(request, deps.nowMs)]
  const signer = await firstThatHolds(claims, async (claim: SignatureClaim) => {
    const signed = claim.texts.map(encode)
    const { keyId, algorithm, signature } = claim
    const owner = await deps.desk.ask(keyId, actor, (key) =>
      anyRight(signed, (bytes) => deps.checker.check(key, algorithm, signature, bytes)),
    )
    return owner.kind === 'passed' ? passed({ actor: owner.value, keyId, method: 'ap-http-signature' as const }) : owner
  })
  if (signer.kind === 'refused') return signer
  // Of every label: a copy may come with another of them alone.
  const texts = claims.flatMap((claim) => (claim.kind === 'passed' ? claim.value.texts : []))
  return passed({ ...signer.value, once: await claimsOn(texts.map(encode), signatureLifeMs) })
}

async function byProof(
  deps: AuthenticateDeps,
  proofs: readonly Step<ProofClaim>[],
  actor: string,
): Promise<Step<Signer>> {
  return firstThatHolds(proofs, async ({ keyId, signature, signed }: ProofClaim) => {
    const owner = await deps.desk.ask(keyId, actor, (key) =>
      anyRight(signed, (bytes) => deps.checker.check(key, 'ed25519', signature, bytes)),
    )
    return owner.kind === 'passed'
      ? passed({ actor: owner.value, keyId, method: 'ap-object-integrity-proof' as const, once: [] })
      : owner
  })
}

function signedIn(proofs: readonly Step<ProofClaim>[]): readonly Uint8Array<ArrayBuffer>[] {
  return proofs.flatMap((proof) => (proof.kind === 'passed' ? proof.value.signed : []))
}

/**
 * By what was signed, address, time and body: the bytes of a signature and the name of its key can be written in several ways that
 * hold (ECDSA, base64).
 */
function claimsOn(signed: readonly Uint8Array<ArrayBuffer>[], forMs: number): Promise<readonly OnceClaim[]> {
  return Promise.all(signed.map(async (bytes) => ({ key: hexOf(await sha256Bytes(bytes)), forMs })))
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(utf8.encode(text))
}

/** Each is judged by itself. Where none holds, what is told is why the last one does not. */
async function firstThatHolds<Claim, T>(
  claims: readonly Step<Claim>[],
  judge: (claim: Claim) => Promise<Step<T>>,
): Promise<Step<T>> {
  let last: Step<T> = refused('malformed_signature')
  for (const claim of claims) {
    const judged = claim.kind === 'passed' ? await judge(claim.value) : claim
    if (judged.kind === 'passed') return judged
    last = judged
  }
  return last
}

async function anyRight<T, J extends string>(
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
