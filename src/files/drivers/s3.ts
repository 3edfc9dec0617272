// The S3 driver, also for R2's S3 side, MinIO, Ceph. Small files in one request, larger ones in parts.
import { AwsClient } from 'aws4fetch'
import { GatewayError } from '../../lib/errors.ts'
import { sha256Bytes, toHex } from '../../lib/index.ts'
import type { Secret } from '../../lib/secret.ts'
import { assertObjectKey, type BlobStore, type ByteRange, chooseSignedDisposition } from '../blob-store.ts'
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

export type S3StoreOptions = {
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: Secret
  readonly sessionToken?: Secret
  readonly name?: string
  /** Without it: Amazon's own in this region. */
  readonly endpoint?: string
  /** `{endpoint}/{bucket}/{key}` instead of the bucket as part of the host; the default where an endpoint is given. */
  readonly isPathStyle?: boolean
  readonly fetch: typeof fetch
  readonly timeoutMs?: number
  readonly idleMs?: number
}

/** S3 takes no part but the last below 5 MiB. */
const partBytes = 8 * 1024 * 1024

export function createS3Store(options: S3StoreOptions): BlobStore {
  const { bucket, name = 's3', region } = options
  const endpoint = new URL(options.endpoint ?? `https://s3.${region}.amazonaws.com`)
  const s3ObjectUrl = (key: string) => formatS3ObjectUrl(options, endpoint, key)
  const aws = createAwsClient(options)
  const send = createS3Client(options, aws, s3ObjectUrl)
  return {
    name,
    bucket,
    write: (key, body, { mimeType }) => writeS3Object(send, key, body, mimeType),
    read: (key, range) => readS3Object(send, key, range),
    async remove(key) {
      const response = await send({ method: 'DELETE', key })
      if (!response.ok && response.status !== 404) throw await unexpectedStoreResponseError(response, 'a removal')
      await drainResponse(response)
    },
    async signUrl(key, seconds) {
      const url = new URL(s3ObjectUrl(key))
      url.searchParams.set('X-Amz-Expires', String(seconds))
      url.searchParams.set('response-content-disposition', chooseSignedDisposition(key))
      return (await aws.sign(url.href, { method: 'GET', aws: { signQuery: true } })).url
    },
    urls: { hosts: [endpoint.host], form: 's3', isVirtualHosted: true },
  }
}

async function writeS3Object(
  send: S3Client,
  key: string,
  body: ReadableStream<Uint8Array>,
  mimeType: string,
): Promise<void> {
  const headers = { 'content-type': mimeType }
  const parts = readBodyParts(body, partBytes)
  const first = await parts.next()
  if (first.done === true) return
  try {
    if (first.value.isLast) await putS3Object(send, { method: 'PUT', key, headers, body: first.value.bytes })
    else await uploadS3Parts(send, key, headers, first.value, parts)
  } catch (error) {
    await parts.return()
    if (mayHaveTakenEffect(error)) await send({ method: 'DELETE', key }).then(drainResponse, () => {})
    throw error
  }
}

async function putS3Object(send: S3Client, call: S3Call): Promise<void> {
  const response = await send(call)
  if (!response.ok) throw await unexpectedStoreResponseError(response, 'a write')
  await drainResponse(response)
}

async function readS3Object(
  send: S3Client,
  key: string,
  range: ByteRange | undefined,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }
  const response = await send({ method: 'GET', key, headers })
  if (range !== undefined && response.status === 206) return requireRangedBody(response, range)
  if (range === undefined && response.status === 200) return response.body ?? new Blob([]).stream()
  if (response.status !== 404) throw await unexpectedStoreResponseError(response, 'a read')
  await drainResponse(response)
  return undefined
}

