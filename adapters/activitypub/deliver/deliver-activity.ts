// Delivers one activity to one inbox, signed now. Two requests at most: which signature a server wants is remembered with it.

import type { Attempt, DeliveryResult, Records, TtlStore } from '../../../src/contract/index.ts'
import type { JsonObject, SafeFetch, SafeFetchResult } from '../../../src/lib/index.ts'
import { createNoteStore, type StoreNote } from '../documents/own-notes.ts'
import { addProof, type ProofKey } from '../signatures/integrity-proof.ts'
import { encodeUtf8 } from '../signatures/key-material.ts'
import { type SignatureScheme, type SigningKey, signedHeaders } from '../signatures/sign-request.ts'
import { type ActivityPubCall, followerFamily, type InboxCall, type KeptFacts } from '../wire/delivery.ts'
import { draftToInboxCall } from './expand-recipients.ts'
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
): (call: ActivityPubCall, attempt: Attempt) => Promise<DeliveryResult> {
  const inboxDeps = {
    hosts: createHostStateStore(deps),
    gone: createGoneInboxRegistry(deps),
    keepNote: createNoteStore(deps.records),
  }
  return async (given, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    const call = given.op === 'draft' ? await draftToInboxCall(deps, given, attempt.clientId) : given
    return call === undefined
      ? { kind: 'retry', reason: 'note_not_kept' }
      : deliverToInbox(deps, inboxDeps, call, attempt)
  }
}

async function deliverToInbox(
  deps: DeliverDeps,
  inboxDeps: InboxDeps,
  call: InboxCall,
  attempt: Attempt,
): Promise<DeliveryResult> {
  if (!URL.canParse(call.inbox)) return { kind: 'refused', reason: 'inbox_malformed' }
  const { origin } = new URL(call.inbox)
  const host = await inboxDeps.hosts.read(origin)
  const restMs = host.restsUntil - deps.now()
  if (restMs > 0) return { kind: 'retry', reason: 'host_rests', afterMs: restMs, scope: 'conversation' }
  if (await inboxDeps.gone.holds(call).catch(() => false)) return { kind: 'refused', reason: 'inbox_gone' }
  const kept = await inboxDeps.keepNote(call)
  if (kept === 'withdrawn') return { kind: 'refused', reason: 'note_withdrawn' }
  if (kept === 'failed') return { kind: 'retry', reason: 'note_not_kept' }
  const keys = await deps.ownKeysOf(call.agent).catch(() => undefined)
  if (keys === undefined) return { kind: 'retry', reason: 'keys_unavailable' }
  const { meaning, scheme } = await sendWithSchemeFallback(deps, { call, attempt, keys, host })
  // New keys were made while it was under way: a server that fetched our document meanwhile found only those.
  const areKeysReplaced = async () => (await deps.ownKeysOf(call.agent)).rsa.id !== keys.rsa.id
  if (meaning.kind === 'unread' && (await areKeysReplaced().catch(() => true)))
    return { kind: 'retry', reason: 'keys_changed' }
  return recordDelivery(inboxDeps, { call, origin, host }, meaning, scheme)
}

type Sending = {
  readonly call: InboxCall
  readonly attempt: Attempt
  readonly keys: AgentKeys
  readonly host: RemoteServerState
}

async function sendWithSchemeFallback(
  deps: DeliverDeps,
  sending: Sending,
): Promise<{ readonly meaning: DeliveryMeaning; readonly scheme: SignatureScheme }> {
  const first = sending.host.scheme
  const meaning = classifyDelivery(await sendSigned(deps, sending, first), first, deps.now())
  if (meaning.kind !== 'unread' || sending.attempt.signal.aborted) return { meaning, scheme: first }
  const second = first === 'cavage' ? 'rfc9421' : 'cavage'
  const again = classifyDelivery(await sendSigned(deps, sending, second), second, deps.now())
  if (again.kind !== 'unread' && again.kind !== 'failed') return { meaning: again, scheme: second }
  // Where neither is read the first answer counts, unless it was a server that fell over: then it is down, or the second says more.
  const isDown = meaning.outcome.kind === 'retry'
  return { meaning: isDown ? again : meaning, scheme: first }
}

