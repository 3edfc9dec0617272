// The Supabase Storage driver, over its REST interface. Small files in one request, larger ones by resumable uploads (tus 1.0).
import type { Secret } from '../../lib/secret.ts'
import { assertObjectKey, type BlobStore, type ByteRange, isShownInline } from '../blob-store.ts'
import {
  type BodyPart,
  drainResponse,
  fetchFromStore,
  mayHaveTakenEffect,
  readBodyParts,
  requireRangedBody,
  storeTimeouts,
  unexpectedStoreResponseError,
} from './store-request.ts'

export type SupabaseStoreOptions = {
  /** `https://{ref}.supabase.co`, or where the project is hosted. */
  readonly projectUrl: string
  /** A key that may write to the bucket: the project's secret key. */
  readonly key: Secret
  readonly bucket: string
  readonly name?: string
  /** Further hosts of the same project, such as a domain of one's own; the hosts that follow from `projectUrl` are known. */
  readonly hosts?: readonly string[]
  readonly fetch: typeof fetch
  readonly timeoutMs?: number
  readonly idleMs?: number
}

/** The size its resumable uploads want for every part but the last; below it one request is the recommended way. */
const partBytes = 6 * 1024 * 1024

export function createSupabaseStore(options: SupabaseStoreOptions): BlobStore {
  const { bucket, name = 'supabase' } = options
  const base = `${options.projectUrl.replace(/\/+$/, '')}/storage/v1`
  const send = createSupabaseClient(options, base)
  const supabaseObjectPath = (key: string) => {
    assertObjectKey(key)
    return `${bucket}/${key}`
  }
  return {
    name,
    bucket,
    write: (key, body, { mimeType }) =>
      writeSupabaseObject(send, { bucket, key, path: supabaseObjectPath(key), mimeType }, body),
    read: (key, range) => readSupabaseObject(send, supabaseObjectPath(key), range),
    remove: (key) => removeSupabaseObject(send, supabaseObjectPath(key)),
    signUrl: async (key, seconds) => {
      const signed = await signSupabaseObject(send, supabaseObjectPath(key), seconds)
      return `${base}${signed}${isShownInline(key) ? '' : '&download='}`
    },
    urls: { hosts: listSupabaseHosts(options), form: 'supabase' },
  }
}

type NewObject = { readonly bucket: string; readonly key: string; readonly path: string; readonly mimeType: string }

async function writeSupabaseObject(
  send: SupabaseClient,
  object: NewObject,
  body: ReadableStream<Uint8Array>,
): Promise<void> {
  const parts = readBodyParts(body, partBytes)
  const first = await parts.next()
  if (first.done === true) return
  try {
    if (first.value.isLast) await postSupabaseObject(send, object, first.value.bytes)
    else await uploadSupabaseParts(send, object, first.value, parts)
  } catch (error) {
    await parts.return()
    if (mayHaveTakenEffect(error)) await removeSupabaseObject(send, object.path).catch(() => {})
    throw error
  }
}

async function postSupabaseObject(
  send: SupabaseClient,
  { path, mimeType }: NewObject,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const headers = { 'content-type': mimeType, 'x-upsert': 'false' }
  const response = await send(`/object/${path}`, { method: 'POST', headers, body })
  if (!response.ok) throw await unexpectedStoreResponseError(response, 'a write')
  await drainResponse(response)
}

async function readSupabaseObject(
  send: SupabaseClient,
  path: string,
  range: ByteRange | undefined,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }
  const response = await send(`/object/authenticated/${path}`, { method: 'GET', headers })
  if (range !== undefined && response.status === 206) return requireRangedBody(response, range)
  if (range === undefined && response.status === 200) return response.body ?? new Blob([]).stream()
  if (await isObjectMissing(response)) return undefined
  throw await unexpectedStoreResponseError(response, 'a read')
}

async function removeSupabaseObject(send: SupabaseClient, path: string): Promise<void> {
  const response = await send(`/object/${path}`, { method: 'DELETE' })
  if (response.ok) return drainResponse(response)
  if (!(await isObjectMissing(response))) throw await unexpectedStoreResponseError(response, 'a removal')
}

