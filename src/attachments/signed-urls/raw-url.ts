// A URL as the sender wrote it, taken apart without mending it. `new URL` folds `..`, turns `\` into `/` and drops tabs, so whatever
// it would change is refused instead.
import type { SignedUrlCode } from '../signed-url-code.ts'

export type RawUrl = {
  readonly origin: string
  /** Each decoded once. */
  readonly segments: readonly string[]
  readonly query: readonly (readonly [name: string, value: string])[]
}

export type RawUrlReading =
  | { readonly ok: true; readonly url: RawUrl }
  | { readonly ok: false; readonly code: SignedUrlCode }

const maxUrlLength = 8192
const urlShape = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/\\?#]*)([^?#]*)(?:\?([^#]*))?$/
const forbiddenInSegment = /[/\\%?#\u0000-\u001f\u007f]/

/** `allowed` answers whether this origin is one of ours to read; nothing about a foreign host's path is looked at. */
export function parseRawUrl(raw: string, isAllowedOrigin: (origin: string) => boolean): RawUrlReading {
  const [, scheme, authority, path, query] = urlShape.exec(raw.slice(0, maxUrlLength + 1)) ?? []
  if (scheme === undefined || authority === undefined || raw.length > maxUrlLength)
    return rejectRawUrl(schemeFault(raw))
  if (authority.includes('@')) return rejectRawUrl('SU_CREDENTIALS')
  const origin = normalizeOrigin(scheme, authority)
  if (origin === undefined || !isAllowedOrigin(origin)) {
    return rejectRawUrl(scheme.toLowerCase() === 'https' ? 'SU_HOST' : 'SU_SCHEME')
  }
  const read = parseRawPathAndQuery(raw, path ?? '')
  return 'code' in read
    ? rejectRawUrl(read.code)
    : { ok: true, url: { origin, segments: read.segments, query: parseQueryPairs(query) } }
}

/** The path and query of a request to ourselves; who was addressed is the listener's business. */
export function parseRawPath(raw: string): RawUrlReading {
  const [, , , path, query] = urlShape.exec(raw.startsWith('/') ? `http://self${raw}` : raw) ?? []
  if (path === undefined || raw.length > maxUrlLength) return rejectRawUrl('SU_FORM')
  const read = parseRawPathAndQuery(`http://self${path}`, path)
  return 'code' in read
    ? rejectRawUrl(read.code)
    : { ok: true, url: { origin: '', segments: read.segments, query: parseQueryPairs(query) } }
}

function schemeFault(raw: string): SignedUrlCode {
  return /^https:/i.test(raw) ? 'SU_FORM' : 'SU_SCHEME'
}

/** Undefined: the host is written in a way that only a parser would understand. */
function normalizeOrigin(scheme: string, authority: string): string | undefined {
  const written = `${scheme}://${authority}`.toLowerCase()
  const parsed = URL.canParse(written) ? new URL(written) : undefined
  if (parsed === undefined) return undefined
  const defaultPort = parsed.protocol === 'https:' ? ':443' : ':80'
  return parsed.origin === written || `${parsed.origin}${defaultPort}` === written ? parsed.origin : undefined
}

function parseRawPathAndQuery(
  raw: string,
  path: string,
): { readonly segments: readonly string[] } | { readonly code: SignedUrlCode } {
  if (hasTraversal(path)) return { code: 'SU_TRAVERSAL' }
  if (/[\\\u0000-\u0020\u007f]|%(?![0-9a-f]{2})/i.test(path)) return { code: 'SU_PATH_ENCODING' }
  if (!URL.canParse(raw) || new URL(raw).pathname !== path) return { code: 'SU_PATH_ENCODING' }
  const segments = path.slice(1).split('/').map(decodeSegmentOnce)
  const isClean = segments.every((each) => each !== undefined && each !== '' && !forbiddenInSegment.test(each))
  return isClean ? { segments: segments.map((each) => each ?? '') } : { code: 'SU_PATH_ENCODING' }
}

/** A step up or in place, however its dots and separators are written, also encoded twice. */
function hasTraversal(path: string): boolean {
  const once = path
    .replace(/%(?:25)*2e/gi, '.')
    .replace(/%(?:25)*(?:2f|5c)/gi, '/')
    .replaceAll('\\', '/')
  return once.split('/').some((segment) => segment === '.' || segment === '..')
}

function decodeSegmentOnce(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

function parseQueryPairs(query: string | undefined): readonly (readonly [string, string])[] {
  return [...new URLSearchParams(query ?? '')]
}

function rejectRawUrl(code: SignedUrlCode): RawUrlReading {
  return { ok: false, code }
}