async function sendSigned(
  deps: DeliverDeps,
  { call, attempt, keys }: Sending,
  scheme: SignatureScheme,
): Promise<SafeFetchResult> {
  const nowMs = deps.now()
  const body = encodeUtf8(JSON.stringify(await addIntegrityProof(call.activity, keys, nowMs)))
  const signed = await signedHeaders({ method: 'POST', url: call.inbox, body, key: keys.rsa, scheme, nowMs })
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
  return ed25519 === undefined ? activity : addProof(activity, ed25519, nowMs)
}

async function recordDelivery(
  { hosts, gone }: InboxDeps,
  { call, origin, host }: { readonly call: InboxCall; readonly origin: string; readonly host: RemoteServerState },
  meaning: DeliveryMeaning,
  scheme: SignatureScheme,
): Promise<DeliveryResult> {
  if (meaning.kind === 'failed') await hosts.failed(origin, host)
  else await hosts.answered(origin, host, meaning.kind === 'taken' ? scheme : host.scheme)
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
  | { readonly kind: 'unread'; readonly outcome: DeliveryResult }
  | { readonly kind: 'gone'; readonly outcome: DeliveryResult }
  /** The server's own fault. */
  | { readonly kind: 'failed'; readonly outcome: DeliveryResult }
  | { readonly kind: 'other'; readonly outcome: DeliveryResult }

const longestWaitMs = 24 * 60 * 60_000
/** Answers that ask for a later try. */
const later: ReadonlySet<number> = new Set([408, 425, 429, 503])

function classifyDelivery(outcome: SafeFetchResult, scheme: SignatureScheme, nowMs: number): DeliveryMeaning {
  // An address inside a private network, or a redirect: it is not asked again.
  if (outcome.kind === 'refused') return { kind: 'other', outcome: refusedOutcome(`inbox_${outcome.reason}`) }
  // The ids are the same on every try, so that the server recognises a second delivery.
  if (outcome.kind === 'failed')
    return { kind: 'failed', outcome: { kind: 'retry', reason: `inbox_${outcome.reason}` } }
  const { status, headers } = outcome.response
  if (status >= 200 && status < 300) return { kind: 'taken' }
  const reason = `inbox_http_${status}`
  if (status === 401 || status === 403 || status === 400) return { kind: 'unread', outcome: refusedOutcome(reason) }
  if (status === 404 || status === 410) return { kind: 'gone', outcome: refusedOutcome('inbox_gone') }
  const afterMs = parseRetryAfter(headers.get('retry-after'), nowMs)
  const retry: DeliveryResult = {
    kind: 'retry',
    reason,
    ...(afterMs === undefined ? {} : { afterMs, scope: 'conversation' }),
  }
  if (later.has(status)) return { kind: afterMs === undefined && status === 503 ? 'failed' : 'other', outcome: retry }
  if (status < 500) return { kind: 'other', outcome: refusedOutcome(reason) }
  // Some servers fail on a signature of the new form.
  return { kind: scheme === 'rfc9421' ? 'unread' : 'failed', outcome: retry }
}

function refusedOutcome(reason: string): DeliveryResult {
  return { kind: 'refused', reason }
}

/** Seconds, or a date. */
function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestWaitMs) : undefined
}

// What is known of another server: how it wants requests signed, whether it is down, and which inboxes are gone. A row that
// expires by itself, so that a sender cannot fill the store by having many names.

type RemoteServerState = {
  readonly scheme: SignatureScheme
  /** Failures one after the other. */
  readonly failures: number
  /** Nothing is sent before. */
  readonly restsUntil: number
}

interface RemoteServers {
  read(origin: string): Promise<RemoteServerState>
  /** It answered, whatever it said. */
  answered(origin: string, before: RemoteServerState, scheme?: SignatureScheme): Promise<void>
  /** It did not answer, or with a fault of its own. */
  failed(origin: string, before: RemoteServerState): Promise<void>
}

