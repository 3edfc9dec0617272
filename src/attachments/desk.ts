// What the rest of the gateway asks about files: take one in, find whose it is, hand out a short-lived handle, take one back.
import type { ByteRange } from './blob-store.ts'
import type { AttachmentDescriptor, AttachmentOrigin, AttachmentOwner } from './descriptor.ts'
import type { SignedUrlCode } from './signed-url-code.ts'

export type IncomingFile = {
  readonly body: ReadableStream<Uint8Array>
  /** Given by a caller that may do this twice after a crash: the second time is answered with the first one's descriptor. */
  readonly id?: string
  /** The sender's words; compared with the bytes and otherwise ignored. */
  readonly declaredMime?: string
  readonly name?: string
  readonly owner: AttachmentOwner
  readonly origin: AttachmentOrigin
}

export type StoreOutcome =
  | { readonly kind: 'stored'; readonly descriptor: AttachmentDescriptor }
  /** SU_TOO_LARGE, SU_MIME (the bytes are of another family than declared), SU_EMPTY. Nothing is kept. */
  | { readonly kind: 'refused'; readonly code: SignedUrlCode; readonly remedy: string }

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly descriptor: AttachmentDescriptor }
  | { readonly kind: 'refused'; readonly code: SignedUrlCode; readonly remedy: string }

/** Who will follow a handle. Models' providers get less time than people. */
export type HandleReader = {
  readonly principal: string
  readonly kind: 'person' | 'agent'
  /** Where it is read later than at once. */
  readonly seconds?: number
}

export type AttachmentHandle = { readonly url: string; readonly expiresAt: string }

export type RedeemOutcome =
  | { readonly kind: 'redeemed'; readonly descriptor: AttachmentDescriptor }
  | { readonly kind: 'refused'; readonly code: SignedUrlCode; readonly remedy: string }

export interface AttachmentService {
  readonly maxBytes: number
  /** Capped while it flows, hashed, its type read from its first bytes; stored whole or not at all. */
  store(file: IncomingFile): Promise<StoreOutcome>
  /** What a signed URL in a message refers to, if its sender owns that. The URL itself is never fetched. */
  claim(url: string, by: AttachmentOwner): Promise<ClaimOutcome>
  find(ids: readonly string[]): Promise<readonly AttachmentDescriptor[]>
  /** The bytes; undefined where the object is gone. */
  open(descriptor: AttachmentDescriptor, range?: ByteRange): Promise<ReadableStream<Uint8Array> | undefined>
  /** A URL for one object and one reader, good for a short while; another one at every call. */
  handle(descriptor: AttachmentDescriptor, reader: HandleReader): Promise<AttachmentHandle>
  /** Judges one of our own handles when it is followed: signature, expiry, object, and that the reader still may. */
  redeem(rawUrl: string): Promise<RedeemOutcome>
  /** A message refers to these now. */
  use(ids: readonly string[], by: { readonly inboxId: string | null; readonly sessionId: string | null }): Promise<void>
  remove(id: string, actor: string): Promise<boolean>
  list(page: { readonly before: string | null; readonly limit: number }): Promise<readonly AttachmentDescriptor[]>
  /** One bounded round of removing what is no longer needed; how many objects went. */
  sweep(): Promise<number>
}
