// Parts of an answer as the protocol writes them. Pure: bytes of stored files have been put in before.
import { isKnownPart, type Json, type KnownPart, type Part } from '../../../src/contract/index.ts'
import { htmlToText, partsText } from '../../../src/markdown/index.ts'
import type { A2aPart } from '../protocol/objects.ts'

/** What a reader takes; empty: anything. */
export type Accepted = readonly string[]

export function renderParts(parts: readonly Part[], accepted: Accepted): readonly A2aPart[] {
  return parts.flatMap((part) => (isKnownPart(part) ? renderPart(part, accepted) : []))
}

function renderPart(part: KnownPart, accepted: Accepted): readonly A2aPart[] {
  switch (part.kind) {
    case 'text':
      return renderText(part, accepted)
    case 'file':
    case 'artifact':
      return renderFile(part)
    case 'link':
      return [renderLink(part)]
    case 'tool_call':
      return [{ data: renderToolEvent(part) }]
    // Said in words beside the metadata that carries it.
    case 'policy':
      return part.policy.message.trim() === '' ? [] : [{ text: part.policy.message }]
    default:
      return part satisfies never
  }
}

function renderText({ mime, content }: Extract<KnownPart, { kind: 'text' }>, accepted: Accepted): readonly A2aPart[] {
  if (content === '') return []
  const isTaken = accepted.length === 0 || accepted.includes(mime) || accepted.includes('*/*')
  if (mime === 'text/html') return [isTaken ? { text: content, mediaType: mime } : { text: htmlToText(content) }]
  // Markdown reads well enough as it is written.
  return [mime === 'text/markdown' && isTaken ? { text: content, mediaType: mime } : { text: content }]
}

type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

function renderFile(part: FilePart): readonly A2aPart[] {
  const { bytes_ref: ref, mime, name } = part
  const artifactType = part.kind === 'artifact' ? part.artifact_type : undefined
  const metadata = artifactType === undefined ? {} : { metadata: { mentionable: { artifact_type: artifactType } } }
  const about = {
    ...(name === undefined ? {} : { filename: name }),
    ...(mime === undefined ? {} : { mediaType: mime }),
    ...metadata,
  }
  if (ref.kind === 'inline') {
    const data = part.kind === 'artifact' && mayBeJson(mime) ? decodeJson(ref.data_base64) : undefined
    if (data === undefined) return [{ raw: ref.data_base64, ...about }]
    return [{ data: data.is, ...(name === undefined ? {} : { filename: name }), ...metadata }]
  }
  if (ref.kind !== 'channel' && ref.url !== undefined) return [{ url: ref.url, ...about }]
  const line = partsText([part])
  return line === '' ? [] : [{ text: line }]
}

/** Something behind an address that the agent knows the type of, or an address for people to follow. */
function renderLink(part: Extract<KnownPart, { kind: 'link' }>): A2aPart {
  const { url, title, description, mime } = part
  if (mime === undefined) return { text: partsText([part]) }
  const metadata = description === undefined ? {} : { metadata: { mentionable: { description } } }
  return { url, ...(title === undefined ? {} : { filename: title }), mediaType: mime, ...metadata }
}

/** The file store calls a file by what its bytes show, and JSON shows no more than text. */
function mayBeJson(mime: string | undefined): boolean {
  return mime === undefined || mime === 'text/plain' || /[/+]json$/.test(mime)
}

function decodeJson(base64: string): { readonly is: Json } | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    return { is: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)) }
  } catch {
    return undefined
  }
}

/** A tool call and its result share an id: first without, then with the result. */
function renderToolEvent({ id, name, args, result, error }: Extract<KnownPart, { kind: 'tool_call' }>): Json {
  const call = { toolCallId: id, toolName: name }
  if (error !== undefined) return { type: 'tool-error', ...call, error: { message: error.message } }
  // What a model was given and gave back is JSON.
  if (result !== undefined) return { type: 'tool-result', ...call, output: result as Json }
  return { type: 'tool-call', ...call, input: (args ?? {}) as Json }
}
