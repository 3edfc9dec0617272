// Uploads as rows: an object that is begun, and the descriptor that finishes it.

import type { AttachmentStore, FinishedUpload } from '../../src/db/attachments.ts'
import type { AttachmentDescriptor } from '../../src/files/attachment.ts'

let made = 0

/** Ids that sort by time, as the gateway makes them. */
export function newUuid(): string {
  made += 1
  return `0199a000-0000-7000-8000-${made.toString(16).padStart(12, '0')}`
}

export function anUpload(changes: Partial<FinishedUpload> = {}): FinishedUpload {
  return {
    blobId: newUuid(),
    attachmentId: newUuid(),
    mimeType: 'image/png',
    size: 3,
    sha256: 'a'.repeat(64),
    name: 'cat.png',
    owner: { principal: 'gw:user/local', threadId: 't1' },
    origin: { receivedVia: 'api', nativeId: null },
    status: 'ready',
    ...changes,
  }
}

export function pathOf({ blobId }: Pick<FinishedUpload, 'blobId'>): string {
  return `inputs/${blobId}.png`
}

export async function begin(store: AttachmentStore, upload: FinishedUpload): Promise<FinishedUpload> {
  await store.begin({ id: upload.blobId, store: 'folder', bucket: 'attachments', path: pathOf(upload) })
  return upload
}

export async function stored(
  store: AttachmentStore,
  changes: Partial<FinishedUpload> = {},
): Promise<AttachmentDescriptor> {
  const upload = await begin(store, anUpload(changes))
  return (await store.finish(upload)).descriptor
}
