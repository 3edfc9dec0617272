// Files in the transcript: which stored object a line refers to, and never where its bytes can be had.
import { isKnownPart, type KnownPart, type Part, textPart } from '../contract/index.ts'

type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

/** One stored file, as a line's metadata names it. */
type StoredRef = { readonly bucket: string; readonly path: string; readonly mime_type: string }

/** Bytes, addresses and what only a channel understands stay out of the transcript: such a file is named in words. */
export function storablePart(part: Part): Part {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return part
  const { bytes_ref, attachment } = part
  if (attachment === undefined || bytes_ref.kind !== 'content_addressed')
    return textPart(`[file${describeFilePart(part)}]`)
  const { algo, digest } = bytes_ref
  return { ...part, bytes_ref: { kind: 'content_addressed', algo, digest } }
}

/** `user_message_attachments` is a single object where there is one attachment; `attachments` holds all in any case. */
export function attachmentMetadata(parts: readonly Part[], role: 'user' | 'assistant'): Record<string, unknown> {
  const attachments = parts.flatMap((part) => readStoredRef(part) ?? [])
  const [first, second] = attachments
  if (first === undefined) return {}
  const { bucket, path, mime_type } = first
  const isAlone = role === 'user' && second === undefined
  return { attachments, ...(isAlone ? { user_message_attachments: { bucket, path, mime_type } } : {}) }
}

/** Files that a line names in its metadata alone: the older format, which names one object and no ids. */
export function legacyFiles(metadata: Readonly<Record<string, unknown>>): readonly Part[] {
  const given = metadata['user_message_attachments']
  const refs: readonly unknown[] = Array.isArray(given) ? given : given === undefined ? [] : [given]
  return refs.filter(isStoredRef).map(({ bucket, path, mime_type }) => ({
    kind: 'file',
    // Its owner is not recorded: it is shown by name and cannot be opened.
    bytes_ref: { kind: 'channel', ref: { bucket, path } },
    mime: mime_type,
    name: path.split('/').at(-1) ?? path,
  }))
}

function readStoredRef(part: Part): (StoredRef & Readonly<Record<string, unknown>>) | undefined {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { attachment, bytes_ref, mime = 'application/octet-stream', name } = part
  if (attachment === undefined) return undefined
  return {
    ...attachment,
    mime_type: mime,
    ...(part.kind === 'file' && part.size !== undefined ? { size: part.size } : {}),
    ...(bytes_ref.kind === 'content_addressed' ? { sha256: bytes_ref.digest } : {}),
    ...(name === undefined ? {} : { name }),
  }
}

function isStoredRef(value: unknown): value is StoredRef {
  if (typeof value !== 'object' || value === null) return false
  return ['bucket', 'path', 'mime_type'].every((key) => typeof Reflect.get(value, key) === 'string')
}

function describeFilePart({ name, mime }: FilePart): string {
  const shown = name ?? mime
  return shown === undefined ? '' : ` ${shown.slice(0, 256)}`
}
