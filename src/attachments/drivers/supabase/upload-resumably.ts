// A resumable upload (tus 1.0.0 with creation and creation-defer-length): the length is told with the last part, because a body
// that is still arriving has none yet. We resume nothing; it is here for its bounded parts.
import type { BodyPart } from '../read-parts.ts'
import { drainResponse, unexpectedStoreResponse } from '../store-request.ts'
import type { SupabaseClient } from './supabase-client.ts'

export type TusUpload = { readonly bucket: string; readonly key: string; readonly mimeType: string }

const tusVersion = { 'tus-resumable': '1.0.0' }

export async function uploadSupabaseParts(
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
    throw await unexpectedStoreResponse(response, 'the beginning of an upload')
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
    throw await unexpectedStoreResponse(response, 'a part of an upload')
  }
  return end
}
