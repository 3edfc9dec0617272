// Guarded fetch, the part that is the same everywhere: every hop judged, time and size bounded, credentials kept at home.
import {
  type FetchRefusal,
  GatewayError,
  type SafeFetch,
  type SafeFetchOptions,
  type SafeFetchResult,
} from '../contract/index.ts'
import { checkTarget, type TargetCheck } from './guarded-target.ts'

const mostRedirects = 3
const defaultTimeoutMs = 10_000
const defaultMaxBytes = 25 * 1024 * 1024

export type DialRequest = {
  readonly url: URL
  /** The address the URL itself names, already judged. */
  readonly literal: string | undefined
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array<ArrayBuffer> | undefined
  readonly signal: AbortSignal
  /** Asked right before its first byte. */
  readonly mayLeave: () => boolean
}

/** One request to one target, redirects left alone. Throws when nothing could be reached. */
export type Dial = (request: DialRequest) => Promise<Response | FetchRefusal>

export type SafeFetchDeps = {
  readonly pins: boolean
  readonly dial: Dial
  readonly isPublic?: (address: string) => boolean
}

export function createSafeFetch(deps: SafeFetchDeps): SafeFetch {
  return {
    pins: deps.pins,
    async fetch(url, options = {}) {
      // A timer of our own: it must not end a body whose headers came in time.
      const timer = new AbortController()
      const waiting = setTimeout(() => timer.abort(), options.timeoutMs ?? defaultTimeoutMs)
      const signals = [timer.signal, ...(options.signal === undefined ? [] : [options.signal])]
      try {
        return await fetchFollowingRedirects(deps, url, options, AbortSignal.any(signals))
      } catch {
        // What a client says about a failed request may hold its URL; the caller is told no more than this.
        if (options.signal?.aborted === true) return { kind: 'failed', reason: 'aborted' }
        return { kind: 'failed', reason: timer.signal.aborted ? 'timeout' : 'unreachable' }
      } finally {
        clearTimeout(waiting)
      }
    },
  }
}

/** Over the runtime's own fetch, which resolves names by itself: no IP literals, and no redirects, since the address cannot be pinned. */
export function createUnpinnedFetch(fetch: typeof globalThis.fetch): SafeFetch {
  return createSafeFetch({
    pins: false,
    async dial({ url, method, headers, body, signal, mayLeave }) {
      if (!mayLeave()) throw tooLateError()
      const sent = body === undefined ? {} : { body }
      return fetch(url.href, { method, headers, redirect: 'manual', signal, ...sent })
    },
  })
}

async function fetchFollowingRedirects(
  deps: SafeFetchDeps,
  first: string,
  options: SafeFetchOptions,
  signal: AbortSignal,
): Promise<SafeFetchResult> {
  const allowed = deps.pins ? Math.min(options.maxRedirects ?? 0, mostRedirects) : 0
  let target = checkFetchTarget(deps, first, options)
  let headers = options.headers ?? {}
  const { mayLeave = () => true } = options
  for (let hops = 0; ; hops += 1) {
    if (!target.ok) return { kind: 'refused', reason: target.reason }
    const { url, literal } = target
    const method = options.method ?? 'GET'
    const answer = await deps.dial({ url, literal, method, headers, body: options.body, signal, mayLeave })
    if (typeof answer === 'string') return { kind: 'refused', reason: answer }
    if (!isRedirect(answer)) return limitResponseSize(answer, url, options.maxBytes ?? defaultMaxBytes)
    await answer.body?.cancel()
    const next = nextUrl(answer, url)
    if (hops >= allowed || next === undefined || method === 'POST') return { kind: 'refused', reason: 'redirect' }
    const isSameOrigin = next.origin === url.origin
    if (!isSameOrigin) headers = withoutCredentials(headers)
    // What the operator wrote down was for us to call, not for a remote server to redirect us to.
    target = checkFetchTarget(deps, next.href, isSameOrigin ? options : { ...options, origins: [] })
  }
}

function checkFetchTarget(deps: SafeFetchDeps, url: string, { hosts, origins }: SafeFetchOptions): TargetCheck {
  return checkTarget(url, {
    pins: deps.pins,
    ...(hosts === undefined ? {} : { hosts }),
    ...(origins === undefined ? {} : { origins }),
    ...(deps.isPublic === undefined ? {} : { isPublic: deps.isPublic }),
  })
}

/** Some runtimes show a redirect as it came, others only that there was one; not all of them know that word. */
function isRedirect({ status, type }: { readonly status: number; readonly type: string }): boolean {
  return type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status)
}

function nextUrl({ headers }: Response, from: URL): URL | undefined {
  const location = headers.get('location')
  return location !== null && URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
}

const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

function withoutCredentials(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !credentialHeaders.has(name.toLowerCase())))
}

async function limitResponseSize(response: Response, url: URL, maxBytes: number): Promise<SafeFetchResult> {
  const announced = Number(response.headers.get('content-length') ?? 0)
  const isEncoded = response.headers.has('content-encoding')
  if (announced > maxBytes && !isEncoded) {
    await response.body?.cancel()
    return { kind: 'refused', reason: 'too_large' }
  }
  const { status, statusText, headers } = response
  const isBodiless = [101, 204, 205, 304].includes(status)
  const body = isBodiless || response.body === null ? null : limitStream(response.body, maxBytes)
  return { kind: 'answered', response: new Response(body, { status, statusText, headers }), url: url.href }
}

/** Pulled, never pushed: what is not read is not taken from the other side. What went wrong there is told without details. */
function limitStream(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let seen = 0
  return new ReadableStream({
    async pull(controller) {
      const read = await reader.read().catch(() => undefined)
      if (read === undefined) return controller.error(brokenOff())
      if (read.done) return controller.close()
      seen += read.value.byteLength
      if (seen <= maxBytes) return controller.enqueue(read.value)
      controller.error(responseTooLargeError(maxBytes))
      await reader.cancel().catch(() => undefined)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** For the code that connects: nothing was sent. */
export function tooLateError(): Error {
  return new DOMException('too late to be sent', 'TimeoutError')
}

function brokenOff(): GatewayError {
  return new GatewayError('provider_unavailable', '[fetch] the answer broke off; ask again', { retryable: true })
}

function responseTooLargeError(maxBytes: number): GatewayError {
  return new GatewayError('bad_request', `[fetch] the answer is larger than ${maxBytes} bytes; it was not read on`)
}
