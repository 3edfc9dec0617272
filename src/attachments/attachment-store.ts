// Port: the rows of attachments. Bytes are written between `begin` and `finish`; whatever dies in between is swept.
import type { AttachmentDescriptor, AttachmentOrigin, AttachmentOwner } from './descriptor.ts'

export type NewBlob = { readonly id: string; readonly store: string; readonly bucket: string; readonly path: string }

export type FinishedUpload = {
  readonly blobId: string
  readonly attachmentId: string
  readonly mimeType: string
  readonly size: number
  readonly sha256: string
  readonly name: string | null
  readonly owner: AttachmentOwner
  readonly origin: AttachmentOrigin
  readonly status: 'ready' | 'blocked'
}

/** The (store, bucket, path) triple of a signed URL. */
export type ObjectAddress = { readonly store: string; readonly bucket: string; readonly path: string }

export interface AttachmentStore {
  /** Before the first byte is written: a row to sweep by, should the upload never be finished. */
  begin(blob: NewBlob): Promise<void>
  /**
   * One commit: the bytes are there, and whose they are. The same bytes were stored before by this tenant: the descriptor
   * points to those and `spare` names the object just written, for removal. An attachment id that exists already is answered
   * as it is (a turn that does this twice after a crash makes one).
   */
  finish(upload: FinishedUpload): Promise<{ readonly descriptor: AttachmentDescriptor; readonly spare: string | null }>
  byId(id: string): Promise<AttachmentDescriptor | undefined>
  byIds(ids: readonly string[]): Promise<readonly AttachmentDescriptor[]>
  /** Every descriptor of this object; several owners may share one. */
  byAddress(address: ObjectAddress): Promise<readonly AttachmentDescriptor[]>
  /** A message refers to these: they live as long as its transcript and are no orphans any more. */
  use(ids: readonly string[], by: { readonly inboxId: string | null; readonly sessionId: string | null }): Promise<void>
  list(page: { readonly before: string | null; readonly limit: number }): Promise<readonly AttachmentDescriptor[]>
  /** Marks it deleted; its object goes when no other descriptor refers to it. False: there is none. */
  remove(id: string, actor: string): Promise<boolean>
  /**
   * Objects to remove: begun and never finished, uploaded and never used, or no longer referred to. From here on `finish`
   * no longer points to them.
   */
  due(limit: number, orphanHours: number): Promise<readonly NewBlob[]>
  /** The object is gone. */
  gone(blobIds: readonly string[]): Promise<void>
}
