// S3's multipart upload: nothing is visible under the key before it is completed, and what fails is given up.
import { GatewayError } from '../../../contract/index.ts'
import type { BodyPart } from '../read-parts.ts'
import { drainResponse, unexpectedStoreResponse } from '../store-request.ts'
import type { S3Client } from './s3-client.ts'

type S3Upload = { readonly key: string; readonly uploadId: string }

export async function uploadS3Parts(
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
  if (!response.ok) throw await unexpectedStoreResponse(response, 'the beginning of an upload')
  const uploadId = /<UploadId>([^<]{1,1024})<\/UploadId>/.exec(await response.text())?.[1]
  if (uploadId === undefined) throw await unexpectedStoreResponse(response, 'the beginning of an upload')
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
  if (!response.ok || tag === null) throw await unexpectedStoreResponse(response, 'a part of an upload')
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
  if (!response.ok) throw await unexpectedStoreResponse(response, 'the end of an upload')
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