async function signSupabaseObject(send: SupabaseClient, path: string, expiresIn: number): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ expiresIn })
  const response = await send(`/object/sign/${path}`, { method: 'POST', headers, body })
  if (!response.ok) throw await unexpectedStoreResponseError(response, 'a signature')
  const answer: unknown = await response.json().catch(() => undefined)
  const signed = typeof answer === 'object' && answer !== null && 'signedURL' in answer ? answer.signedURL : undefined
  if (typeof signed !== 'string' || !signed.startsWith(`/object/sign/${path}?token=`)) {
    throw await unexpectedStoreResponseError(response, 'a signature')
  }
  return signed
}

/** Most of its refusals are a 400 that tells the true status in its body. */
async function isObjectMissing(response: Response): Promise<boolean> {
  if (response.status === 404) return true
  if (response.status !== 400) return false
  const answer: unknown = await response.json().catch(() => undefined)
  return typeof answer === 'object' && answer !== null && 'statusCode' in answer && String(answer.statusCode) === '404'
}

function createSupabaseClient(options: SupabaseStoreOptions, base: string): SupabaseClient {
  const deps = { ...storeTimeouts, ...options }
  return (path, init) => {
    const key = options.key.reveal()
    const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${key}`, apikey: key }
    return fetchFromStore(deps, `${base}${path}`, { ...init, headers })
  }
}

/** Large files have a host of their own at Supabase; both name the same objects. */
function listSupabaseHosts({ projectUrl, hosts = [] }: SupabaseStoreOptions): readonly string[] {
  const { host } = new URL(projectUrl)
  const ref = /^([a-z0-9-]+)\.supabase\.co$/.exec(host)?.[1]
  const known = ref === undefined ? [host] : [host, `${ref}.storage.supabase.co`]
  return [...new Set([...known, ...hosts.map((each) => each.toLowerCase())])]
}

// `path` begins after `/storage/v1`.

type SupabaseClient = (path: string, init: RequestInit) => Promise<Response>

// A resumable upload (tus 1.0.0 with creation and creation-defer-length): the length is told with the last part, because a body
// that is still arriving has none yet. We resume nothing; it is here for its bounded parts.

export type TusUpload = { readonly bucket: string; readonly key: string; readonly mimeType: string }

const tusVersion = { 'tus-resumable': '1.0.0' }

async function uploadSupabaseParts(
  send: SupabaseClient,
  facts: TusUpload,
  first: BodyPart,
  rest: AsyncIterable<BodyPart>,
): Promise<void> {
  const place = await beginTusUpload(send, facts)
  try {
    let offset = await patchTusUpload(send, place, 0, first)
    for await (const part of rest) offset = await patchTusUpload(send, place, offset, part)
  } catch (error) {
    await send(place, { method: 'DELETE', headers: tusVersion }).then(drainResponse, () => {})
    throw error
  }
}

async function beginTusUpload(send: SupabaseClient, { bucket, key, mimeType }: TusUpload): Promise<string> {
  const metadata = Object.entries({ bucketName: bucket, objectName: key, contentType: mimeType })
  const headers = {
    ...tusVersion,
    'upload-defer-length': '1',
    'upload-metadata': metadata.map(([name, value]) => `${name} ${btoa(value)}`).join(','),
    'x-upsert': 'false',
  }
  const response = await send('/upload/resumable', { method: 'POST', headers })
  // Of the place it names only the last segment is taken: our key goes to no other host than the one we were given.
  const id = /\/([A-Za-z0-9_=-]{1,2048})$/.exec(response.headers.get('location') ?? '')?.[1]
  if (response.status !== 201 || id === undefined)
    throw await unexpectedStoreResponseError(response, 'the beginning of an upload')
  await drainResponse(response)
  return `/upload/resumable/${id}`
}

/** The new offset. */
async function patchTusUpload(
  send: SupabaseClient,
  place: string,
  offset: number,
  { bytes, isLast }: BodyPart,
): Promise<number> {
  const end = offset + bytes.byteLength
  const headers = {
    ...tusVersion,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
    'x-upsert': 'false',
    ...(isLast ? { 'upload-length': String(end) } : {}),
  }
  const response = await send(place, { method: 'PATCH', headers, body: bytes })
  if (response.status !== 204 || response.headers.get('upload-offset') !== String(end)) {
    throw await unexpectedStoreResponseError(response, 'a part of an upload')
  }
  return end
}
