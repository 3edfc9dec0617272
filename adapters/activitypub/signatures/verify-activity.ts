// Verifies that an activity comes from the actor it names. The order is the point: cheap checks come first, and no other server
// is asked anything before all that can be judged here has been.
import type { RawRequest, StoredEventFacts, TransportAnswer, VerifyResult } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import type { RemoteLookup } from '../actors/remote-lookup.ts'
import { isActivityMediaType, isUnreadableActivity, readActivity } from '../vocab.ts'
import type { ReadActivity, VerifiedActivity } from '../wire/activity.ts'
import {
  authenticateSigner,
  createKeyVerifier,
  hasSignature,
  type KeySource,
  type KeyVerifier,
} from './authenticate.ts'
import { createSignatureChecker, type SignatureChecker } from './check-signature.ts'
import { checkActivityIdHosts, isAboutActorItself, isAuthoredByActor, parseInboxOwner } from './host-authority.ts'
import { hasProof } from './integrity-proof.ts'
import {
  type Checked,
  passedCheckOf,
  type RejectedSignature,
  rejectSignature,
  type SignatureRejectReason,
} from './rejection.ts'
import { checkDigests, readSignedRequest, type SignedRequest } from './signed-request.ts'

export type SignatureResult =
  | { readonly kind: 'genuine'; readonly payload: VerifiedActivity }
  /** An actor's key is gone and they say that they are, too. Proven only when their own address answers 404 or 410. */
  | { readonly kind: 'departed'; readonly activity: ReadActivity }
  /** Answered as if it were accepted; nothing comes of it. */
  | { readonly kind: 'dropped'; readonly reason: 'stranger_left' | 'not_their_own_work' }
  /** By the caller's own rules, before another server is asked: blocked, or too often. */
  | { readonly kind: 'screened'; readonly answer: TransportAnswer }
  | RejectedSignature

export type SignatureVerifierDeps = {
  readonly keys: KeySource
  readonly now: () => number
  /** Our public origin: signatures are made out to it. */
  readonly origin: string
  readonly maxBytes?: number
  /** Whether a proof in the activity counts without a signature of the request (FEP-8b32). Default: no. */
  readonly acceptsProofs?: boolean
  /** Whether we ever dealt with an actor; unknown ones that leave are not asked about. Without it every actor may be known. */
  readonly knows?: ((actor: string) => Promise<boolean>) | undefined
  /** Blocks and limits. The actor it is given is not proven yet. */
  readonly screen?: (claimed: { readonly actor: string; readonly type: string }) => Promise<TransportAnswer | undefined>
}

export interface SignatureVerifier {
  open(rawRequest: RawRequest): Promise<SignatureResult>
}

const defaultMaxBytes = 256 * 1024

export function createSignatureVerifier(deps: SignatureVerifierDeps): SignatureVerifier {
  const keyVerifier = createKeyVerifier(deps.keys, deps.now)
  const checker = createSignatureChecker()
  return { open: (rawRequest) => verifySignedActivity({ ...deps, keyVerifier, checker }, rawRequest) }
}

type OpenDeps = SignatureVerifierDeps & { readonly keyVerifier: KeyVerifier; readonly checker: SignatureChecker }

async function verifySignedActivity(deps: OpenDeps, rawRequest: RawRequest): Promise<SignatureResult> {
  const { acceptsProofs = false } = deps
  const request = readSignedRequest(rawRequest, deps.origin)
  const closed =
    checkHeadersAndBodySize(deps, request, rawRequest) ?? (await checkBodyDigest(request, rawRequest.bytes))
  if (closed !== undefined) return closed
  const read = parseActivityBody(rawRequest.bytes)
  if (read.kind === 'refused') return read
  const activity = read.value
  const screened = await screenActivity(deps, activity)
  if (screened !== undefined) return screened
  const signer = await authenticateSigner({ ...deps, acceptsProofs, nowMs: deps.now() }, request, activity)
  if (signer.kind === 'refused') {
    return signer.reason === 'key_gone' && activity.type === 'Delete' && isAboutActorItself(activity)
      ? { kind: 'departed', activity }
      : signer
  }
  const { actor, ...proof } = signer.value
  return { kind: 'genuine', payload: { activity, signer: actor, ...proof, inboxOf: parseInboxOwner(request.path) } }
}

/** Media type, size and the presence of a signature: not a byte of the body is looked at. */
function checkHeadersAndBodySize(
  { maxBytes = defaultMaxBytes, acceptsProofs = false }: SignatureVerifierDeps,
  request: SignedRequest,
  { bytes, headers }: RawRequest,
): RejectedSignature | undefined {
  if (!isActivityMediaType(headers['content-type'])) return rejectSignature('wrong_media_type')
  if (bytes.length > maxBytes) return rejectSignature('body_too_large')
  return hasSignature(request) || acceptsProofs ? undefined : rejectSignature('missing_signature')
}

