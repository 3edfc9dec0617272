// Lines that end without a carriage return. Signatures are over CRLF, and the library makes a step of its own for each line that
// lacks one, so millions of short lines would keep everybody waiting. They are mended here, all at once.

const [lineFeed, carriageReturn] = [0x0a, 0x0d]

/** The same bytes, uncopied, where every line is ended by CRLF. */
export function withLineEnds(raw: Uint8Array): Uint8Array {
  const bare = countBare(raw)
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
function countBare(raw: Uint8Array): number {
  let [bare, last] = [0, 0]
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? 0
    if (byte === lineFeed && last !== carriageReturn) bare += 1
    last = byte
  }
  return bare
}
