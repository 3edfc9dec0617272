// Parses a signed URL into the object it names. This grants nothing: whose the object is, its descriptor says.

import { decodeJwt } from 'jose'
import type { ObjectAddress } from '../db/attachments.ts'
import { type FileRejection, rejectFile, type SignedUrlCode } from './attachment.ts'
import type { BlobStore, StoreUrls } from './blob-store.ts'

export type SignedUrl = ObjectAddress & {
  readonly kind: 'parsed'
  readonly form: SignedUrlOrigin['form']
  /** Null: the URL does not say, or not in a way that can be read without its key. */
  readonly expiresAtMs: number | null
  /** Of our own form and of Supabase's. */
  readonly token: string | null
}

/** What is left of a URL once its endpoint is recognised: bucket first, then the path within it. */
type ObjectLocation = { readonly bucket: string; readonly path: string }
type ParseResult<Value> = { readonly value: Value } | { readonly code: SignedUrlCode }

const maxPathLength = 1024
const signEndpoints = ['storage/v1/object/sign', 'storage/v1/render/image/sign']

export function parseSignedUrl(raw: string, places: readonly SignedUrlOrigin[]): SignedUrl | FileRejection {
  const read = parseRawUrl(raw, (origin) => places.some((place) => place.origin === origin))
  if (!read.ok) return rejectFile(read.code)
  const candidates = places.filter((place) => place.origin === read.url.origin)
  // Several stores may live at one host; the one that has the bucket answers, else the first one says what is wrong.
  const results = candidates.map((place) => parseUrlOfKnownOrigin(place, read.url))
  return results.find((result) => result.kind === 'parsed') ?? results[0] ?? rejectFile('SU_HOST')
}

function parseUrlOfKnownOrigin(place: SignedUrlOrigin, url: RawUrl): SignedUrl | FileRejection {
  const location = parseObjectLocation(place, url)
  if ('code' in location) return rejectFile(location.code)
  const { bucket, path } = location.value
  const allowed = place.buckets.find((each) => each.bucket === bucket)
  if (allowed === undefined) return rejectFile('SU_BUCKET')
  if (!allowed.prefixes.some((prefix) => path.startsWith(prefix))) return rejectFile('SU_PREFIX')
  const signature =
    place.form === 's3' ? parseS3Signature(url.query) : parseSupabaseToken(url.query, `${bucket}/${path}`)
  if ('code' in signature) return rejectFile(signature.code)
  const { expiresAtMs, token } = signature
  return { kind: 'parsed', form: place.form, store: allowed.store, bucket, path, expiresAtMs, token }
}

function parseObjectLocation(place: SignedUrlOrigin, { segments }: RawUrl): ParseResult<ObjectLocation> {
  const rest = place.form === 's3' ? s3BucketAndKeySegments(place, segments) : segmentsAfterSignEndpoint(segments)
  if (rest === undefined) return { code: 'SU_FORM' }
  const [bucket, ...path] = rest
  if (bucket === undefined || path.length === 0) return { code: 'SU_FORM' }
  const joined = path.join('/')
  return joined.length > maxPathLength ? { code: 'SU_PREFIX' } : { value: { bucket, path: joined } }
}

function s3BucketAndKeySegments({ hostBucket }: SignedUrlOrigin, segments: readonly string[]): readonly string[] {
  return hostBucket === undefined ? segments : [hostBucket, ...segments]
}

function segmentsAfterSignEndpoint(segments: readonly string[]): readonly string[] | undefined {
  const endpoint = signEndpoints.find((each) => segments.join('/').startsWith(`${each}/`))
  return endpoint === undefined ? undefined : segments.slice(endpoint.split('/').length)
}

// A URL is taken apart as the sender wrote it. `new URL` folds `..`, turns `\` into `/` and drops tabs, so whatever it would
// change is refused instead.

