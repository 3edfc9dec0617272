// Attachments: the interface of the service (store, find the owner, sign a URL, delete), the descriptor of a stored file, and
// refusals.
import type { ByteRange } from './blob-store.ts'

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

// A descriptor says who owns a file and where its bytes are. URLs are made for each read, never kept.

/** Whose it is. A thread narrows it: the same person does not reach it from another conversation. */
export type AttachmentOwner = {
  readonly principal: string
  readonly threadId: string | null
}

/** Where it came from, for explaining; `nativeId` is the platform's name of it, never a URL or a token. */
export type AttachmentOrigin = {
  readonly receivedVia: string
  readonly nativeId: string | null
}

export type AttachmentDescriptor = {
  readonly id: string
  /** Name of the configured store that holds the bytes. */
  readonly store: string
  readonly bucket: string
  readonly path: string
  /** Sniffed from the bytes; what a sender declared decides nothing. */
  readonly mimeType: string
  readonly size: number
  readonly sha256: string
  readonly name: string | null
  readonly owner: AttachmentOwner
  readonly origin: AttachmentOrigin
  readonly status: 'ready' | 'blocked' | 'deleted'
  readonly createdAt: string
}

// Reasons why a signed URL or a file is refused are the same in answers, logs and tests.

export type SignedUrlCode =
  | 'SU_SCHEME'
  | 'SU_HOST'
  | 'SU_CREDENTIALS'
  | 'SU_PATH_ENCODING'
  | 'SU_TRAVERSAL'
  | 'SU_FORM'
  | 'SU_BUCKET'
  | 'SU_PREFIX'
  | 'SU_TOKEN_MALFORMED'
  | 'SU_TOKEN_MISMATCH'
  | 'SU_SCOPE'
  | 'SU_EXPIRED'
  | 'SU_DUP_PARAM'
  | 'SU_UNKNOWN_OBJECT'
  | 'SU_OWNER'
  | 'SU_MIME'
  | 'SU_TOO_LARGE'
  | 'SU_EMPTY'
  | 'SU_BLOCKED'

// The remedy is the same whether an object of another owner exists or none does.

export type FileRejection = { readonly kind: 'refused'; readonly code: SignedUrlCode; readonly remedy: string }

const uploadAgain = 'upload the file to this gateway and use the url from its answer'
const askAgain = 'ask for a fresh url and use it at once'

const remedies: Readonly<Record<SignedUrlCode, string>> = {
  SU_SCHEME: 'use an https url',
  SU_HOST: uploadAgain,
  SU_CREDENTIALS: 'remove the user name and password from the url',
  SU_PATH_ENCODING: 'use the url exactly as it was handed out',
  SU_TRAVERSAL: 'use the url exactly as it was handed out',
  SU_FORM: 'use a signed download url',
  SU_BUCKET: uploadAgain,
  SU_PREFIX: uploadAgain,
  SU_TOKEN_MALFORMED: 'use the url exactly as it was handed out',
  SU_TOKEN_MISMATCH: 'use the url exactly as it was handed out',
  SU_SCOPE: 'use a url that was signed for download',
  SU_EXPIRED: askAgain,
  SU_DUP_PARAM: 'use the url exactly as it was handed out',
  SU_UNKNOWN_OBJECT: uploadAgain,
  SU_OWNER: uploadAgain,
  SU_MIME: 'declare the type that the bytes have, or none',
  SU_TOO_LARGE: 'send a smaller file',
  SU_EMPTY: 'send a file with at least one byte',
  SU_BLOCKED: 'this file is no longer available; send another one',
}

export function rejectFile(code: SignedUrlCode, remedy: string = remedies[code]): FileRejection {
  return { kind: 'refused', code, remedy }
}
