// A Range header (RFC 9110 §14) to one range of bytes. Whatever is more than that is answered with the whole file, as it allows.
import type { ByteRange } from './blob-store.ts'

export type RangeReading =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly range: ByteRange; readonly contentRange: string }
  /** 416, with this in Content-Range. */
  | { readonly kind: 'unsatisfiable'; readonly contentRange: string }

const singleRange = /^bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i

export function parseRange(header: string | null | undefined, size: number): RangeReading {
  const [, from, to] = singleRange.exec(header ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return { kind: 'whole' }
  // A suffix: the last so many bytes.
  if (from === '') return clampRange(Math.max(0, size - Number(to)), size - 1, size)
  if (to !== '' && Number(to) < Number(from)) return { kind: 'whole' }
  return clampRange(Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1), size)
}

function clampRange(start: number, end: number, size: number): RangeReading {
  if (start >= size) return { kind: 'unsatisfiable', contentRange: `bytes */${size}` }
  return { kind: 'part', range: { start, end }, contentRange: `bytes ${start}-${end}/${size}` }
}
