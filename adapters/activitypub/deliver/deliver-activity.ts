// Delivers one activity to one inbox, signed now. Two requests at most: which signature a server wants is remembered with it.
import type {
  Attempt,
  DeliveryOutcome,
  JsonObject,
  Records,
  SafeFetch,
  SafeFetchResult,
  TtlStore,
} from '../../../src/contract/index.ts'
import { createNoteStore, type StoreNote } from '../documents/own-notes.ts'
import { type ProofKey, withProof } from '../signatures/integrity-proof.ts'
import { encodeUtf8 } from '../signatures/key-material.ts'
import { type SignatureScheme, type SigningKey, signedHeaders } from '../signatures/sign-request.ts'
import type { ActivityPubCall, InboxCall } from '../wire/delivery.ts'
import { draftToInboxCall } from './expand-recipients.ts'
import {
  createGoneInboxes,
  createRemoteServers,
  type GoneInboxes,
  type RemoteServerState,
  type RemoteServers,
} from './remote-servers.ts'

export type AgentKeys = { readonly rsa: SigningKey; readonly ed25519?: ProofKey }

export type DeliverDeps = {
  readonly guardedFetch: SafeFetch
  readonly ttlStore: TtlStore
  readonly records: Records
  readonly now: () => number
  readonly ownKeysOf: (agent: string) => Promise<AgentKeys>
  /** Of the gateway. */
  readonly origin: string
  readonly userAgent: string
  /** For all that one attempt does. */
  readonly timeoutMs: number
  /** Those the operator wrote down: they may be http. */
  readonly origins?: readonly string[]
}

type InboxDeps = { readonly hosts: RemoteServers; readonly gone: GoneInboxes; readonly keepNote: StoreNote }

const maxAnswerBytes = 64 * 1024

export function deliverActivityPub(
  deps: DeliverDeps,
): (call: ActivityPubCall, attempt: Attempt) => Promise<DeliveryOutcome> {
  const desk = {
    hosts: createRemoteServers(deps),
    gone: createGoneInboxes(deps),
    keepNote: createNoteStore(deps.records),
  }
  return async (given, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    const call = given.op === 'draft' ? await draftToInboxCall(deps, given, attempt.clientId) : given
    return call === undefined ? { kind: 'retry', reason: 'note_not_kept' } : deliverToInbox(deps, desk, call, attempt)
  }
}

async function deliverToInbox(
  deps: DeliverDeps,
  desk: InboxDeps,
  call: InboxCall,
  attempt: Attempt,
): Promise<DeliveryOutcome> {
  if (!URL.canParse(call.inbox)) return { kind: 'refused', reason: 'inbox_malformed' }
  const { origin } = new URL(call.inbox)
  const host = await desk.hosts.read(origin)
  const restMs = host.restsUntil - deps.now()
  if (restMs > 0) return { kind: 'retry', reason: 'host_rests', afterMs: restMs, scope: 'conversation' }
  if (await desk.gone.holds(call).catch(() => false)) return { kind: 'refused', reason: 'inbox_gone' }
  const kept = await desk.keepNote(call)
  if (kept === 'withdrawn') return { kind: 'refused', reason: 'note_withdrawn' }
  if (kept === 'failed') return { kind: 'retry', reason: 'note_not_kept' }
  const keys = await deps.ownKeysOf(call.agent).catch(() => undefined)
  if (keys === undefined) return { kind: 'retry', reason: 'keys_unavailable' }
  const { meaning, knock } = await sendWithFallback(deps, { call, attempt, keys, host })
  // New keys were made while it was under way: a server that fetched our document meanwhile found only those.
  const isOutdated = async () => (await deps.ownKeysOf(call.agent)).rsa.id !== keys.rsa.id
  if (meaning.kind === 'unread' && (await isOutdated().catch(() => true)))
    return { kind: 'retry', reason: 'keys_changed' }
  return recordDelivery(desk, { call, origin, host }, meaning, knock)
}

type Sending = {
  readonly call: InboxCall
  readonly attempt: Attempt
  readonly keys: AgentKeys
  readonly host: RemoteServerState
}

async function sendWithFallback(
  deps: DeliverDeps,
  sending: Sending,
): Promise<{ readonly meaning: DeliveryMeaning; readonly knock: SignatureScheme }> {
  const first = sending.host.knock
  const meaning = classifyDelivery(await sendSigned(deps, sending, first), first, deps.now())
  if (meaning.kind !== 'unread' || sending.attempt.signal.aborted) return { meaning, knock: first }
  const second = first === 'cavage' ? 'rfc9421' : 'cavage'
  const again = classifyDelivery(await sendSigned(deps, sending, second), second, deps.now())
  if (again.kind !== 'unread' && again.kind !== 'failed') return { meaning: again, knock: second }
  // Where neither is read the first answer counts, unless it was a server that fell over: then it is down, or the second says more.
  const isDown = meaning.outcome.kind === 'retry'
  return { meaning: isDown ? again : meaning, knock: first }
}

