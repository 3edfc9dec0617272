// A stored file as we remember it: who owns it and where its bytes are. URLs are made for each read, never kept.

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
