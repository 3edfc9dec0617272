// Fetches one document of another server: at most 1 MB and 10 seconds, JSON of the kind that was asked for, signed only where
// asked to.

import {
  checkTarget,
  createUnpinnedFetch,
  type Fields,
  isGatewayError,
  isPlainObject,
  isPublicAddress,
  LruMap,
  parseBoundedJson,
  type SafeFetch,
} from '../../../src/lib/index.ts'
import { isActivityMediaType } from '../vocab.ts'
import { type Absent, toRemoteRefusal } from './remote-cache.ts'

export type Fetched =
  /** `url`: where it came from in the end. */
  { readonly kind: 'document'; readonly json: Fields; readonly url: string } | Absent

type DocumentKind = 'activity' | 'jrd'

export type FetchDocumentDeps = {
  readonly guardedFetch: SafeFetch
  /** Headers that prove that our instance asks. */
  readonly signGet: (url: string) => Promise<Readonly<Record<string, string>>>
  /** Those the operator wrote down. */
  readonly origins: readonly string[]
  readonly userAgent: string
  readonly maxBytes?: number
  readonly timeoutMs?: number
}

export type FetchDocument = (url: string, kind?: DocumentKind) => Promise<Fetched>

const limits = { maxBytes: 1024 * 1024, timeoutMs: 10_000 }
const maxRedirects = 3
const maxKnownHosts = 1000

const wanted: Readonly<Record<DocumentKind, string>> = {
  activity: `application/activity+json, application/ld+json; profile="https://www.w3.org/ns/activitystreams"`,
  jrd: 'application/jrd+json, application/json;q=0.9',
}

export function createDocumentFetcher(deps: FetchDocumentDeps): FetchDocument {
  // Servers that answer only signed requests; only a memory, so that they are asked once and not twice.
  const secure = new LruMap<string, true>(maxKnownHosts)
  return async (url, kind = 'activity') => {
    if (!isSafeIri(url, deps.origins)) return toRemoteRefusal('unsafe_url')
    const { origin } = new URL(url)
    const timer = new AbortController()
    // One span for all of it: headers, body, and the second try.
    const waiting = setTimeout(() => timer.abort(), deps.timeoutMs ?? limits.timeoutMs)
    const asking = { url, kind, signal: timer.signal }
    try {
      // WebFinger is public, and often answered by a redirect, which no signature survives.
      if (kind === 'jrd' || !secure.has(origin)) {
        const plain = await requestDocument(deps, asking, {})
        if (kind === 'jrd' || !mayNeedSignedRequest(plain)) return plain.kind === 'gone' ? { kind: 'gone' } : plain
      }
      const signed = await requestDocument(deps, asking, await deps.signGet(url))
      if (signed.kind === 'document') secure.set(origin, true)
      return signed.kind === 'gone' ? { kind: 'gone' } : signed
    } finally {
      clearTimeout(waiting)
    }
  }
}

type Asking = { readonly url: string; readonly kind: DocumentKind; readonly signal: AbortSignal }
/** `isFinal`: 410, which a signed request would not change. */
type Asked = Fetched & { readonly isFinal?: boolean }

/** A server that hides something from unsigned requests may also say that it is not there. */
function mayNeedSignedRequest(asked: Asked): boolean {
  if (asked.kind === 'gone') return asked.isFinal !== true
  return asked.kind === 'refused' && asked.reason === 'forbidden'
}

async function requestDocument(
  deps: FetchDocumentDeps,
  asking: Asking,
  proof: Readonly<Record<string, string>>,
): Promise<Asked> {
  const { maxBytes = limits.maxBytes, timeoutMs = limits.timeoutMs, origins } = deps
  const { url, kind, signal } = asking
  const outcome = await deps.guardedFetch.fetch(url, {
    headers: { accept: wanted[kind], 'user-agent': deps.userAgent, ...proof },
    origins,
    // A signature holds for one address only.
    maxRedirects: Object.keys(proof).length === 0 ? maxRedirects : 0,
    maxBytes,
    timeoutMs,
    signal,
  })
  if (outcome.kind === 'failed') return { kind: 'unreachable' }
  if (outcome.kind === 'refused') return toFetchRefusal(outcome.reason)
  return readDocument(outcome.response, asking, outcome.url)
}

function toFetchRefusal(reason: string): Absent {
  if (reason === 'redirect') return toRemoteRefusal('redirect')
  return toRemoteRefusal(reason === 'too_large' || reason === 'encoding' ? 'too_large' : 'unsafe_url')
}

