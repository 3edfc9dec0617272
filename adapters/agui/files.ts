// Reads the content blocks of a message: text, and files in both spellings of the protocol. Pure.
import { bytesRefSchema, type Part, textPart, UnparsableEventError } from '../../src/contract/index.ts'
import { type BinaryBlock, readBlock, type UserMessage } from './wire.ts'

/** A client of two versions sends an attachment in both spellings. */
export function uniqueParts(parts: readonly Part[]): readonly Part[] {
  const seen = new Set<string>()
  return parts.filter((part) => {
    if (part.kind !== 'file') return true
    const { bytes_ref } = part as Extract<Part, { bytes_ref: unknown }>
    const key = JSON.stringify(bytes_ref)
    return !seen.has(key) && seen.add(key)
  })
}

export function userMessageParts({ content }: UserMessage): readonly Part[] {
  if (typeof content === 'string') return content.trim() === '' ? [] : [textPart(content)]
  return content.map((given) => {
    const block = readBlock(given)
    if (block === undefined) throw new UnparsableEventError('invalid_content_block')
    if (block.type === 'text') return textPart(block.text)
    // Named under our prefix, so that a block can never pass for a tool call or a policy part.
    return block.type === 'binary' ? binaryPart(block) : { kind: `agui:${block.name.slice(0, 64)}` }
  })
}

function binaryPart({ mimeType, url, data, filename }: BinaryBlock): Part {
  const facts = { mime: mimeType, ...(filename ? { name: filename } : {}) }
  if (data) return inlinePart(data, facts)
  if (!url) throw new UnparsableEventError('attachment_without_url')
  const parsed = bytesRefSchema.safeParse({ kind: 'url', url })
  if (!parsed.success) throw new UnparsableEventError('attachment_url_must_be_https')
  return { kind: 'file', bytes_ref: parsed.data, ...facts }
}

function inlinePart(data: string, facts: { readonly mime: string; readonly name?: string }): Part {
  const parsed = bytesRefSchema.safeParse({ kind: 'inline', data_base64: data })
  if (!parsed.success) throw new UnparsableEventError('attachment_not_base64_or_too_large')
  return { kind: 'file', bytes_ref: parsed.data, ...facts }
}
