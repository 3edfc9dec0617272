// One file in: its type is told before anything is written, its row is begun before its first byte, and it is kept whole or not at all.
import { cleanFileName, type IdSource, type Log } from '../contract/index.ts'
import type { AttachmentStore } from '../db/attachments.ts'
import type { BlobStore } from './blob-store.ts'
import type { IncomingFile, StoreOutcome } from './desk.ts'
import { extensionForType } from './intake/extension.ts'
import { type BodyLimits, type MeasuredBody, measureBody } from './intake/measured-body.ts'
import { isTypePlausible, refineSniffedType } from './intake/mime-family.ts'
import { type FileRejection, rejectFile } from './refusals.ts'
import { servedContentType } from './serving-headers.ts'
import { sniffType } from './sniff/sniff.ts'

export type StoreFileDeps = {
  readonly attachments: AttachmentStore
  readonly blobs: BlobStore
  readonly limits: BodyLimits
  readonly newId: IdSource
  readonly now: () => number
  readonly log: Log
}

type StoreDeps = Omit<StoreFileDeps, 'attachments'> & {
  readonly attachments: Pick<AttachmentStore, 'begin' | 'finish' | 'gone'>
}

/** Keys begin with it; a signed URL with another prefix is none of ours. */
export const keyPrefix = 'agent-inputs/'

type WrittenBlob = { readonly blobId: string; readonly path: string; readonly mimeType: string }

export async function storeFile(deps: StoreFileDeps, file: IncomingFile): Promise<StoreOutcome> {
  if (file.id !== undefined) {
    const known = await deps.attachments.byId(file.id)
    if (known !== undefined) {
      await file.body.cancel().catch(() => {})
      return { kind: 'stored', descriptor: known }
    }
  }
  const body = await measureBody(file.body, deps.limits, deps.now)
  const mimeType = refineSniffedType(file.declaredMime, sniffType(body.head).mimeType)
  const refusal = earlyRefusal(deps, body, file.declaredMime, mimeType)
  if (refusal !== undefined) {
    await body.cancel()
    return refusal
  }
  return storeMeasured(deps, file, body, mimeType)
}

function earlyRefusal(
  { limits }: StoreFileDeps,
  body: MeasuredBody,
  declaredMime: string | undefined,
  mimeType: string,
): FileRejection | undefined {
  const fault = body.fault()
  if (fault?.kind === 'broken') throw fault.error
  if (fault?.kind === 'too_large') return rejectTooLarge(limits.maxBytes)
  if (body.head.length === 0) return rejectFile('SU_EMPTY')
  return isTypePlausible(declaredMime, mimeType) ? undefined : rejectFile('SU_MIME')
}

/** What is to be stored under an id, or under a new one. */
export type StoredFileFacts = Pick<IncomingFile, 'id' | 'name' | 'owner' | 'origin'>

/** A body whose type is known. */
export async function storeMeasured(
  deps: StoreDeps,
  file: StoredFileFacts,
  body: MeasuredBody,
  mimeType: string,
): Promise<StoreOutcome> {
  const { attachments, blobs, newId, limits } = deps
  // Random and not by time: when the same bytes are there already, the path must not tell since when.
  const path = `${keyPrefix}${crypto.randomUUID()}.${extensionForType(mimeType)}`
  const written: WrittenBlob = { blobId: newId(), path, mimeType }
  await attachments.begin({ id: written.blobId, store: blobs.name, bucket: blobs.bucket, path })
  try {
    // The store itself may be asked for the object by a browser some day: it is told what we would serve.
    await blobs.write(path, body.stream, { mimeType: servedContentType(mimeType) })
  } catch (error) {
    await body.cancel()
    await discardUpload(deps, written)
    const fault = body.fault()
    if (fault?.kind === 'too_large') return rejectTooLarge(limits.maxBytes)
    throw fault?.error ?? error
  }
  // A commit whose answer is lost may have happened: from here on the object is the sweeper's to judge.
  return recordUpload(deps, file, body, written)
}

async function recordUpload(
  deps: StoreDeps,
  file: StoredFileFacts,
  body: MeasuredBody,
  written: WrittenBlob,
): Promise<StoreOutcome> {
  const { blobId, mimeType } = written
  const { descriptor, spare } = await deps.attachments.finish({
    blobId,
    attachmentId: file.id ?? deps.newId(),
    mimeType,
    ...body.measure(),
    name: cleanFileName(file.name),
    owner: file.owner,
    origin: file.origin,
    status: 'ready',
  })
  if (spare !== null) await discardUpload(deps, written)
  return { kind: 'stored', descriptor }
}

/** Best effort: the row that was begun stays until its object is gone, and the sweeper comes back for both. */
async function discardUpload({ attachments, blobs, log }: StoreDeps, { blobId, path }: WrittenBlob): Promise<void> {
  try {
    await blobs.remove(path)
    await attachments.gone([blobId])
  } catch {
    log.warn('attachment_left_for_sweep', { reason: 'remove_failed' })
  }
}

function rejectTooLarge(maxBytes: number): FileRejection {
  return rejectFile('SU_TOO_LARGE', `send a file of at most ${Math.floor((maxBytes / 1024 / 1024) * 10) / 10} MiB`)
}
