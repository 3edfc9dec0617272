// The DKIM body hash (RFC 6376 3.4.3 and 3.4.4). Our own: the library joins its pieces again at every step, so that a line
// without an end costs the square of its length (docs/decisions/0032).
import { encodeBase64, sha256Bytes } from '../../../src/lib/index.ts'
// step, so that a line without an end costs the square of its length (docs/decisions/0032).

export type BodyForm = {
  readonly canonicalization: 'simple' | 'relaxed'
  /** `l=`: bytes of the canonical body that are covered; undefined: all. */
  readonly length: number | undefined
}

const [lineFeed, carriageReturn, space, tab] = [0x0a, 0x0d, 0x20, 0x09]

/** SHA-256 in base64 of each form, in their order. A body is brought into each canonical form once, however often it is asked for. */
export async function hashBody(body: Uint8Array, forms: readonly BodyForm[]): Promise<readonly string[]> {
  const canonical: Partial<Record<BodyForm['canonicalization'], Uint8Array>> = {}
  const hashes: string[] = []
  for (const { canonicalization, length } of forms) {
    canonical[canonicalization] ??=
      canonicalization === 'simple' ? canonicalizeBodySimple(body) : canonicalizeBodyRelaxed(body)
    const bytes = canonical[canonicalization]
    hashes.push(await sha256Base64(length === undefined ? bytes : bytes.subarray(0, length)))
  }
  return hashes
}

/** Lines ended by CRLF, one of them at the end. */
export function canonicalizeBodySimple(body: Uint8Array): Uint8Array {
  const lines = normalizeToCrlf(body)
  let end = lines.length
  while (end >= 2 && lines[end - 1] === lineFeed && lines[end - 2] === carriageReturn) end -= 2
  if (end + 2 <= lines.length) return lines.subarray(0, end + 2)
  const ended = new Uint8Array(end + 2)
  ended.set(lines.subarray(0, end))
  ended.set([carriageReturn, lineFeed], end)
  return ended
}

/** And blanks at the end of a line left out, others one space. An empty body stays empty. */
export function canonicalizeBodyRelaxed(body: Uint8Array): Uint8Array {
  const out = new Uint8Array(body.length + countBareLineFeeds(body) + 2)
  let to = 0
  // Behind the last byte that is no line end.
  let end = 0
  let isBlank = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0
    if (byte === space || byte === tab) {
      isBlank = true
      continue
    }
    if (byte === lineFeed || (byte === carriageReturn && body[at + 1] === lineFeed)) {
      out[to] = carriageReturn
      out[to + 1] = lineFeed
      to += 2
      isBlank = false
      if (byte === carriageReturn) at += 1
      continue
    }
    if (isBlank) {
      out[to] = space
      to += 1
      isBlank = false
    }
    out[to] = byte
    to += 1
    end = to
  }
  if (end === 0) return out.subarray(0, 0)
  out[end] = carriageReturn
  out[end + 1] = lineFeed
  return out.subarray(0, end + 2)
}

/** The same bytes, uncopied, where every line is ended by CRLF. */
export function normalizeToCrlf(raw: Uint8Array): Uint8Array {
  const bare = countBareLineFeeds(raw)
  if (bare === 0) return raw
  const mended = new Uint8Array(raw.length + bare)
  let to = 0
  let last = 0
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === lineFeed && last !== carriageReturn) {
      mended[to] = carriageReturn
      to += 1
    }
    mended[to] = byte
    to += 1
    last = byte
  }
  return mended
}

// Byte by byte: lines may be as short as one, and a search for each of them costs more.
function countBareLineFeeds(raw: Uint8Array): number {
  let [bare, last] = [0, 0]
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === lineFeed && last !== carriageReturn) bare += 1
    last = byte
  }
  return bare
}

async function sha256Base64(bytes: Uint8Array): Promise<string> {
  return encodeBase64(await sha256Bytes(bytes))
}
