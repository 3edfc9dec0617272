// The blob store in a folder of this machine: files are written beside their place, flushed, then moved there in one step.
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import type { Config } from '../config.ts'
import { assertObjectKey, type BlobStore, type ByteRange } from '../files/blob-store.ts'
import { openBlobStore, type RuntimeFiles } from '../gateway/attachments.ts'
import { cachePromise } from '../lib/cache.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { makeDataDir } from './data-dir.ts'

export type FolderStoreOptions = {
  readonly folder: string
  readonly name?: string
  readonly bucket?: string
  /** What the disk has room for; without it: everything. */
  readonly room?: (() => Promise<FreeSpace>) | undefined
}

const chunkBytes = 64 * 1024
const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW
const createOnly = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW

/** The folder is made if need be, closed to other users, and nothing outside of it is ever reached, links included. */
export async function createFolderStore(options: FolderStoreOptions): Promise<BlobStore> {
  const { name = 'folder', bucket = 'agent-files' } = options
  assertObjectKey(bucket)
  const root = await makeDataDir(join(options.folder, bucket))
  return {
    name,
    bucket,
    write: (key, body) =>
      withStorageErrors('written', async () => {
        if ((await options.room?.()) === 'full') {
          await body.cancel().catch(() => {})
          throw diskFullError()
        }
        return writeBlobFile(root, key, body)
      }),
    read: (key, range) => withStorageErrors('read', () => readBlobFile(root, key, range)),
    remove: (key) => withStorageErrors('removed', () => removeBlobFile(root, key)),
  }
}

async function writeBlobFile(root: string, key: string, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader()
  const { target, draft } = blobAndDraftPaths(root, key)
  try {
    await makeBlobFolders(root, key)
    await writeBlobDraft(draft, reader)
    await rename(draft, target)
    await fsyncStoreFolder(dirname(target))
  } catch (error) {
    await reader.cancel(error).catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
}

async function writeBlobDraft(draft: string, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const file = await open(draft, createOnly, 0o600)
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) await writeAllBytes(file, read.value)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeAllBytes(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at, bytes.byteLength - at)).bytesWritten
}

async function readBlobFile(
  root: string,
  key: string,
  range: ByteRange | undefined,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const { target } = blobAndDraftPaths(root, key)
  if (!(await isInsideStoreFolder(root, target))) return undefined
  const file = await open(target, readOnly).catch(undefinedIfNoBlob)
  if (file === undefined) return undefined
  const facts = await file.stat()
  if (!facts.isFile()) {
    await file.close()
    return undefined
  }
  return streamFileRange(file, range?.start ?? 0, Math.min(range?.end ?? facts.size - 1, facts.size - 1))
}

/** One chunk in memory at a time; the file is closed after its last byte, on failure, and when the reader goes away. */
function streamFileRange(file: FileHandle, start: number, end: number): ReadableStream<Uint8Array> {
  let at = start
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = new Uint8Array(Math.max(0, Math.min(chunkBytes, end - at + 1)))
          const { bytesRead } = await file.read(chunk, 0, chunk.byteLength, at)
          at += bytesRead
          if (bytesRead > 0) return controller.enqueue(chunk.subarray(0, bytesRead))
          await file.close()
          controller.close()
        } catch (error) {
          await file.close().catch(() => {})
          throw blobStorageError('read', error)
        }
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  )
}

async function removeBlobFile(root: string, key: string): Promise<void> {
  const { target, draft } = blobAndDraftPaths(root, key)
  if (!(await isInsideStoreFolder(root, target))) return
  // What a process that died has left of the same key goes with it.
  await rm(draft, { force: true })
  await rm(target, { force: true })
}

/** The draft has a name of its key's own, so that the sweeper of the key finds it. */
function blobAndDraftPaths(root: string, key: string): { readonly target: string; readonly draft: string } {
  assertObjectKey(key)
  const target = join(root, key)
  return { target, draft: join(dirname(target), `.${basename(target)}.part`) }
}

/** Each folder by itself: one that is a link leads elsewhere and is refused. */
async function makeBlobFolders(root: string, key: string): Promise<void> {
  let folder = root
  for (const segment of key.split('/').slice(0, -1)) {
    folder = join(folder, segment)
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if (systemErrorCode(error) !== 'EEXIST') throw error
    })
    if (!(await lstat(folder)).isDirectory()) throw new Error('not a folder')
  }
}

async function isInsideStoreFolder(root: string, target: string): Promise<boolean> {
  const folder = await realpath(dirname(target)).catch(undefinedIfNoBlob)
  return folder !== undefined && folder === dirname(target) && `${folder}${sep}`.startsWith(`${root}${sep}`)
}

/** A rename is durable once its folder is. */
async function fsyncStoreFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function undefinedIfNoBlob(error: unknown): undefined {
  const code = systemErrorCode(error)
  // ELOOP: a link stands where the file should be.
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined
  throw error
}

async function withStorageErrors<Result>(done: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw isGatewayError(error) ? error : blobStorageError(done, error)
  }
}

function diskFullError(): GatewayError {
  const remedy = 'free some of it, or set disk.fullBytes lower'
  return new GatewayError('storage_full', `[attachments] the disk of the data folder is nearly full; ${remedy}`, {
    retryable: true,
  })
}

function blobStorageError(done: string, error: unknown): GatewayError {
  return new GatewayError(
    'storage_unavailable',
    `[attachments] a file could not be ${done} (${systemErrorCode(error) ?? 'unknown'}); check the folder, its owner and its free space`,
    { retryable: true },
  )
}

function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

// Free space on the disk of the data folder, and what there is still room for.

/** `low`: nothing more of people who are not admitted. `full`: no mail and no file of any sender. Undefined: room for all. */
type FreeSpace = 'low' | 'full' | undefined

/** Every inbound event may ask; the disk is looked at no more often than this. */
const freshMs = 2_000
const usualLowBytes = 512 * 1024 * 1024
const usualLowShare = 0.05

type DiskConfig = Pick<Config, 'dataDir' | 'disk' | 'databaseUrl' | 'attachments'>

/** Undefined: neither rows nor files are kept on this disk. */
export function createFreeSpaceCheck(config: DiskConfig): (() => Promise<FreeSpace>) | undefined {
  if (config.databaseUrl !== undefined && config.attachments.store !== undefined) return undefined
  return cachePromise(
    freshMs,
    () => performance.now(),
    () => readFreeSpaceLevel(config),
  )
}

async function readFreeSpaceLevel({ dataDir, disk }: DiskConfig): Promise<FreeSpace> {
  // A disk that cannot be asked says nothing about its room; what is written there fails by itself.
  const facts = await statfs(dataDir).catch(() => undefined)
  if (facts === undefined) return undefined
  const free = facts.bavail * facts.bsize
  const lowBytes = disk.lowBytes ?? Math.min(usualLowBytes, facts.blocks * facts.bsize * usualLowShare)
  const fullBytes = disk.fullBytes ?? lowBytes / 4
  if (free < fullBytes) return 'full'
  return free < lowBytes ? 'low' : undefined
}

// Files are kept in the store that was configured, else in a folder beside the database.

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