async function readDocument(response: Response, { url: asked, kind }: Asking, url: string): Promise<Asked> {
  const cancelBodyAndReturn = async (outcome: Asked): Promise<Asked> => {
    await response.body?.cancel().catch(() => undefined)
    return outcome
  }
  const { status } = response
  // Only its own server can say that something is not there.
  if (status === 404 || status === 410)
    return cancelBodyAndReturn(
      isSameOrigin(asked, url) ? { kind: 'gone', isFinal: status === 410 } : { kind: 'unreachable' },
    )
  if (status === 401 || status === 403) return cancelBodyAndReturn(toRemoteRefusal('forbidden'))
  if (status === 429 || status >= 500) return cancelBodyAndReturn({ kind: 'unreachable' })
  if (status !== 200) return cancelBodyAndReturn(toRemoteRefusal('unexpected_status'))
  if (!isDocumentMediaType(response.headers.get('content-type'), kind))
    return cancelBodyAndReturn(toRemoteRefusal('wrong_media_type'))
  const bytes = await readDocumentBody(response)
  if (!(bytes instanceof Uint8Array)) return bytes
  const json = parseBoundedJson(bytes)
  return json.ok ? { kind: 'document', json: json.value, url } : toRemoteRefusal('malformed')
}

/** A file that a user uploaded is no document of the server's, whatever it says. */
function isDocumentMediaType(contentType: string | null, kind: DocumentKind): boolean {
  if (kind === 'activity') return isActivityMediaType(contentType ?? undefined)
  const name = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase()
  return name === 'application/jrd+json' || name === 'application/json'
}

/** Ends with its signal, like the question: the connection does not outlive it. */
async function readDocumentBody(response: Response): Promise<Uint8Array | Absent> {
  try {
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    return isGatewayError(error, 'bad_request') ? toRemoteRefusal('too_large') : { kind: 'unreachable' }
  }
}

// The guarded fetch also allows the machine's own addresses that the operator wrote down for tests: no others, and no names, since
// a name leads wherever a resolver says.

type LoopbackFetchDeps = { readonly guardedFetch: SafeFetch; readonly fetch: typeof fetch }

const ownAddress = /^(?:127\.0\.0\.1|\[::1\])$/

export function createLoopbackFetch({ guardedFetch, fetch }: LoopbackFetchDeps, origins: readonly string[]): SafeFetch {
  const near = new Set(origins.filter((origin) => ownAddress.test(new URL(origin).hostname)))
  if (near.size === 0) return guardedFetch
  const written = createUnpinnedFetch(fetch)
  return {
    pins: guardedFetch.pins,
    fetch(url, options = {}) {
      const origin = URL.canParse(url) ? new URL(url).origin : ''
      return near.has(origin) ? written.fetch(url, { ...options, origins: [origin] }) : guardedFetch.fetch(url, options)
    },
  }
}

// Reads members of a document as servers write them: alone, in a list, as an object with an id, or not at all; and addresses in
// them.

/** More of anything than this is never needed, and may be meant to be expensive. */
const maxItems = 32

export function toList(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value.slice(0, maxItems) : [value]
}

export function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The first address in it that may be asked, under any of the names that are used for it. */
export function readSafeIri(value: unknown, origins: readonly string[]): string | undefined {
  for (const each of toList(value)) {
    const found = isPlainObject(each) ? (each['id'] ?? each['href'] ?? each['url']) : each
    if (isSafeIri(found, origins)) return found
  }
  return undefined
}

// Addresses in others' documents: which of them may be fetched or kept, and what they have in common.

const maxLength = 1024
/** What a store can index and a header can carry. */
const plain = /^[\x21-\x7e]+$/

/** Whether it is https, public by its looks and short. `origins`: those the operator wrote down may be http, and on this machine. */
export function isSafeIri(text: unknown, origins: readonly string[]): text is string {
  if (typeof text !== 'string' || text.length > maxLength || !plain.test(text)) return false
  const isWrittenDown = URL.canParse(text) && origins.includes(new URL(text).origin)
  const isAddressAllowed = (address: string): boolean => isWrittenDown || isPublicAddress(address)
  return checkTarget(text, { pins: true, origins, isPublic: isAddressAllowed }).ok
}

export function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin
}

/** A fragment names something inside a document. */
export function urlWithoutFragment(iri: string): string {
  return iri.split('#', 1)[0] ?? iri
}

/** As servers compare them: an answer names its address in the parser's spelling. */
export function isSameIri(one: string, other: string): boolean {
  return one === other || (URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href)
}
