// The R2 driver: a bucket that is bound to a Worker. No credentials: the binding is the permission.

import { withTimeout } from '../../lib/time.ts'
import { assertObjectKey, type BlobStore, type ByteRange } from '../blob-store.ts'
import {
  type BodyPart,
  mayHaveTakenEffect,
  readBodyParts,
  storeTimeouts,
  toStorageUnavailableError,
} from './store-request.ts'

type R2Metadata = { readonly httpMetadata: { readonly contentType: string } }
type R2Part = { readonly partNumber: number; readonly etag: string }

interface R2Upload {
  uploadPart(partNumber: number, value: Uint8Array): Promise<R2Part>
  complete(parts: R2Part[]): Promise<unknown>
  abort(): Promise<void>
}

/** What is used of a Worker's R2 binding. */
export interface R2Binding {
  put(key: string, value: Uint8Array, options: R2Metadata): Promise<unknown>
  get(
    key: string,
    options?: { range?: { offset: number; length: number } },
  ): Promise<{ readonly body: ReadableStream<Uint8Array> } | null>
  delete(key: string): Promise<void>
  createMultipartUpload(key: string, options: R2Metadata): Promise<R2Upload>
}

export type R2StoreOptions = {
  readonly binding: R2Binding
  /** What descriptors and handles call it; the binding does not tell its own. */
  readonly bucket: string
  readonly name?: string
  readonly timeoutMs?: number
}

/** R2 wants all parts but the last of one size, at least 5 MiB. */
const partBytes = 8 * 1024 * 1024

export function createR2Store({
  binding,
  bucket,
  name = 'r2',
  timeoutMs = storeTimeouts.timeoutMs,
}: R2StoreOptions): BlobStore {
  const timeoutFailure = () => toStorageUnavailableError('it did not answer in time', undefined)
  const withR2Timeout = <Result>(work: Promise<Result>) =>
    withTimeout(work, timeoutMs, timeoutFailure).catch((error: unknown) => {
      throw toStorageUnavailableError('it could not be reached', error)
    })
  return {
    name,
    bucket,
    write: (key, body, { mimeType }) =>
      writeR2Object(binding, withR2Timeout, key, body, { httpMetadata: { contentType: mimeType } }),
    async read(key, range) {
      assertObjectKey(key)
      const object = await withR2Timeout(binding.get(key, range === undefined ? {} : { range: toR2Range(range) }))
      return object?.body
    },
    async remove(key) {
      assertObjectKey(key)
      await withR2Timeout(binding.delete(key))
    },
  }
}

type WithR2Timeout = <Result>(work: Promise<Result>) => Promise<Result>

async function writeR2Object(
  binding: R2Binding,
  within: WithR2Timeout,
  key: string,
  body: ReadableStream<Uint8Array>,
  metadata: R2Metadata,
): Promise<void> {
  assertObjectKey(key)
  const parts = readBodyParts(body, partBytes)
  const first = await parts.next()
  if (first.done === true) return
  try {
    if (first.value.isLast) await within(binding.put(key, first.value.bytes, metadata))
    else await uploadR2Parts(await within(binding.createMultipartUpload(key, metadata)), within, first.value, parts)
  } catch (error) {
    await parts.return()
    if (mayHaveTakenEffect(error)) await within(binding.delete(key)).catch(() => {})
    throw toStorageUnavailableError('a write did not end well', error)
  }
}

async function uploadR2Parts(
  upload: R2Upload,
  within: WithR2Timeout,
  first: BodyPart,
  rest: AsyncIterable<BodyPart>,
): Promise<void> {
  try {
    const done = [await within(upload.uploadPart(1, first.bytes))]
    for await (const { bytes } of rest) done.push(await within(upload.uploadPart(done.length + 1, bytes)))
    await within(upload.complete(done))
  } catch (error) {
    await within(upload.abort()).catch(() => {})
    throw error
  }
}

function toR2Range({ start, end }: ByteRange): { readonly offset: number; readonly length: number } {
  return { offset: start, length: end - start + 1 }
}
