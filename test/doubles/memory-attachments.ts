// The rows of attachments and the signing keys in memory, for tests that are about bytes and tokens. test/db/statements is
// about rows.

import type { AttachmentStore, FinishedUpload, NewBlob } from '../../src/db/attachments.ts'
import type { SigningKey, SigningKeys } from '../../src/db/signing-keys.ts'
import type { AttachmentDescriptor } from '../../src/files/attachment.ts'

export type MemoryRows = AttachmentStore & {
  /** Begun and not finished, with their objects' keys. */
  readonly pending: () => readonly NewBlob[]
  /** What an operator or a scanner would do. */
  readonly change: (id: string, facts: Partial<AttachmentDescriptor>) => void
}

export function memoryRows(): MemoryRows {
  const begun = new Map<string, NewBlob>()
  const contents = new Map<string, NewBlob>()
  const rows = new Map<string, AttachmentDescriptor>()
  const finish = async (upload: FinishedUpload) => {
    const blob = begun.get(upload.blobId)
    if (blob === undefined) throw new Error('finished before it was begun')
    const known = rows.get(upload.attachmentId)
    if (known !== undefined) return { descriptor: known, spare: blob.path }
    const earlier = contents.get(upload.sha256)
    const { store, bucket, path } = earlier ?? blob
    if (earlier === undefined) {
      contents.set(upload.sha256, blob)
      begun.delete(upload.blobId)
    }
    const { blobId: _, attachmentId: id, ...facts } = upload
    const descriptor = { id, store, bucket, path, ...facts, createdAt: new Date().toISOString() }
    rows.set(id, descriptor)
    return { descriptor, spare: earlier === undefined ? null : blob.path }
  }
  return {
    begin: async (blob) => void begun.set(blob.id, blob),
    finish,
    byId: async (id) => rows.get(id),
    byIds: async (ids) => ids.flatMap((id) => rows.get(id) ?? []),
    byAddress: async ({ store, bucket, path }) =>
      [...rows.values()].filter((row) => row.store === store && row.bucket === bucket && row.path === path),
    use: async () => {},
    list: async ({ limit }) => [...rows.values()].slice(0, limit),
    remove: async (id) => rows.delete(id),
    due: async (limit) => [...begun.values()].slice(0, limit),
    gone: async (ids) => {
      for (const id of ids) begun.delete(id)
    },
    pending: () => [...begun.values()],
    change: (id, facts) => {
      const row = rows.get(id)
      if (row !== undefined) rows.set(id, { ...row, ...facts })
    },
  }
}

export function memoryKeys(): SigningKeys & { readonly forget: () => void } {
  let keys: SigningKey[] = []
  const make = (): SigningKey => {
    const key = { id: crypto.randomUUID(), secret: crypto.getRandomValues(new Uint8Array(32)) }
    keys = [key, ...keys]
    return key
  }
  return {
    current: async () => keys[0] ?? make(),
    find: async (id) => keys.find((key) => key.id === id),
    rotate: async () => void make(),
    forget: () => {
      keys = []
    },
  }
}
