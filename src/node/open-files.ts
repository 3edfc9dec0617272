// Where files are kept on this machine: in the store that was configured, else in a folder beside the database.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openBlobStore, type RuntimeFiles } from '../assemble/attachments.ts'
import type { Config } from '../config.ts'
import type { BlobStore } from '../files/blob-store.ts'
import { createFolderStore } from './blob-folder.ts'
import type { FreeSpace } from './free-space.ts'

/** Not a name that an operator's bucket is likely to have: handles tell stores apart by it. */
export const folderBucket = 'local-files'
export const folderStoreName = 'folder'

export function attachmentsFolder(dataDir: string): string {
  return join(dataDir, 'attachments')
}

export async function openFileStores(
  { dataDir, attachments, publicUrl }: Pick<Config, 'dataDir' | 'attachments' | 'publicUrl'>,
  listeningAt: string,
  room?: (() => Promise<FreeSpace>) | undefined,
): Promise<RuntimeFiles> {
  const folder = attachmentsFolder(dataDir)
  const openFolderStore = (): Promise<BlobStore> =>
    createFolderStore({ folder, name: folderStoreName, bucket: folderBucket, room })
  const origin = new URL(publicUrl ?? listeningAt).origin
  if (attachments.store === undefined) return { stores: [await openFolderStore()], origin }
  const store = openBlobStore(attachments.store, fetch)
  // What was kept before another store was chosen stays where it is.
  const isFolderInUse = (await stat(folder).catch(() => undefined)) !== undefined
  return { stores: isFolderInUse ? [store, await openFolderStore()] : [store], origin }
}