/** A body that stands by its proof alone needs no digest; one that came must be right. */
async function checkBodyDigest(request: SignedRequest, bytes: Uint8Array): Promise<RejectedSignature | undefined> {
  const fault = await checkDigests(request.headers, bytes)
  return fault?.reason === 'missing_digest' && !hasSignature(request) ? undefined : fault
}

/** Parsed once, within its bounds; the activity that is judged is the one that is used afterwards. */
function parseActivityBody(bytes: Uint8Array): Checked<ReadActivity> {
  const json = parseBoundedJson(bytes)
  if (!json.ok) return rejectSignature(json.reason)
  const fault = checkJsonLimits(json.value)
  if (fault !== undefined) return rejectSignature(fault)
  const activity = readActivity(json.value)
  if (isUnreadableActivity(activity)) return rejectSignature(activity.reason)
  const foreign = checkActivityIdHosts(activity)
  return foreign === undefined ? passedCheckOf(activity) : rejectSignature(foreign)
}

/** Blocks, limits and what else can be judged without asking another server. */
async function screenActivity(
  deps: SignatureVerifierDeps,
  activity: ReadActivity,
): Promise<SignatureResult | undefined> {
  if (!isAuthoredByActor(activity)) return { kind: 'dropped', reason: 'not_their_own_work' }
  const { actor, type } = activity
  if (deps.knows !== undefined && isAboutActorItself(activity) && !(await deps.knows(actor)))
    return { kind: 'dropped', reason: 'stranger_left' }
  const answer = await deps.screen?.({ actor, type })
  return answer === undefined ? undefined : { kind: 'screened', answer }
}

/** The same as a result of the contract. Departures are the caller's: only it can ask whether an actor is gone. */
export function toVerifyResult(
  verdict: Exclude<SignatureResult, { kind: 'departed' }>,
): VerifyResult<VerifiedActivity> {
  switch (verdict.kind) {
    case 'genuine':
      return verdict
    case 'dropped':
      return { kind: 'handshake', answer: { status: 202 } }
    case 'screened':
      return { kind: 'handshake', answer: verdict.answer }
    case 'refused': {
      if (verdict.status === 401) return { kind: 'rejected', reason: verdict.rejectedAs }
      return { kind: 'handshake', answer: rejectionAnswer(verdict) }
    }
  }
}

function rejectionAnswer({ status, reason: code, remedy }: RejectedSignature): TransportAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify({ error: { code, remedy } }) }
}

// Caps on the shape of a parsed body: whatever reads it afterwards may walk it without counting.

const maxDepth = 32
const maxItems = 2000
const maxNames = 20_000
const maxText = 200 * 1024

/** Undefined: within all of them. The parser has bounded the depth already, so this may recurse. */
function checkJsonLimits(value: unknown): SignatureRejectReason | undefined {
  return checkJsonValueLimits(value, 1, { names: 0 })
}

function checkJsonValueLimits(
  value: unknown,
  depth: number,
  seen: { names: number },
): SignatureRejectReason | undefined {
  if (typeof value === 'string') return value.length > maxText ? 'text_too_long' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > maxDepth) return 'too_deep'
  if (Array.isArray(value)) {
    if (value.length > maxItems) return 'too_many_values'
    for (const item of value) {
      const fault = checkJsonValueLimits(item, depth + 1, seen)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  for (const item of Object.values(value)) {
    seen.names += 1
    if (seen.names > maxNames) return 'too_many_values'
    const fault = checkJsonValueLimits(item, depth + 1, seen)
    if (fault !== undefined) return fault
  }
  return undefined
}

// An activity that was verified when it came may be read again from what was stored: itself, and whose it was. The author must
// still be known; they are never guessed, and no signature is looked for in what has none any more.

export type ReverifyDeps = {
  readonly remote: Pick<RemoteLookup, 'known'>
  readonly acceptsProofs: boolean
}

/** Undefined: what is kept does not say enough. */
export async function restoreVerifiedActivity(
  { remote, acceptsProofs }: ReverifyDeps,
  { bytes }: RawRequest,
  { subject }: StoredEventFacts,
): Promise<VerifiedActivity | undefined> {
  const json = parseBoundedJson(bytes)
  const activity = json.ok ? readActivity(json.value) : undefined
  if (activity === undefined || isUnreadableActivity(activity)) return undefined
  // What a community passed on and its author's server bore out is the author's, in words that were not kept.
  if (subject === null || activity.actor !== subject) return undefined
  // Which of two proofs counted then is not known.
  if (acceptsProofs && hasProof(activity.raw)) return undefined
  const signer = await remote.known(subject)
  if (signer?.id !== subject) return undefined
  return { activity, signer, method: 'ap-http-signature', keyId: undefined, inboxOf: undefined }
}
