// Files in Supabase Storage, over its REST interface. Small ones in one request, larger ones by its resumable uploads (tus 1.0).
import type { Secret } from '../../../contract/index.ts'
import type { BlobStore, ByteRange } from '../../blob-store.ts'
import { assertKey } from '../object-key.ts'
import { rangedBody } from '../ranged-body.ts'
import { readParts } from '../read-parts.ts'
import { isShownInPlace } from '../signed-disposition.ts'
import { drain, mayHaveHappened, storeRequest, storeTimeouts, unexpected } from '../store-request.ts'
import type { SupabaseClient } from './supabase-client.ts'
import { uploadResumably } from './upload-resumably.ts'

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
  const send = supabaseClient(options, base)
  const pathOf = (key: string) => {
    assertKey(key)
    return `${bucket}/${key}`
  }
  return {
    name,
    bucket,
    write: (key, body, { mimeType }) => writeObject(send, { bucket, key, path: pathOf(key), mimeType }, body),
    read: (key, range) => readObject(send, pathOf(key), range),
    remove: (key) => removeObject(send, pathOf(key)),
    signUrl: async (key, seconds) => {
      const signed = await signObject(send, pathOf(key), seconds)
      return `${base}${signed}${isShownInPlace(key) ? '' : '&download='}`
    },
    urls: { hosts: hostsOf(options), form: 'supabase' },
  }
}

type NewObject = { readonly bucket: string; readonly key: string; readonly path: string; readonly mimeType: string }

async function writeObject(send: SupabaseClient, object: NewObject, body: ReadableStream<Uint8Array>): Promise<void> {
  const parts = readParts(body, partBytes)
  const first = await parts.next()
  if (first.done === true) return
  try {
    if (first.value.isLast) await postObject(send, object, first.value.bytes)
    else await uploadResumably(send, object, first.value, parts)
  } catch (error) {
    await parts.return()
    if (mayHaveHappened(error)) await removeObject(send, object.path).catch(() => {})
    throw error
  }
}

async function postObject(
  send: SupabaseClient,
  { path, mimeType }: NewObject,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const headers = { 'content-type': mimeType, 'x-upsert': 'false' }
  const response = await send(`/object/${path}`, { method: 'POST', headers, body })
  if (!response.ok) throw await unexpected(response, 'a write')
  await drain(response)
}

async function readObject(
  send: SupabaseClient,
  path: string,
  range: ByteRange | undefined,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }
  const response = await send(`/object/authenticated/${path}`, { method: 'GET', headers })
  if (range !== undefined && response.status === 206) return rangedBody(response, range)
  if (range === undefined && response.status === 200) return response.body ?? new Blob([]).stream()
  if (await isMissing(response)) return undefined
  throw await unexpected(response, 'a read')
}

async function removeObject(send: SupabaseClient, path: string): Promise<void> {
  const response = await send(`/object/${path}`, { method: 'DELETE' })
  if (response.ok) return drain(response)
  if (!(await isMissing(response))) throw await unexpected(response, 'a removal')
}

async function signObject(send: SupabaseClient, path: string, expiresIn: number): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ expiresIn })
  const response = await send(`/object/sign/${path}`, { method: 'POST', headers, body })
  if (!response.ok) throw await unexpected(response, 'a signature')
  const answer: unknown = await response.json().catch(() => undefined)
  const signed = typeof answer === 'object' && answer !== null && 'signedURL' in answer ? answer.signedURL : undefined
  if (typeof signed !== 'string' || !signed.startsWith(`/object/sign/${path}?token=`)) {
    throw await unexpected(response, 'a signature')
  }
  return signed
}

/** Most of its refusals are a 400 that tells the true status in its body. */
async function isMissing(response: Response): Promise<boolean> {
  if (response.status === 404) return true
  if (response.status !== 400) return false
  const answer: unknown = await response.json().catch(() => undefined)
  return typeof answer === 'object' && answer !== null && 'statusCode' in answer && String(answer.statusCode) === '404'
}

function supabaseClient(options: SupabaseStoreOptions, base: string): SupabaseClient {
  const deps = { ...storeTimeouts, ...options }
  return (path, init) => {
    const key = options.key.reveal()
    const headers = { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${key}`, apikey: key }
    return storeRequest(deps, `${base}${path}`, { ...init, headers })
  }
}

/** Large files have a host of their own at Supabase; both name the same objects. */
function hostsOf({ projectUrl, hosts = [] }: SupabaseStoreOptions): readonly string[] {
  const { host } = new URL(projectUrl)
  const ref = /^([a-z0-9-]+)\.supabase\.co$/.exec(host)?.[1]
  const known = ref === undefined ? [host] : [host, `${ref}.storage.supabase.co`]
  return [...new Set([...known, ...hosts.map((each) => each.toLowerCase())])]
}
