// The attachment service: uploads, owners, signed URLs and removal, over rows, keys and blob stores.

import type { AttachmentStore, NewBlob } from '../db/attachments.ts'
import type { SigningKeys } from '../db/signing-keys.ts'
import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { AttachmentDescriptor, AttachmentHandle, AttachmentService, HandleReader } from './attachment.ts'
import type { BlobStore } from './blob-store.ts'
import { listSignedUrlOrigins } from './parse-signed-url.ts'
import { findOwnedFileBySignedUrl, handlePath, signDownloadToken, verifyDownloadUrl } from './signed-urls.ts'
import { keyPrefix, storeFile } from './store-file.ts'

export type AttachmentServiceDeps = {
  readonly tenant: string
  readonly attachments: AttachmentStore
  readonly keys: SigningKeys
  /** The first one takes new files; the others still hold older ones. */
  readonly stores: readonly [BlobStore, ...BlobStore[]]
  /** Scheme, host and port under which people reach this gateway. */
  readonly publicOrigin: string
  readonly newId: IdSource
  readonly now: () => number
  readonly log: Log
  readonly options?: Partial<AttachmentOptions>
}

export type AttachmentOptions = {
  readonly maxBytes: number
  /** Uploads that flow at once, and how many more may wait for their turn. */
  readonly maxUploads: number
  readonly maxWaitingUploads: number
  readonly idleMs: number
  readonly totalMs: number
  /** How long a handle is good for. */
  readonly personSeconds: number
  readonly agentSeconds: number
  /** Whose URLs are handed out: ours, or those of a store that signs its own. */
  readonly handles: 'own' | 'store'
  /** Uploaded and never mentioned in a message: removed after so long. */
  readonly orphanHours: number
  readonly sweepLimit: number
}

const attachmentDefaults: AttachmentOptions = {
  maxBytes: 25 * 1024 * 1024,
  maxUploads: 8,
  maxWaitingUploads: 64,
  idleMs: 30_000,
  totalMs: 600_000,
  personSeconds: 300,
  agentSeconds: 60,
  handles: 'own',
  orphanHours: 24,
  sweepLimit: 100,
}

export function createAttachmentService(deps: AttachmentServiceDeps): AttachmentService {
  const options = { ...attachmentDefaults, ...deps.options }
  const { attachments, stores } = deps
  const publicOrigin = new URL(deps.publicOrigin).origin
  const slots = createUploadSlots(options.maxUploads, options.maxWaitingUploads)
  const intake = { ...deps, blobs: stores[0], limits: options }
  const claims = { ...deps, places: listSignedUrlOrigins(stores, publicOrigin, [keyPrefix]) }
  assertDistinctStores(stores)
  return {
    maxBytes: options.maxBytes,
    store: (file) => slots.run(() => storeFile(intake, file)),
    claim: (url, by) => findOwnedFileBySignedUrl(claims, url, by),
    find: (ids) => attachments.byIds(ids),
    open: async (descriptor, range) => findBlobStore(stores, descriptor).read(descriptor.path, range),
    handle: (descriptor, reader) => createDownloadLink({ ...deps, publicOrigin }, options, descriptor, reader),
    redeem: (rawUrl) => verifyDownloadUrl(deps, rawUrl),
    use: (ids, by) => attachments.use(ids, by),
    remove: (id, actor) => attachments.remove(id, actor),
    list: (page) => attachments.list(page),
    sweep: () => removeUnusedObjects(deps, options),
  }
}

async function createDownloadLink(
  deps: Pick<AttachmentServiceDeps, 'keys' | 'tenant' | 'now' | 'publicOrigin' | 'stores'>,
  { personSeconds, agentSeconds, handles }: AttachmentOptions,
  descriptor: AttachmentDescriptor,
  reader: HandleReader,
): Promise<AttachmentHandle> {
  // Redeeming would refuse it; a caller that asks for it has mistaken the reader for the owner, and is told so here.
  if (reader.kind === 'person' && reader.principal !== descriptor.owner.principal) {
    throw new GatewayError('forbidden', '[attachments] this file belongs to another user; ask as its owner')
  }
  const seconds = reader.seconds ?? (reader.kind === 'person' ? personSeconds : agentSeconds)
  const { signUrl } = findBlobStore(deps.stores, descriptor)
  if (handles === 'store' && signUrl !== undefined) {
    const expiresAt = new Date(deps.now() + seconds * 1000).toISOString()
    return { url: await signUrl(descriptor.path, seconds), expiresAt }
  }
  const { token, expiresAtMs } = await signDownloadToken(deps, descriptor, reader, seconds)
  const url = `${deps.publicOrigin}${handlePath}/${descriptor.bucket}/${descriptor.path}?token=${token}`
  return { url, expiresAt: new Date(expiresAtMs).toISOString() }
}

function findBlobStore(stores: readonly BlobStore[], { store, bucket }: AttachmentDescriptor): BlobStore {
  const found = stores.find((each) => each.name === store && each.bucket === bucket)
  if (found !== undefined) return found
  throw new GatewayError('storage_unavailable', `[attachments] the store ${store} is not configured; add it again`)
}

/** Handles name the bucket and not the store, and descriptors name the store: neither may mean two things. */
function assertDistinctStores(stores: readonly BlobStore[]): void {
  for (const field of ['name', 'bucket'] as const) {
    if (new Set(stores.map((store) => store[field])).size !== stores.length) {
      throw new GatewayError('config_invalid', `[attachments] two stores share a ${field}; give each its own`)
    }
  }
}

// A few more uploads than may flow at once wait with their bytes unread; uploads after those are refused.

export type UploadSlots = { readonly run: <Result>(work: () => Promise<Result>) => Promise<Result> }

function createUploadSlots(maxRunning: number, maxWaiting: number): UploadSlots {
  const waiting: (() => void)[] = []
  let running = 0
  const waitForUploadSlot = async (): Promise<void> => {
    if (running < maxRunning) {
      running += 1
      return
    }
    if (waiting.length >= maxWaiting) {
      throw new GatewayError('storage_overloaded', '[attachments] too many uploads at once; try again in a moment', {
        retryable: true,
      })
    }
    // An upload that ends hands its place to the next, so that no other can slip in between.
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const leaveUploadSlot = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  return {
    async run(work) {
      await waitForUploadSlot()
      try {
        return await work()
      } finally {
        leaveUploadSlot()
      }
    },
  }
}

// Removal runs in bounded rounds. An object that cannot be removed now keeps its row and is tried again.

export type SweepDeps = {
  readonly attachments: Pick<AttachmentStore, 'due' | 'gone'>
  readonly stores: readonly BlobStore[]
  readonly log: Log
}

async function removeUnusedObjects(
  deps: SweepDeps,
  { sweepLimit, orphanHours }: { readonly sweepLimit: number; readonly orphanHours: number },
): Promise<number> {
  const gone: string[] = []
  let failed = 0
  for (const blob of await deps.attachments.due(sweepLimit, orphanHours)) {
    if (await tryRemoveStoredObject(deps.stores, blob)) gone.push(blob.id)
    else failed += 1
  }
  if (gone.length > 0) await deps.attachments.gone(gone)
  if (failed > 0) deps.log.warn('attachments_not_removed', { count: failed })
  return gone.length
}

async function tryRemoveStoredObject(stores: readonly BlobStore[], { store, bucket, path }: NewBlob): Promise<boolean> {
  const holder = stores.find((each) => each.name === store && each.bucket === bucket)
  if (holder === undefined) return false
  try {
    await holder.remove(path)
    return true
  } catch {
    return false
  }
}
