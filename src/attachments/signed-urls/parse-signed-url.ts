// A signed URL to the object it names. This grants nothing: whose the object is, its descriptor says.
import type { ObjectAddress } from '../../db/attachments.ts'
import { type FileRejection, rejectFile } from '../refusals.ts'
import type { SignedUrlCode } from '../signed-url-code.ts'
import { parseRawUrl, type RawUrl } from './raw-url.ts'
import { parseS3Signature } from './s3-signature.ts'
import { parseSupabaseToken } from './supabase-token.ts'
import type { SignedUrlOrigin } from './url-place.ts'

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
  const results = candidates.map((place) => parseAtOrigin(place, read.url))
  return results.find((result) => result.kind === 'parsed') ?? results[0] ?? rejectFile('SU_HOST')
}

function parseAtOrigin(place: SignedUrlOrigin, url: RawUrl): SignedUrl | FileRejection {
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
  const rest = place.form === 's3' ? s3KeySegments(place, segments) : segmentsAfterSignEndpoint(segments)
  if (rest === undefined) return { code: 'SU_FORM' }
  const [bucket, ...path] = rest
  if (bucket === undefined || path.length === 0) return { code: 'SU_FORM' }
  const joined = path.join('/')
  return joined.length > maxPathLength ? { code: 'SU_PREFIX' } : { value: { bucket, path: joined } }
}

function s3KeySegments({ hostBucket }: SignedUrlOrigin, segments: readonly string[]): readonly string[] {
  return hostBucket === undefined ? segments : [hostBucket, ...segments]
}

function segmentsAfterSignEndpoint(segments: readonly string[]): readonly string[] | undefined {
  const endpoint = signEndpoints.find((each) => segments.join('/').startsWith(`${each}/`))
  return endpoint === undefined ? undefined : segments.slice(endpoint.split('/').length)
}
