// Authenticates the signer of an activity or a request: by the request's own signature; by the activity's proof only where the
// operator lets proofs stand alone.
import { LruMap, sha256Bytes, toHex } from '../../../src/lib/index.ts'
import type { DocumentDeps } from '../documents/document-deps.ts'
import type { ReadActivity, RemoteActor, RemoteKey, VerifiedActivity } from '../wire/activity.ts'
import { createSignatureChecker, type SignatureChecker, type SignatureJudgement } from './check-signature.ts'
import { iriHost } from './host-authority.ts'
import { parseCavageSignature, parseMessageSignatures } from './http-signatures.ts'
import { hasProof, type ProofClaim, parseProofs } from './integrity-proof.ts'
import { type Checked, passedCheckOf, type RejectedSignature, rejectSignature } from './rejection.ts'
import {
  proofLifeMs,
  readSignedRequest,
  type SignatureClaim,
  type SignedRequest,
  signatureLifeMs,
} from './signed-request.ts'
export type Signer = {
  readonly actor: RemoteActor
  readonly keyId: string
  readonly method: VerifiedActivity['method']
  readonly once: NonNullable<VerifiedActivity['once']>
}

export type AuthenticateDeps = {
  readonly keyVerifier: KeyVerifier
  readonly checker: SignatureChecker
  readonly nowMs: number
  readonly acceptsProofs: boolean
}

const utf8 = new TextEncoder()

export function hasSignature({ headers }: SignedRequest): boolean {
  return (headers['signature'] ?? '') !== ''
}

export async function authenticateSigner(
  deps: AuthenticateDeps,
  request: SignedRequest,
  activity: ReadActivity,
): Promise<Checked<Signer>> {
  const bySignature = hasSignature(request)
    ? await authenticateByHttpSignature(deps, request, activity.actor)
    : rejectSignature('missing_signature')
  if (!deps.acceptsProofs || !hasProof(activity.raw)) {
    if (bySignature.kind === 'passed' || !deps.acceptsProofs || hasSignature(request)) return bySignature
    return rejectSignature('missing_proof')
  }
  const proofs = await parseProofs(activity.raw, deps.nowMs)
  const signer = bySignature.kind === 'passed' ? bySignature : await authenticateByProof(deps, proofs, activity.actor)
  if (signer.kind === 'refused') return signer
  // A copy that leaves the signature of the request out still has the proof.
  const once = await signatureReplayClaims(listSignedHashes(proofs), proofLifeMs)
  return passedCheckOf({ ...signer.value, once: [...signer.value.once, ...once] })
}

/** One way for one request: with `Signature-Input` it is RFC 9421 and nothing else. */
async function authenticateByHttpSignature(
  deps: AuthenticateDeps,
  request: SignedRequest,
  actor: string,
): Promise<Checked<Signer>> {
  const isNew = request.headers['signature-input'] !== undefined
  const claims = isNew ? parseMessageSignatures(request, deps.nowMs) : [parseCavageSignature(request, deps.nowMs)]
  const signer = await firstValidClaim(claims, async (claim: SignatureClaim) => {
    const signed = claim.texts.map(encodeSigningText)
    const { keyId, algorithm, signature } = claim
    const owner = await deps.keyVerifier.ask(keyId, actor, (key) =>
      judgeUntilRight(signed, (bytes) => deps.checker.check(key, algorithm, signature, bytes)),
    )
    return owner.kind === 'passed'
      ? passedCheckOf({ actor: owner.value, keyId, method: 'ap-http-signature' as const })
      : owner
  })
  if (signer.kind === 'refused') return signer
  // Of every label: a copy may come with another of them alone.
  const texts = claims.flatMap((claim) => (claim.kind === 'passed' ? claim.value.texts : []))
  return passedCheckOf({
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
    const owner = await deps.keyVerifier.ask(keyId, actor, (key) =>
      judgeUntilRight(signed, (bytes) => deps.checker.check(key, 'ed25519', signature, bytes)),
    )
    return owner.kind === 'passed'
      ? passedCheckOf({ actor: owner.value, keyId, method: 'ap-object-integrity-proof' as const, once: [] })
      : owner
  })
}

function listSignedHashes(proofs: readonly Checked<ProofClaim>[]): readonly Uint8Array<ArrayBuffer>[] {
  return proofs.flatMap((proof) => (proof.kind === 'passed' ? proof.value.signed : []))
}

/**
 * By what was signed, address, time and body: the bytes of a signature and the name of its key can be written in several ways that
 * hold (ECDSA, base64).
 */
