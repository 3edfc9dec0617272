// One file in: its type is told before anything is written, its row is begun before its first byte, and it is kept whole or not at all.
import { cleanFileName, type IdSource, type Log } from '../contract/index.ts'
import type { AttachmentStore } from './attachment-store.ts'
import type { BlobStore } from './blob-store.ts'
import type { IncomingFile, StoreOutcome } from './desk.ts'
import { extensionOf } from './intake/extension.ts'
import { type BodyLimits, type MeasuredBody, measureBody } from './intake/measured-body.ts'
import { canBe, refinedType } from './intake/mime-family.ts'
import { type Refused, refused } from './refusals.ts'
import { servedType } from './serving-headers.ts'
import { sniff } from './sniff/sniff.ts'

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

type Written = { readonly blobId: string; readonly path: string; readonly mimeType: string }

export async function storeFile(deps: StoreFileDeps, file: IncomingFile): Promise<StoreOutcome> {
  if (file.id !== undefined) {
    const known = await deps.attachments.byId(file.id)
    if (known !== undefined) {
      await file.body.cancel().catch(() => {})
      return { kind: 'stored', descriptor: known }
    }
  }
  const body = await measureBody(file.body, deps.limits, deps.now)
  const mimeType = refinedType(file.declaredMime, sniff(body.head).mimeType)
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
): Refused | undefined {
  const fault = body.fault()
  if (fault?.kind === 'broken') throw fault.error
  if (fault?.kind === 'too_large') return tooLarge(limits.maxBytes)
  if (body.head.length === 0) return refused('SU_EMPTY')
  return canBe(declaredMime, mimeType) ? undefined : refused('SU_MIME')
}

/** What is to be stored under an id, or under a new one. */
export type FileFacts = Pick<IncomingFile, 'id' | 'name' | 'owner' | 'origin'>

/** A body whose type is known. */
export async function storeMeasured(
  deps: StoreDeps,
  file: FileFacts,
  body: MeasuredBody,
  mimeType: string,
): Promise<StoreOutcome> {
  const { attachments, blobs, newId, limits } = deps
  // Random and not by time: when the same bytes are there already, the path must not tell since when.
  const path = `${keyPrefix}${crypto.randomUUID()}.${extensionOf(mimeType)}`
  const written: Written = { blobId: newId(), path, mimeType }
  await attachments.begin({ id: written.blobId, store: blobs.name, bucket: blobs.bucket, path })
  try {
    // The store itself may be asked for the object by a browser some day: it is told what we would serve.
    await blobs.write(path, body.stream, { mimeType: servedType(mimeType) })
  } catch (error) {
    await body.cancel()
    await discard(deps, written)
    const fault = body.fault()
    if (fault?.kind === 'too_large') return tooLarge(limits.maxBytes)
    throw fault?.error ?? error
  }
  // A commit whose answer is lost may have happened: from here on the object is the sweeper's to judge.
  return finish(deps, file, body, written)
}

async function finish(deps: StoreDeps, file: FileFacts, body: MeasuredBody, written: Written): Promise<StoreOutcome> {
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
  if (spare !== null) await discard(deps, written)
  return { kind: 'stored', descriptor }
}

/** Best effort: the row that was begun stays until its object is gone, and the sweeper comes back for both. */
async function discard({ attachments, blobs, log }: StoreDeps, { blobId, path }: Written): Promise<void> {
  try {
    await blobs.remove(path)
    await attachments.gone([blobId])
  } catch {
    log.warn('attachment_left_for_sweep', { reason: 'remove_failed' })
  }
}

function tooLarge(maxBytes: number): Refused {
  return refused('SU_TOO_LARGE', `send a file of at most ${Math.floor((maxBytes / 1024 / 1024) * 10) / 10} MiB`)
}
