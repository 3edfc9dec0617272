// Parts to and from a remote agent. Files go as bytes: the URLs we have are good for a minute, and for us.
import { isKnownPart, maxInlineBytes, maxTextLength, type Part, textPart } from '../../contract/index.ts'
import { partsText } from '../../markdown/index.ts'
import type { AgentFiles } from '../context.ts'
import type { RemotePart } from './task.ts'

const maxFileBytes = 5 * 1024 * 1024
const maxBytesTogether = 8 * 1024 * 1024

/** What cannot be sent is named. */
export async function outboundParts(parts: readonly Part[], files: AgentFiles): Promise<readonly RemotePart[]> {
  const sent: RemotePart[] = []
  let left = maxBytesTogether
  for (const part of parts) {
    const file = await fileBytes(part, files, Math.min(maxFileBytes, left))
    if (file !== undefined) {
      left -= file.size
      sent.push(file.part)
      continue
    }
    const text = partsText([part])
    const mediaType = isKnownPart(part) && part.kind === 'text' && part.mime !== 'text/html' ? part.mime : 'text/plain'
    if (text !== '') sent.push({ kind: 'text', text, mediaType })
  }
  return sent.length > 0 ? sent : [{ kind: 'text', text: '(no words)', mediaType: 'text/plain' }]
}

async function fileBytes(
  part: Part,
  files: AgentFiles,
  maxBytes: number,
): Promise<{ readonly part: RemotePart; readonly size: number } | undefined> {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return undefined
  const { bytes_ref: ref, attachment, name, mime } = part
  const shown = { ...(name === undefined ? {} : { name }), ...(mime === undefined ? {} : { mediaType: mime }) }
  if (attachment === undefined) {
    if (ref.kind !== 'inline' || ref.data_base64.length > maxBytes) return undefined
    return { part: { kind: 'bytes', base64: ref.data_base64, ...shown }, size: ref.data_base64.length }
  }
  // Larger ones throw: they are named like any that cannot be had.
  const bytes = await files.bytes(attachment.id, maxBytes).catch(() => undefined)
  if (bytes === undefined) return undefined
  return { part: { kind: 'bytes', base64: encodeBase64(bytes), ...shown }, size: bytes.byteLength }
}

export type ReadAs = { readonly writesMarkdown: boolean; readonly name?: string | undefined }

/** A stranger's words, files and links, as ours can be shown. Links are shown and never fetched. */
export function inboundParts(parts: readonly RemotePart[], as: ReadAs): readonly Part[] {
  return parts.flatMap((part) => inboundPart(part, as))
}

function inboundPart(part: RemotePart, as: ReadAs): readonly Part[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [textPart(part.text.slice(0, maxTextLength), textMime(part.mediaType, as))]
    case 'bytes':
      return [inlineFilePart(part.base64, part.name ?? as.name, part.mediaType)]
    case 'url':
      return [remoteLinkPart(part.url, part.name ?? as.name)]
    case 'data':
      return [dataFilePart(part.data, as.name)]
  }
}

function textMime(mediaType: string | undefined, { writesMarkdown }: ReadAs): 'text/plain' | 'text/markdown' {
  if (mediaType === undefined) return writesMarkdown ? 'text/markdown' : 'text/plain'
  return mediaType.startsWith('text/markdown') ? 'text/markdown' : 'text/plain'
}

function inlineFilePart(base64: string, name: string | undefined, mime: string | undefined): Part {
  const shown = name ?? 'file'
  if (!fitsInline(base64)) return textPart(`[file ${shown}: too large to be passed on]`)
  return {
    kind: 'file',
    bytes_ref: { kind: 'inline', data_base64: base64 },
    name: shown,
    ...(mime === undefined ? {} : { mime }),
  }
}

function remoteLinkPart(url: string, title: string | undefined): Part {
  const isShown = URL.canParse(url) && new URL(url).protocol === 'https:'
  if (!isShown) return textPart(`[file ${title ?? 'elsewhere'}: cannot be fetched]`)
  return { kind: 'link', url, ...(title === undefined ? {} : { title }) }
}

function dataFilePart(data: unknown, name: string | undefined): Part {
  const base64 = encodeBase64(new TextEncoder().encode(JSON.stringify(data, null, 2)))
  const shown = `${name ?? 'data'}.json`.replace(/\.json\.json$/, '.json')
  if (!fitsInline(base64)) return textPart(`[file ${shown}: too large to be passed on]`)
  const bytes_ref = { kind: 'inline', data_base64: base64 } as const
  return { kind: 'artifact', bytes_ref, artifact_type: 'data', mime: 'application/json', name: shown }
}

function fitsInline(base64: string): boolean {
  return base64.length <= Math.floor(maxInlineBytes / 3) * 4
}

function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = []
  // In slices that are a multiple of three: each is whole by itself, and no call has too many arguments.
  for (let at = 0; at < bytes.length; at += 24_576)
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + 24_576))))
  return pieces.join('')
}