function signatureReplayClaims(signed: readonly Uint8Array<ArrayBuffer>[], forMs: number): Promise<Signer['once']> {
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

async function judgeUntilRight<T, J extends string>(
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

// A key that does not fit is fetched anew once: its owner may have changed it. Not twice within a minute: else a sender of
// forgeries has us ask their victim.

const brakeMs = 60_000
const maxBraked = 1000

/** Whether a key is the one that signed. */
export type Judge = (key: RemoteKey) => Promise<SignatureJudgement>

export interface KeyVerifier {
  ask(keyId: string, actor: string, judge: Judge): Promise<Checked<RemoteActor>>
}

export function createKeyVerifier(keys: KeySource, now: () => number): KeyVerifier {
  const refreshedAt = new LruMap<string, number>(maxBraked)
  const mayRefetchKey = (keyId: string, answer: KeyAnswer): boolean => {
    const last = refreshedAt.get(keyId)
    if (last !== undefined && now() - last < brakeMs) return false
    // A fresh key would be the same.
    const fetchedAt = answer.kind === 'found' ? Date.parse(answer.actor.fetchedAt) : Number.NaN
    if (now() - fetchedAt < brakeMs) return false
    refreshedAt.set(keyId, now())
    return true
  }
  return {
    async ask(keyId, actor, judge) {
      // No server is asked for a key that could not be this actor's anyway.
      const host = iriHost(keyId)
      if (host === undefined || host !== iriHost(actor)) return rejectSignature('key_elsewhere')
      const answer = await keys.find(keyId)
      const first = await checkOwnerAndSignature(answer, actor, judge)
      if (first.kind === 'passed' || answer.kind !== 'found' || !mayRefetchKey(keyId, answer)) return first
      const fresh = await keys.refresh(keyId)
      // A server that is down tells nothing new about the signature.
      return fresh.kind === 'unreachable' ? first : checkOwnerAndSignature(fresh, actor, judge)
    },
  }
}

async function checkOwnerAndSignature(answer: KeyAnswer, actor: string, judge: Judge): Promise<Checked<RemoteActor>> {
  if (answer.kind !== 'found') return rejectMissingKey(answer)
  const { key, actor: owner } = answer
  if (key.owner !== actor || owner.id !== actor) return rejectSignature('not_the_owner')
  const judgement = await judge(key)
  if (judgement === 'right') return passedCheckOf(owner)
  return rejectSignature(judgement === 'wrong' ? 'wrong_signature' : judgement)
}

function rejectMissingKey({ kind }: Exclude<KeyAnswer, { kind: 'found' }>): RejectedSignature {
  switch (kind) {
    case 'gone':
      return rejectSignature('key_gone')
    case 'unreachable':
      return rejectSignature('key_unreachable')
    case 'refused':
      return rejectSignature('key_refused')
  }
}

// How verification asks for an actor's key. The implementation fetches, caches and guards.

export type KeyAnswer =
  /** The actor is the key's owner, read from the owner's own document, which lists the key. */
  | { readonly kind: 'found'; readonly key: RemoteKey; readonly actor: RemoteActor }
  /** The key's address answers 404 or 410. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreachable' }
  /** What is there is no key of this name, or its owner does not know it. */
  | { readonly kind: 'refused'; readonly reason: string }

export interface KeySource {
  /** From the cache where there is one. */
  find(keyId: string): Promise<KeyAnswer>
  /** From its origin, whatever is cached; the cache is then what was found. */
  refresh(keyId: string): Promise<KeyAnswer>
}

// A reader of a document may prove who they are by a signature of the request.

export type ReaderVerifierDeps = {
  readonly keys: KeySource
  readonly now: () => number
  /** Our public origin: signatures are made out to it. */
  readonly origin: string
}

export function createRequestSignerLookup({ keys, now, origin }: ReaderVerifierDeps): DocumentDeps['signerOf'] {
  const checker = createSignatureChecker()
  const isSignatureClaimValid = async (
    { algorithm, signature, texts }: SignatureClaim,
    key: RemoteKey,
  ): Promise<boolean> => {
    for (const text of texts) {
      const bytes = new Uint8Array(new TextEncoder().encode(text))
      if ((await checker.check(key, algorithm, signature, bytes)) === 'right') return true
    }
    return false
  }
  const findClaimSigner = async (claim: SignatureClaim): Promise<string | undefined> => {
    // A key that does not fit may have been changed by its owner.
    for (const ask of [keys.find, keys.refresh]) {
      const answer = await ask(claim.keyId)
      if (answer.kind !== 'found') return undefined
      if (await isSignatureClaimValid(claim, answer.key))
        return answer.key.owner === answer.actor.id ? answer.actor.id : undefined
    }
    return undefined
  }
  return async (request) => {
    const { pathname, search } = new URL(request.url)
    if (!request.headers.has('signature')) return undefined
    const headers: Record<string, string> = Object.fromEntries(request.headers)
    headers[':path'] = `${pathname}${search}`
    const rawRequest = { bytes: new Uint8Array(), headers, receivedAt: '', from: 'remote' as const }
    const signed = readSignedRequest(rawRequest, origin, request.method)
    const claims = request.headers.has('signature-input')
      ? parseMessageSignatures(signed, now())
      : [parseCavageSignature(signed, now())]
    // One signature, one signer: of several it is not said whose the question is.
    const [claim] = claims
    return claims.length === 1 && claim?.kind === 'passed' ? findClaimSigner(claim.value) : undefined
  }
}
