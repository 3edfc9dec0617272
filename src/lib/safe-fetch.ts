// Safe fetch, the part that is the same on every runtime: every redirect judged, time and size bounded, credentials kept at home.
import { GatewayError } from './errors.ts'
import type { FetchRefusal, SafeFetch, SafeFetchOptions, SafeFetchResult } from './safe-fetch-port.ts'

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
    const next = readRedirectUrl(answer, url)
    if (hops >= allowed || next === undefined || method === 'POST') return { kind: 'refused', reason: 'redirect' }
    const isSameOrigin = next.origin === url.origin
    if (!isSameOrigin) headers = withoutCredentialHeaders(headers)
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

function readRedirectUrl({ headers }: Response, from: URL): URL | undefined {
  const location = headers.get('location')
  return location !== null && URL.canParse(location, from.href) ? new URL(location, from.href) : undefined
}

const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

function withoutCredentialHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
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
  const body = isBodiless || response.body === null ? null : limitResponseStream(response.body, maxBytes)
  return { kind: 'answered', response: new Response(body, { status, statusText, headers }), url: url.href }
}

/** Pulled, never pushed: what is not read is not taken from the other side. What went wrong there is told without details. */
function limitResponseStream(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let seen = 0
  return new ReadableStream({
    async pull(controller) {
      const read = await reader.read().catch(() => undefined)
      if (read === undefined) return controller.error(responseBrokenOffError())
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

function responseBrokenOffError(): GatewayError {
  return new GatewayError('provider_unavailable', '[fetch] the answer broke off; ask again', { retryable: true })
}

function responseTooLargeError(maxBytes: number): GatewayError {
  return new GatewayError('bad_request', `[fetch] the answer is larger than ${maxBytes} bytes; it was not read on`)
}

// Whether a URL from outside may be requested at all, before anything is resolved or connected.

export type TargetRules = Pick<SafeFetchOptions, 'hosts' | 'origins'> & {
  /** False: the fetch resolves names by itself, so that nothing is known about the address. */
  readonly pins: boolean
  readonly isPublic?: (address: string) => boolean
}

export type TargetCheck =
  /** `literal`: the address it names, where it names no host. */
  | { readonly ok: true; readonly url: URL; readonly literal: string | undefined }
  | { readonly ok: false; readonly reason: FetchRefusal }

/** Names that stand for something near by, whatever a resolver says. */
const nearNames = /^(?:[^.]+|.*\.(?:localhost|local|internal|home\.arpa))$/

export function checkTarget(text: string, rules: TargetRules): TargetCheck {
  if (!URL.canParse(text)) return refuseTarget('bad_url')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuseTarget('scheme')
  if (url.username !== '' || url.password !== '') return refuseTarget('credentials')
  const isWrittenDown = rules.origins?.includes(url.origin) === true
  if (url.protocol === 'http:' && !isWrittenDown) return refuseTarget('scheme')
  // The parser leaves out the port that goes with the scheme.
  if (url.port !== '' && !isWrittenDown) return refuseTarget('port')
  if (url.hostname.endsWith('.')) return refuseTarget('host')
  if (rules.hosts !== undefined && !rules.hosts.includes(url.hostname)) return refuseTarget('host')
  return checkTargetHost(url, rules, isWrittenDown)
}

function checkTargetHost(url: URL, rules: TargetRules, isWrittenDown: boolean): TargetCheck {
  const literal = readIpLiteral(url)
  if (literal !== undefined) {
    if (!rules.pins) return isWrittenDown ? { ok: true, url, literal } : refuseTarget('address')
    const { isPublic = isPublicAddress } = rules
    return isPublic(literal) ? { ok: true, url, literal } : refuseTarget('address')
  }
  return nearNames.test(url.hostname) && !isWrittenDown ? refuseTarget('address') : { ok: true, url, literal }
}

/** Every spelling of an IPv4 (decimal, octal, hex, short) has become four numbers in the parser's hands. */
function readIpLiteral({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname) ? hostname : undefined
}

function refuseTarget(reason: FetchRefusal): TargetCheck {
  return { ok: false, reason }
}

// Which addresses are of the public internet (IANA's special-purpose registries). What cannot be read is not.

type Block = readonly [base: number, bits: number]

/** IPv4 that is private, local, shared, reserved, for documentation, or for many. */
const closedV4: readonly Block[] = [
  ipv4Block('0.0.0.0', 8),
  ipv4Block('10.0.0.0', 8),
  ipv4Block('100.64.0.0', 10),
  ipv4Block('127.0.0.0', 8),
  ipv4Block('169.254.0.0', 16),
  ipv4Block('172.16.0.0', 12),
  ipv4Block('192.0.0.0', 24),
  ipv4Block('192.0.2.0', 24),
  ipv4Block('192.88.99.0', 24),
  ipv4Block('192.168.0.0', 16),
  ipv4Block('198.18.0.0', 15),
  ipv4Block('198.51.100.0', 24),
  ipv4Block('203.0.113.0', 24),
  ipv4Block('224.0.0.0', 4),
  ipv4Block('240.0.0.0', 4),
]

export function isPublicAddress(address: string): boolean {
  const four = parseIpv4(address)
  if (four !== undefined) return isPublicIpv4(four)
  const six = parseIpv6(address)
  return six !== undefined && isPublicIpv6(six)
}

function isPublicIpv4(address: number): boolean {
  return !closedV4.some(([base, bits]) => address >>> (32 - bits) === base >>> (32 - bits))
}

/** Only 2000::/3 was ever given out, and of it not what tunnels, documents or identifies; the rest stands for an IPv4. */
function isPublicIpv6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups
  const areGroupsZero = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0)
  const isMapped = areGroupsZero(0, 5) && groups[5] === 0xffff
  const isTranslated = first === 0x64 && second === 0xff9b && areGroupsZero(2, 6)
  if (isMapped || isTranslated) return isPublicIpv4(readEmbeddedIpv4(groups))
  if (first >>> 13 !== 1) return false
  const isSpecial = first === 0x2001 && second < 0x200
  const isDocumentation = (first === 0x2001 && second === 0xdb8) || (first === 0x3fff && second < 0x1000)
  return !isSpecial && !isDocumentation && first !== 0x2002
}

function readEmbeddedIpv4(groups: readonly number[]): number {
  return ((groups[6] ?? 0) * 0x1_0000 + (groups[7] ?? 0)) >>> 0
}

/** Four decimal numbers, as a resolver or the URL parser writes them; other spellings are refused. */
function parseIpv4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (match === null) return undefined
  const octets = match.slice(1).map(Number)
  return octets.every((octet) => octet <= 255) ? octets.reduce((sum, octet) => sum * 256 + octet, 0) : undefined
}

function parseIpv6(text: string): readonly number[] | undefined {
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !text.includes(':')) return undefined
  const [head = '', tail, more] = text.split('::')
  if (more !== undefined) return undefined
  const left = parseIpv6Groups(head)
  const right = tail === undefined ? [] : parseIpv6Groups(tail)
  if (left === undefined || right === undefined) return undefined
  const missing = 8 - left.length - right.length
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined
  return [...left, ...Array.from({ length: missing }, () => 0), ...right]
}

function parseIpv6Groups(text: string): readonly number[] | undefined {
  if (text === '') return []
  const words = text.split(':')
  const last = words.at(-1) ?? ''
  const four = last.includes('.') ? parseIpv4(last) : undefined
  if (last.includes('.') && four === undefined) return undefined
  const hex = four === undefined ? words : words.slice(0, -1)
  if (!hex.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return undefined
  const groups = hex.map((word) => Number.parseInt(word, 16))
  return four === undefined ? groups : [...groups, four >>> 16, four & 0xffff]
}

function ipv4Block(base: string, bits: number): Block {
  return [parseIpv4(base) ?? 0, bits]
}