/** Every body is hashed into its signature, so that a store behind plain http cannot be handed other bytes on the way. */
function createS3Client(options: S3StoreOptions, aws: AwsClient, urlOf: (key: string) => string): S3Client {
  const deps = { ...storeTimeouts, ...options }
  return async ({ method, key, query = '', headers = {}, body }) => {
    const digest = await sha256Bytes(body ?? new Uint8Array())
    const url = `${urlOf(key)}${query}`
    const signed = await aws.sign(url, { method, headers: { ...headers, 'x-amz-content-sha256': toHex(digest) } })
    return fetchFromStore(deps, url, { method, headers: signed.headers, ...(body === undefined ? {} : { body }) })
  }
}

function createAwsClient({ accessKeyId, secretAccessKey, sessionToken, region }: S3StoreOptions): AwsClient {
  return new AwsClient({
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    ...(sessionToken === undefined ? {} : { sessionToken: sessionToken.reveal() }),
    service: 's3',
    region,
    retries: 0,
  })
}

function formatS3ObjectUrl(
  { bucket, isPathStyle, endpoint: given }: S3StoreOptions,
  endpoint: URL,
  key: string,
): string {
  assertObjectKey(key)
  const base = endpoint.pathname.replace(/\/$/, '')
  if (isPathStyle ?? given !== undefined) return `${endpoint.origin}${base}/${bucket}/${key}`
  return `${endpoint.protocol}//${bucket}.${endpoint.host}${base}/${key}`
}

type S3Call = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly key: string
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
}

type S3Client = (call: S3Call) => Promise<Response>

// Multipart upload: nothing is visible under the key before it is completed, and what fails is aborted.

type S3Upload = { readonly key: string; readonly uploadId: string }

async function uploadS3Parts(
  send: S3Client,
  key: string,
  headers: Readonly<Record<string, string>>,
  first: BodyPart,
  rest: AsyncIterable<BodyPart>,
): Promise<void> {
  const place = { key, uploadId: await beginS3Upload(send, key, headers) }
  try {
    const tags = [await putS3Part(send, place, 1, first)]
    for await (const part of rest) tags.push(await putS3Part(send, place, tags.length + 1, part))
    await completeS3Upload(send, place, tags)
  } catch (error) {
    await send({ method: 'DELETE', key, query: `?uploadId=${encodeURIComponent(place.uploadId)}` }).then(
      drainResponse,
      () => {},
    )
    throw error
  }
}

async function beginS3Upload(send: S3Client, key: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await send({ method: 'POST', key, query: '?uploads=', headers })
  if (!response.ok) throw await unexpectedStoreResponseError(response, 'the beginning of an upload')
  const uploadId = /<UploadId>([^<]{1,1024})<\/UploadId>/.exec(await response.text())?.[1]
  if (uploadId === undefined) throw await unexpectedStoreResponseError(response, 'the beginning of an upload')
  return uploadId
}

async function putS3Part(
  send: S3Client,
  { key, uploadId }: S3Upload,
  number: number,
  { bytes }: BodyPart,
): Promise<string> {
  const query = `?partNumber=${number}&uploadId=${encodeURIComponent(uploadId)}`
  const response = await send({ method: 'PUT', key, query, body: bytes })
  const tag = response.headers.get('etag')
  if (!response.ok || tag === null) throw await unexpectedStoreResponseError(response, 'a part of an upload')
  await drainResponse(response)
  return tag
}

async function completeS3Upload(send: S3Client, { key, uploadId }: S3Upload, tags: readonly string[]): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXmlText(tag)}</ETag></Part>`,
  )
  const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const response = await send({
    method: 'POST',
    key,
    query: `?uploadId=${encodeURIComponent(uploadId)}`,
    headers: { 'content-type': 'application/xml' },
    body: Uint8Array.from(new TextEncoder().encode(xml)),
  })
  if (!response.ok) throw await unexpectedStoreResponseError(response, 'the end of an upload')
  // S3 may begin to answer yes and then say no in the body.
  if ((await response.text()).includes('<Error>')) {
    throw new GatewayError(
      'storage_unavailable',
      '[attachments] the store could not put an upload together; try again',
      {
        retryable: true,
      },
    )
  }
}

function escapeXmlText(tag: string): string {
  return tag.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
