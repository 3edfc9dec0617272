// Hop 2: verifies that an activity comes from the actor it names. The order is the point: cheap checks come first,
// and no other server is asked anything before all that can be judged here has been.
import type { RawArrival, TransportAnswer, Verdict } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/verification/index.ts'
import { isFault, readActivity } from '../read/read-activity.ts'
import type { GatedActivity, ReadActivity } from '../wire/activity.ts'
import { createKeyDesk, type KeyDesk } from './ask-key.ts'
import { authenticate, hasSignature } from './authenticate.ts'
import { judgeShape } from './body-caps.ts'
import { createSignatureChecker, type SignatureChecker } from './check-signature.ts'
import { checkDigests } from './digest.ts'
import { inboxOwnerOf, isAboutItself, isOwnWork, judgeHosts } from './hosts.ts'
import type { KeySource } from './key-source.ts'
import { isActivityType } from './media-type.ts'
import { passed, type Refused, refused, type Step } from './refusal.ts'
import { type SignedRequest, signedRequestOf } from './signed-request.ts'

export type GateVerdict =
  | { readonly kind: 'genuine'; readonly payload: GatedActivity }
  /** An actor's key is gone and they say that they are, too. Proven only when their own address answers 404 or 410. */
  | { readonly kind: 'departed'; readonly activity: ReadActivity }
  /** Answered as if it were accepted; nothing comes of it. */
  | { readonly kind: 'dropped'; readonly reason: 'stranger_left' | 'not_their_own_work' }
  /** By the caller's own rules, before another server is asked: blocked, or too often. */
  | { readonly kind: 'screened'; readonly answer: TransportAnswer }
  | Refused

export type GateDeps = {
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

export interface Gate {
  open(arrival: RawArrival): Promise<GateVerdict>
}

const defaultMaxBytes = 256 * 1024

export function createGate(deps: GateDeps): Gate {
  const desk = createKeyDesk(deps.keys, deps.now)
  const checker = createSignatureChecker()
  return { open: (arrival) => openGate({ ...deps, desk, checker }, arrival) }
}

type OpenDeps = GateDeps & { readonly desk: KeyDesk; readonly checker: SignatureChecker }

async function openGate(deps: OpenDeps, arrival: RawArrival): Promise<GateVerdict> {
  const { acceptsProofs = false } = deps
  const request = signedRequestOf(arrival, deps.origin)
  const closed = judgeEnvelope(deps, request, arrival) ?? (await judgeBody(request, arrival.bytes))
  if (closed !== undefined) return closed
  const read = readBody(arrival.bytes)
  if (read.kind === 'refused') return read
  const activity = read.value
  const screened = await screen(deps, activity)
  if (screened !== undefined) return screened
  const signer = await authenticate({ ...deps, acceptsProofs, nowMs: deps.now() }, request, activity)
  if (signer.kind === 'refused') {
    return signer.reason === 'key_gone' && activity.type === 'Delete' && isAboutItself(activity)
      ? { kind: 'departed', activity }
      : signer
  }
  const { actor, ...proof } = signer.value
  return { kind: 'genuine', payload: { activity, signer: actor, ...proof, inboxOf: inboxOwnerOf(request.path) } }
}

/** Media type, size and the presence of a signature: not a byte of the body is looked at. */
function judgeEnvelope(
  { maxBytes = defaultMaxBytes, acceptsProofs = false }: GateDeps,
  request: SignedRequest,
  { bytes, headers }: RawArrival,
): Refused | undefined {
  if (!isActivityType(headers['content-type'])) return refused('wrong_media_type')
  if (bytes.length > maxBytes) return refused('body_too_large')
  return hasSignature(request) || acceptsProofs ? undefined : refused('missing_signature')
}

/** A body that stands by its proof alone needs no digest; one that came must be right. */
async function judgeBody(request: SignedRequest, bytes: Uint8Array): Promise<Refused | undefined> {
  const fault = await checkDigests(request.headers, bytes)
  return fault?.reason === 'missing_digest' && !hasSignature(request) ? undefined : fault
}

/** Parsed once, within its bounds; the activity that is judged is the one that is used afterwards. */
function readBody(bytes: Uint8Array): Step<ReadActivity> {
  const json = parseBoundedJson(bytes)
  if (!json.ok) return refused(json.reason)
  const fault = judgeShape(json.value)
  if (fault !== undefined) return refused(fault)
  const activity = readActivity(json.value)
  if (isFault(activity)) return refused(activity.reason)
  const foreign = judgeHosts(activity)
  return foreign === undefined ? passed(activity) : refused(foreign)
}

/** Blocks, limits and what else can be judged without asking another server. */
async function screen(deps: GateDeps, activity: ReadActivity): Promise<GateVerdict | undefined> {
  if (!isOwnWork(activity)) return { kind: 'dropped', reason: 'not_their_own_work' }
  const { actor, type } = activity
  if (deps.knows !== undefined && isAboutItself(activity) && !(await deps.knows(actor)))
    return { kind: 'dropped', reason: 'stranger_left' }
  const answer = await deps.screen?.({ actor, type })
  return answer === undefined ? undefined : { kind: 'screened', answer }
}

/** The same as a result of the contract. Departures are the caller's: only it can ask whether an actor is gone. */
export function verdictOf(verdict: Exclude<GateVerdict, { kind: 'departed' }>): Verdict<GatedActivity> {
  switch (verdict.kind) {
    case 'genuine':
      return verdict
    case 'dropped':
      return { kind: 'handshake', answer: { status: 202 } }
    case 'screened':
      return { kind: 'handshake', answer: verdict.answer }
    case 'refused': {
      if (verdict.status === 401) return { kind: 'rejected', reason: verdict.rejectedAs }
      return { kind: 'handshake', answer: answerOf(verdict) }
    }
  }
}

function answerOf({ status, reason: code, remedy }: Refused): TransportAnswer {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify({ error: { code, remedy } }) }
}