async function sendSigned(
  deps: DeliverDeps,
  { call, attempt, keys }: Sending,
  knock: SignatureScheme,
): Promise<SafeFetchResult> {
  const nowMs = deps.now()
  const body = encodeUtf8(JSON.stringify(await addIntegrityProof(call.activity, keys, nowMs)))
  const signed = await signedHeaders({ method: 'POST', url: call.inbox, body, key: keys.rsa, knock, nowMs })
  const outcome = await deps.guardedFetch.fetch(call.inbox, {
    method: 'POST',
    headers: {
      'content-type': 'application/activity+json',
      accept: 'application/activity+json, application/json',
      'user-agent': deps.userAgent,
      ...signed,
    },
    body,
    maxBytes: maxAnswerBytes,
    // Two requests must fit.
    timeoutMs: deps.timeoutMs / 2,
    signal: attempt.signal,
    mayLeave: () => !attempt.signal.aborted,
    ...(deps.origins === undefined ? {} : { origins: deps.origins }),
  })
  if (outcome.kind === 'answered') await outcome.response.body?.cancel().catch(() => undefined)
  return outcome
}

function addIntegrityProof(
  activity: JsonObject,
  { ed25519 }: AgentKeys,
  nowMs: number,
): JsonObject | Promise<JsonObject> {
  return ed25519 === undefined ? activity : withProof(activity, ed25519, nowMs)
}

async function recordDelivery(
  { hosts, gone }: InboxDeps,
  { call, origin, host }: { readonly call: InboxCall; readonly origin: string; readonly host: RemoteServerState },
  meaning: DeliveryMeaning,
  knock: SignatureScheme,
): Promise<DeliveryOutcome> {
  if (meaning.kind === 'failed') await hosts.failed(origin, host)
  else await hosts.answered(origin, host, meaning.kind === 'taken' ? knock : host.knock)
  if (meaning.kind === 'taken') return { kind: 'delivered', ...deliveredIds(call) }
  // A failed clean-up is repeated by the next answer of this kind.
  if (meaning.kind === 'gone') await gone.mark(call.inbox).catch(() => undefined)
  return meaning.outcome
}

/** A reply to the note goes on with this conversation. */
function deliveredIds({ activity }: InboxCall): { readonly vendorId?: string; readonly name?: string } {
  const { type, object } = activity
  const id = typeof object === 'object' && object !== null && 'id' in object ? object['id'] : undefined
  if (typeof id !== 'string') return {}
  return type === 'Create' ? { vendorId: id, name: `o:${id}` } : { vendorId: id }
}

/** Whose limits a call shares: those of its server. */
export function recipientHost(call: ActivityPubCall): string | undefined {
  const inbox = call.op === 'draft' ? call.recipients[0]?.inbox : call.inbox
  return inbox !== undefined && URL.canParse(inbox) ? new URL(inbox).host : undefined
}

// Another server's answer becomes a delivery outcome. Nothing of its text is kept.

type DeliveryMeaning =
  | { readonly kind: 'taken' }
  /** Perhaps the server only does not know this form of signature. */
  | { readonly kind: 'unread'; readonly outcome: DeliveryOutcome }
  | { readonly kind: 'gone'; readonly outcome: DeliveryOutcome }
  /** The server's own fault. */
  | { readonly kind: 'failed'; readonly outcome: DeliveryOutcome }
  | { readonly kind: 'other'; readonly outcome: DeliveryOutcome }

const longestWaitMs = 24 * 60 * 60_000
/** Answers that ask for a later try. */
const later: ReadonlySet<number> = new Set([408, 425, 429, 503])

function classifyDelivery(outcome: SafeFetchResult, knock: SignatureScheme, nowMs: number): DeliveryMeaning {
  // An address inside a private network, or a redirect: it is not asked again.
  if (outcome.kind === 'refused') return { kind: 'other', outcome: refusedDelivery(`inbox_${outcome.reason}`) }
  // The ids are the same on every try, so that the server recognises a second delivery.
  if (outcome.kind === 'failed')
    return { kind: 'failed', outcome: { kind: 'retry', reason: `inbox_${outcome.reason}` } }
  const { status, headers } = outcome.response
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const reason = `inbox_http_${status}`
  if (status === 401 || status === 403 || status === 400) return { kind: 'unread', outcome: refusedDelivery(reason) }
  if (status === 404 || status === 410) return { kind: 'gone', outcome: refusedDelivery('inbox_gone') }
  const afterMs = parseRetryAfter(headers.get('retry-after'), nowMs)
  const retry: DeliveryOutcome = {
    kind: 'retry',
    reason,
    ...(afterMs === undefined ? {} : { afterMs, scope: 'conversation' }),
  }
  if (later.has(status)) return { kind: afterMs === undefined && status === 503 ? 'failed' : 'other', outcome: retry }
  if (status < 500) return { kind: 'other', outcome: refusedDelivery(reason) }
  // Some servers fail on a signature of the new form.
  return { kind: knock === 'rfc9421' ? 'unread' : 'failed', outcome: retry }
}

function refusedDelivery(reason: string): DeliveryOutcome {
  return { kind: 'refused', reason }
}

/** Seconds, or a date. */
function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestWaitMs) : undefined
}