type RawUrl = {
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
function parseRawUrl(raw: string, isAllowedOrigin: (origin: string) => boolean): RawUrlReading {
  const [, scheme, authority, path, query] = urlShape.exec(raw.slice(0, maxUrlLength + 1)) ?? []
  if (scheme === undefined || authority === undefined || raw.length > maxUrlLength)
    return rejectRawUrl(chooseSchemeFaultCode(raw))
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
export function parseOwnRequestUrl(raw: string): RawUrlReading {
  const [, , , path, query] = urlShape.exec(raw.startsWith('/') ? `http://self${raw}` : raw) ?? []
  if (path === undefined || raw.length > maxUrlLength) return rejectRawUrl('SU_FORM')
  const read = parseRawPathAndQuery(`http://self${path}`, path)
  return 'code' in read
    ? rejectRawUrl(read.code)
    : { ok: true, url: { origin: '', segments: read.segments, query: parseQueryPairs(query) } }
}

function chooseSchemeFaultCode(raw: string): SignedUrlCode {
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

// The query of a presigned S3 URL (Signature Version 4), read without its key: complete, once each, and for reading.

const maxExpirySeconds = 604_800
const requiredS3Params = {
  'x-amz-algorithm': /^AWS4-HMAC-SHA256$/,
  'x-amz-credential': /^[^/]{1,256}\/\d{8}\/[a-z0-9-]{1,64}\/s3\/aws4_request$/,
  'x-amz-date': /^\d{8}T\d{6}Z$/,
  'x-amz-expires': /^\d{1,6}$/,
  'x-amz-signedheaders': /^(?:[a-z0-9-]+;)*host(?:;[a-z0-9-]+)*$/,
  'x-amz-signature': /^[0-9a-f]{64}$/,
} as const
/** Parameters of other acts than reading one whole object. */
const foreignActs = /^(?:uploadid|partnumber|uploads|acl|policy|tagging|delete|torrent|list-type)$/

function parseS3Signature(query: readonly (readonly [name: string, value: string])[]): SignatureReading {
  const pairs = query.map(([name, value]) => [name.toLowerCase(), value] as const)
  const ofSignature = pairs.filter(([name]) => name.startsWith('x-amz-') || name === 'x-id').map(([name]) => name)
  if (new Set(ofSignature).size !== ofSignature.length) return { code: 'SU_DUP_PARAM' }
  const values = new Map(pairs)
  if (!values.has('x-amz-signature')) return { code: 'SU_FORM' }
  if (pairs.some(([name]) => foreignActs.test(name)) || (values.get('x-id') ?? 'GetObject') !== 'GetObject') {
    return { code: 'SU_SCOPE' }
  }
  const isComplete = Object.entries(requiredS3Params).every(([name, pattern]) => pattern.test(values.get(name) ?? ''))
  const seconds = Number(values.get('x-amz-expires'))
  const signedAt = parseAmzDate(values.get('x-amz-date') ?? '')
  if (!isComplete || Number.isNaN(signedAt) || seconds < 1 || seconds > maxExpirySeconds) {
    return { code: 'SU_TOKEN_MALFORMED' }
  }
  return { expiresAtMs: signedAt + seconds * 1000, token: null }
}

function parseAmzDate(basic: string): number {
  return Date.parse(basic.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

// The token of a Supabase URL is read without its key: it must at least speak of this object, and of reading it.

type SignatureReading =
  | { readonly expiresAtMs: number | null; readonly token: string | null }
  | { readonly code: SignedUrlCode }

const opaqueToken = /^[A-Za-z0-9_-]{1,512}$/

function parseSupabaseToken(
  query: readonly (readonly [name: string, value: string])[],
  object: string,
): SignatureReading {
  const tokens = query.filter(([name]) => name === 'token').map(([, value]) => value)
  if (tokens.length > 1) return { code: 'SU_DUP_PARAM' }
  const [token = ''] = tokens
  // A word without dots is no JWT, so there is nothing in it that could contradict the URL.
  if (opaqueToken.test(token)) return { expiresAtMs: null, token }
  const claims = decodeTokenClaims(token)
  if (claims === undefined) return { code: 'SU_TOKEN_MALFORMED' }
  if (claims['upsert'] !== undefined || (claims['scope'] ?? 'download') !== 'download') return { code: 'SU_SCOPE' }
  if (claims['url'] !== object) return { code: 'SU_TOKEN_MISMATCH' }
  return { expiresAtMs: typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : null, token }
}

function decodeTokenClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return decodeJwt(token)
  } catch {
    return undefined
  }
}

// Signed URLs may come from our own origin, and from stores that sign URLs themselves.

/** Our own handles look like Supabase's; only their origin and their key are ours. */
export type SignedUrlOrigin = {
  readonly form: StoreUrls['form'] | 'own'
  /** Scheme, host and port, as a URL shows them. */
  readonly origin: string
  /** Set where the host itself names the bucket. */
  readonly hostBucket?: string
  readonly buckets: readonly UrlBucket[]
}

export type UrlBucket = { readonly store: string; readonly bucket: string; readonly prefixes: readonly string[] }

export function listSignedUrlOrigins(
  stores: readonly Pick<BlobStore, 'name' | 'bucket' | 'urls'>[],
  ownOrigin: string,
  prefixes: readonly string[],
): readonly SignedUrlOrigin[] {
  const toUrlBucket = ({ name, bucket }: Pick<BlobStore, 'name' | 'bucket'>) => ({ store: name, bucket, prefixes })
  const own: SignedUrlOrigin = { form: 'own', origin: ownOrigin, buckets: stores.map(toUrlBucket) }
  const foreign = stores.flatMap((store) =>
    store.urls === undefined ? [] : listStoreOrigins(store.urls, toUrlBucket(store)),
  )
  return [own, ...foreign]
}

function listStoreOrigins(
  { hosts, form, isVirtualHosted = false }: StoreUrls,
  bucket: UrlBucket,
): readonly SignedUrlOrigin[] {
  return hosts.flatMap((host) => {
    const byPath: SignedUrlOrigin = { form, origin: `https://${host}`, buckets: [bucket] }
    if (form !== 's3' || !isVirtualHosted) return [byPath]
    return [byPath, { ...byPath, origin: `https://${bucket.bucket}.${host}`, hostBucket: bucket.bucket }]
  })
}
