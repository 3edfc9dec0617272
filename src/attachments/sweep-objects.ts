// One bounded round of removing objects that are no longer needed. An object that cannot be removed now keeps its row and is tried again.
import type { Log } from '../contract/index.ts'
import type { AttachmentStore, NewBlob } from '../db/attachments.ts'
import type { BlobStore } from './blob-store.ts'

export type SweepDeps = {
  readonly attachments: Pick<AttachmentStore, 'due' | 'gone'>
  readonly stores: readonly BlobStore[]
  readonly log: Log
}

export async function removeUnusedObjects(
  deps: SweepDeps,
  { sweepLimit, orphanHours }: { readonly sweepLimit: number; readonly orphanHours: number },
): Promise<number> {
  const gone: string[] = []
  let failed = 0
  for (const blob of await deps.attachments.due(sweepLimit, orphanHours)) {
    if (await isObjectRemoved(deps.stores, blob)) gone.push(blob.id)
    else failed += 1
  }
  if (gone.length > 0) await deps.attachments.gone(gone)
  if (failed > 0) deps.log.warn('attachments_not_removed', { count: failed })
  return gone.length
}

async function isObjectRemoved(stores: readonly BlobStore[], { store, bucket, path }: NewBlob): Promise<boolean> {
  const holder = stores.find((each) => each.name === store && each.bucket === bucket)
  if (holder === undefined) return false
  try {
    await holder.remove(path)
    return true
  } catch {
    return false
  }
}
