// Parts that are no text, as one line of it.
import type { KnownPart, Part } from '../contract/index.ts'

/** A part whose bytes a channel may send. */
export type FilePart = Extract<KnownPart, { readonly kind: 'file' | 'artifact' }>

export function fileLine(part: FilePart): string {
  if (part.kind === 'file') return `[file${suffix(part.name ?? part.mime, part.size)}]`
  const { name, artifact_type: type, mime } = part
  const known = name === undefined ? (type ?? mime) : [name, ...(type === undefined ? [] : [type])].join(', ')
  return `[artifact${suffix(known)}]`
}

/** What stands behind a link about what it leads to; nothing if nothing is said. */
export function linkDescription(description: string | undefined): string {
  const words = collapseWhitespace(description ?? '').slice(0, 500)
  return words === '' ? '' : ` – ${words}`
}

export function placeholderLine({ kind }: Part): string {
  return `[unsupported content: ${collapseWhitespace(String(kind)).slice(0, 64)}]`
}

export function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function suffix(name: string | undefined, size?: number): string {
  const known = [
    ...(name === undefined ? [] : [collapseWhitespace(name).slice(0, 256)]),
    ...(size === undefined ? [] : [sizeText(size)]),
  ]
  return known.length === 0 ? '' : `: ${known.join(', ')}`
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
