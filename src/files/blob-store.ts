// The blob store interface. Drivers: a folder, S3 and what speaks like it, Supabase Storage, an R2 binding. Keys are ours, of
// [A-Za-z0-9._/-], never reused; a driver knows nothing of owners.
import { GatewayError } from '../lib/errors.ts'

/** `end` is inclusive, as in a Range header. */
export type ByteRange = { readonly start: number; readonly end: number }

export interface BlobStore {
  /** Named in descriptors; another store under the same name would lose them. */
  readonly name: string
  readonly bucket: string
  /** Writes the whole body or throws `GatewayError`; after a failure no object is visible under the key. */
  write(key: string, body: ReadableStream<Uint8Array>, facts: { readonly mimeType: string }): Promise<void>
  /** Undefined: there is no such object. */
  read(key: string, range?: ByteRange): Promise<ReadableStream<Uint8Array> | undefined>
  /** Deleting what is not there is no failure. */
  remove(key: string): Promise<void>
  /** Set where the store signs URLs of its own that a browser may follow. */
  readonly signUrl?: (key: string, seconds: number) => Promise<string>
  /** Set where URLs of this store may come back to us in a message: reads its URL forms. */
  readonly urls?: StoreUrls
}

/** What a signed URL of a store looks like; data, so that one strict reader serves every store. */
export type StoreUrls = {
  /** Exact host names, lower case. */
  readonly hosts: readonly string[]
  readonly form: 'supabase' | 's3'
  /** S3 forms: `{bucket}.{host}` is the same object as `{host}/{bucket}`. */
  readonly isVirtualHosted?: boolean
}

// The gateway makes object keys; a driver still checks each one, so that a mistake in other code cannot reach beyond its bucket.

// Every segment begins with a letter or a digit, so neither `..` nor a hidden file can be one.
const keyPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const maxKeyLength = 1024

export function assertObjectKey(key: string): void {
  if (key.length <= maxKeyLength && keyPattern.test(key)) return
  throw new GatewayError('bad_request', '[attachments] this is no key of a stored object; nothing was done')
}

// A store's own signed URL shows pictures in a browser and saves all else. By the key's ending, which we chose from the bytes.

const pictureKey = /\.(?:png|jpg|gif|webp|avif|bmp)$/

export function isShownInline(key: string): boolean {
  return pictureKey.test(key)
}

export function chooseSignedDisposition(key: string): string {
  return isShownInline(key) ? 'inline' : 'attachment'
}