const hostStateFamily = 'activitypub_host'
const hostStateLifeMs = 14 * 24 * 60 * 60_000
const maxHostStates = 20_000
const manyFailures = 5
const firstRestMs = 5 * 60_000
const longestRestMs = 60 * 60_000

/** The draft first: most servers read nothing else, and all read it. */
const unknownServer: RemoteServerState = { scheme: 'cavage', failures: 0, restsUntil: 0 }

function createHostStateStore({
  ttlStore,
  now,
}: {
  readonly ttlStore: TtlStore
  readonly now: () => number
}): RemoteServers {
  const storeHostState = async (origin: string, state: RemoteServerState): Promise<void> => {
    // A failed write is harmless: it is found out again.
    await ttlStore
      .keep({
        family: hostStateFamily,
        key: origin,
        value: { ...state },
        lifeMs: hostStateLifeMs,
        atMost: maxHostStates,
      })
      .catch(() => false)
  }
  return {
    async read(origin) {
      // A store that does not answer about a host must not keep a reply back.
      return parseHostState(await ttlStore.read(hostStateFamily, origin).catch(() => undefined))
    },
    async answered(origin, before, scheme = before.scheme) {
      if (scheme === before.scheme && before.failures === 0) return
      await storeHostState(origin, { scheme, failures: 0, restsUntil: 0 })
    },
    async failed(origin, before) {
      const failures = before.failures + 1
      const restMs = firstRestMs * 2 ** Math.min(failures - manyFailures, 10)
      const restsUntil = failures < manyFailures ? 0 : now() + Math.min(longestRestMs, restMs)
      await storeHostState(origin, { scheme: before.scheme, failures, restsUntil })
    },
  }
}

function parseHostState(value: JsonObject | undefined): RemoteServerState {
  if (value === undefined) return unknownServer
  const { scheme, failures, restsUntil } = value
  return {
    scheme: scheme === 'rfc9421' ? 'rfc9421' : 'cavage',
    failures: typeof failures === 'number' ? failures : 0,
    restsUntil: typeof restsUntil === 'number' ? restsUntil : 0,
  }
}

// Where an inbox is gone, its followers are removed, and what was still to go there on its own is not sent.

const goneInboxFamily = 'activitypub_gone'
const goneInboxLifeMs = 30 * 24 * 60 * 60_000
const maxGoneInboxes = 10_000
const pageSize = 500

interface GoneInboxes {
  mark(inbox: string): Promise<void>
  /** Not asked about people whom a note answers or names: they wrote, so perhaps they are back. */
  holds(call: InboxCall): Promise<boolean>
}

function createGoneInboxRegistry({
  ttlStore,
  records,
}: {
  readonly ttlStore: TtlStore
  readonly records: Records
}): GoneInboxes {
  return {
    async mark(inbox) {
      await ttlStore.keep({ family: goneInboxFamily, key: inbox, lifeMs: goneInboxLifeMs, atMost: maxGoneInboxes })
      await removeFollowersOfInbox(records, inbox)
    },
    async holds(call) {
      const keeps = call['keeps'] as KeptFacts | undefined
      const isForSomebody = keeps === undefined || keeps.recipients.some((each) => isInboxOf(each, call.inbox))
      return isForSomebody ? false : (await ttlStore.read(goneInboxFamily, call.inbox)) !== undefined
    },
  }
}

async function removeFollowersOfInbox(records: Records, inbox: string): Promise<void> {
  let after: string | undefined
  for (;;) {
    const page = await records.list(followerFamily, { limit: pageSize, ...(after === undefined ? {} : { after }) })
    // Who has an inbox of their own beside a shared one that is gone is asked there the next time.
    for (const { key, value } of page) if (value['inbox'] === inbox) await records.remove(followerFamily, key)
    after = page.at(-1)?.key
    if (page.length < pageSize) return
  }
}

function isInboxOf(
  { inbox, shared_inbox }: { readonly inbox: string; readonly shared_inbox: string | null },
  at: string,
): boolean {
  return inbox === at || shared_inbox === at
}
