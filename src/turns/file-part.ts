// File parts of messages: how they are made, and the text that stands where a file could not be had.

import { type InboundEvent, type InboundMessage, type KnownPart, type Part, textPart } from '../contract/index.ts'
import { containFiles, type FilePart, isFilePart } from '../contract/parts.ts'
import type { AttachmentDescriptor } from '../files/attachment.ts'
import { cleanName } from '../lib/clean-text.ts'
import { decodeBase64, stableStringify } from '../lib/index.ts'
import type { Json } from '../lib/json-value.ts'
export function isMessageWithFiles(event: InboundEvent): event is InboundMessage {
  return event.kind === 'message' && containFiles([event.message])
}

/** Where it is kept, and not how to get it: what rows and transcripts hold. */
export function toStoredPart(part: FilePart, descriptor: AttachmentDescriptor): FilePart {
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
export function missingFileTextPart(part: FilePart, why: string): KnownPart {
  const name = cleanName(part.name ?? part.mime ?? '').slice(0, 100)
  return textPart(`[file${name === '' ? '' : ` ${name}`}: ${why}]`)
}

export const noLongerThere = 'no longer available'

export function listAttachmentIds(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => (isFilePart(part) && part.attachment !== undefined ? [part.attachment.id] : []))
}

// Ids are made of what a file is: it may be stored twice after a crash, and the second time finds the first.

export async function deriveAttachmentId(hash: (text: string) => Promise<string>, what: Json): Promise<string> {
  const hex = await hash(stableStringify(what))
  // RFC 9562 section 5.8: version 8 is for ids of one's own making.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

// Bytes that came inside a message; its schema has checked their encoding and their size.

export function base64ToStream(base64: string): ReadableStream<Uint8Array> {
  const bytes = decodeBase64(base64)
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes)
      controller.close()
    },
  })
}
