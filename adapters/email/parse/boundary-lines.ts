// The lines of a mail that end one part and begin another. Every byte is looked at a bounded number of times, however many
// boundaries are open and however alike they are.

export type BoundaryLine = {
  readonly boundary: string
  /** Where the line begins, and where the line after it does. */
  readonly start: number
  readonly next: number
  /** It ends the multipart itself. */
  readonly isLast: boolean
}

const [lf, cr, dash, space, tab] = [10, 13, 45, 32, 9]
const longest = 202

/** The next line from `from`, which is the beginning of a line, that is one of these boundaries. */
export function nextBoundary(raw: Uint8Array, from: number, open: BoundarySet): BoundaryLine | undefined {
  for (let line = from; line !== -1 && line < raw.length; line = dashLine(raw, line)) {
    if (raw[line] !== dash || raw[line + 1] !== dash) continue
    const found = boundaryAt(raw, line, open)
    if (found !== undefined) return found
  }
  return undefined
}

/** Boundaries by a number made of their bytes, so that a line costs the same for one of them and for twenty. */
export type BoundarySet = { readonly byHash: ReadonlyMap<number, readonly string[]> }

export function boundarySet(boundaries: readonly string[]): BoundarySet {
  return {
    byHash: Map.groupBy(boundaries, (boundary) => {
      const bytes = new TextEncoder().encode(boundary)
      return hashRange(bytes, { from: 0, end: bytes.length })
    }),
  }
}

/** The beginning of the next line that begins with two dashes. */
function dashLine(raw: Uint8Array, from: number): number {
  for (let at = from; at < raw.length; at += 1)
    if (raw[at] === lf && raw[at + 1] === dash && raw[at + 2] === dash) return at + 1
  return -1
}

function boundaryAt(raw: Uint8Array, line: number, { byHash }: BoundarySet): BoundaryLine | undefined {
  let end = line + 2
  const limit = Math.min(raw.length, end + longest)
  while (end < limit && raw[end] !== lf) end += 1
  if (end === limit && limit < raw.length) return undefined
  const next = Math.min(end + 1, raw.length)
  while (end > line + 2 && isBlankByte(raw[end - 1])) end -= 1
  const from = line + 2
  const whole = findBoundary(raw, { from, end }, byHash)
  if (whole !== undefined) return { boundary: whole, start: line, next, isLast: false }
  if (end - from < 3 || raw[end - 1] !== dash || raw[end - 2] !== dash) return undefined
  const closing = findBoundary(raw, { from, end: end - 2 }, byHash)
  return closing === undefined ? undefined : { boundary: closing, start: line, next, isLast: true }
}

type ByteRange = { readonly from: number; readonly end: number }

function findBoundary(raw: Uint8Array, range: ByteRange, byHash: BoundarySet['byHash']): string | undefined {
  const alike = byHash.get(hashRange(raw, range))
  if (alike === undefined) return undefined
  const text = new TextDecoder().decode(raw.subarray(range.from, range.end))
  return alike.find((boundary) => boundary === text)
}

function hashRange(raw: Uint8Array, { from, end }: ByteRange): number {
  let hash = end - from
  for (let at = from; at < end; at += 1) hash = (Math.imul(hash, 31) + (raw[at] ?? 0)) | 0
  return hash
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === cr || byte === space || byte === tab
}
