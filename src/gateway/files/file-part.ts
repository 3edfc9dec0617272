// Parts that stand for files, and what is said where there should be one and is not.
import type { AttachmentDescriptor } from '../../attachments/descriptor.ts'
import { cleanName, isKnownPart, type KnownPart, type Part, textPart } from '../../contract/index.ts'

export type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

export function isFilePart(part: Part): part is FilePart {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact')
}

/** Where it is kept, and not how to get it: what rows and transcripts hold. */
export function storedPart(part: FilePart, descriptor: AttachmentDescriptor): FilePart {
  const { id, bucket, path, mimeType, sha256, size, name } = descriptor
  const shown = name ?? part.name
  const facts = { mime: mimeType, ...(shown === undefined ? {} : { name: shown }) }
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest: sha256 } as const
  const attachment = { id, bucket, path }
  if (part.kind === 'file') return { kind: 'file', bytes_ref, ...facts, size, attachment }
  const { artifact_type } = part
  return {
    kind: 'artifact',
    bytes_ref,
    ...(artifact_type === undefined ? {} : { artifact_type }),
    ...facts,
    attachment,
  }
}

/** In words, for agent and model to read. */
export function missingPart(part: FilePart, why: string): KnownPart {
  const name = cleanName(part.name ?? part.mime ?? '').slice(0, 100)
  return textPart(`[file${name === '' ? '' : ` ${name}`}: ${why}]`)
}

export const noLongerThere = 'no longer available'

export function listAttachmentIds(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (isFilePart(part) && part.attachment !== undefined ? [part.attachment.id] : []))
}
