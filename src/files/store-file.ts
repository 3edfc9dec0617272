// Stores one file: its type is known before anything is written, its row is begun before its first byte, and it is kept whole or
// not at all.

import type { AttachmentStore } from '../db/attachments.ts'
import { cleanFileName } from '../lib/clean-text.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import { type FileRejection, type IncomingFile, rejectFile, type StoreOutcome } from './attachment.ts'
import type { BlobStore } from './blob-store.ts'
import { type BodyLimits, type MeasuredBody, wrapBodyForMeasuring } from './measured-body.ts'
import { servedContentType } from './serve-file.ts'
import { sniffType } from './sniff-type.ts'

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
  const body = await wrapBodyForMeasuring(file.body, deps.limits, deps.now)
  const mimeType = refineSniffedType(file.declaredMime, sniffType(body.head).mimeType)
  const refusal = findUploadRejection(deps, body, file.declaredMime, mimeType)
  if (refusal !== undefined) {
    await body.cancel()
    return refusal
  }
  return storeMeasuredBody(deps, file, body, mimeType)
}

function findUploadRejection(
  { limits }: StoreFileDeps,
  body: MeasuredBody,
  declaredMime: string | undefined,
  mimeType: string,
): FileRejection | undefined {
  const fault = body.fault()
  if (fault?.kind === 'broken') throw fault.error
  if (fault?.kind === 'too_large') return tooLargeRejection(limits.maxBytes)
  if (body.head.length === 0) return rejectFile('SU_EMPTY')
  return isTypePlausible(declaredMime, mimeType) ? undefined : rejectFile('SU_MIME')
}

/** What is to be stored under an id, or under a new one. */
export type StoredFileFacts = Pick<IncomingFile, 'id' | 'name' | 'owner' | 'origin'>

/** A body whose type is known. */
export async function storeMeasuredBody(
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
    if (fault?.kind === 'too_large') return tooLargeRejection(limits.maxBytes)
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

function tooLargeRejection(maxBytes: number): FileRejection {
  return rejectFile('SU_TOO_LARGE', `send a file of at most ${Math.floor((maxBytes / 1024 / 1024) * 10) / 10} MiB`)
}

const extensionsByType: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/x-icon': 'ico',
  'image/svg+xml': 'svg',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'text/html': 'html',
  'text/xml': 'xml',
  'application/xhtml+xml': 'xhtml',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/epub+zip': 'epub',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
}

function extensionForType(mimeType: string): string {
  return extensionsByType[mimeType] ?? 'bin'
}

// Whether what a sender declared can be true of the bytes. Families, because senders name types loosely.

type Family = 'image' | 'media' | 'text' | 'archive' | 'document' | 'font' | 'program'

/** Types with an unmistakable beginning: bytes without it are something else, even when we cannot say what. */
const unmistakable = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'])

const familiesByType: Readonly<Record<string, readonly Family[]>> = {
  // A picture by name, and markup that runs: a sender that declares pixels did not send this.
  'image/svg+xml': ['text'],
  'application/pdf': ['document'],
  'application/rtf': ['document', 'text'],
  'text/rtf': ['document', 'text'],
  'application/postscript': ['document', 'text'],
  'application/ogg': ['media'],
  'application/json': ['text'],
  'application/xml': ['text'],
  'application/xhtml+xml': ['text'],
  'application/javascript': ['text'],
  'application/x-tar': ['archive'],
  'application/gzip': ['archive'],
  'application/x-gzip': ['archive'],
  'application/zstd': ['archive'],
  'application/x-bzip2': ['archive'],
  'application/x-xz': ['archive'],
  'application/x-7z-compressed': ['archive'],
  'application/x-ole-storage': ['archive'],
  'application/java-archive': ['archive'],
  'application/vnd.rar': ['archive'],
  'application/x-rar-compressed': ['archive'],
  'application/msword': ['archive'],
  'application/x-elf': ['program'],
  'application/x-mach-binary': ['program'],
  'application/wasm': ['program'],
  'application/vnd.microsoft.portable-executable': ['program'],
}
// Office files are zip files, or the older container of theirs.
const familyPatterns: readonly (readonly [RegExp, Family])[] = [
  [/^image\//, 'image'],
  [/^(audio|video)\//, 'media'],
  [/^text\/|\+(json|xml)$/, 'text'],
  [/zip|^application\/vnd\.(ms-|openxmlformats-|oasis\.|android\.package)/, 'archive'],
  [/^font\//, 'font'],
]

export function isTypePlausible(declared: string | undefined, sniffed: string): boolean {
  const claimed = mimeEssence(declared)
  if (claimed === undefined || claimed === sniffed) return true
  if (sniffed === 'application/octet-stream') return !unmistakable.has(claimed)
  const families = mimeFamilies(claimed)
  // An unknown type contradicts nothing; its bytes are served by what they are.
  return families.length === 0 || mimeFamilies(sniffed).some((family) => families.includes(family))
}

/** Kinds of text that no browser runs, and that programs open by their type. */
const inertTexts: readonly string[] = ['text/csv', 'text/tab-separated-values']

/** Tables show no more than text in their bytes: the sender's word for them is kept. */
function refineSniffedType(declared: string | undefined, sniffed: string): string {
  const claimed = mimeEssence(declared)
  return sniffed === 'text/plain' && claimed !== undefined && inertTexts.includes(claimed) ? claimed : sniffed
}

/** Without parameters, in lower case, and under its registered name. */
function mimeEssence(declared: string | undefined): string | undefined {
  const name = declared?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (name === 'image/jpg' || name === 'image/pjpeg') return 'image/jpeg'
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(name) && name !== 'application/octet-stream' ? name : undefined
}

function mimeFamilies(mimeType: string): readonly Family[] {
  const known = familiesByType[mimeType]
  if (known !== undefined) return known
  return familyPatterns.flatMap(([pattern, family]) => (pattern.test(mimeType) ? [family] : []))
}
