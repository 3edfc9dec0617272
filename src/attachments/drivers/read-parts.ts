// A body cut into parts of one size for stores that want to know a length before the bytes. One part is in memory at a time.

/** `bytes` is lent: the next part is written over it. */
export type BodyPart = { readonly bytes: Uint8Array<ArrayBuffer>; readonly isLast: boolean }

const minBufferBytes = 64 * 1024

/** At least one part; all but the last have exactly `partBytes`. */
export async function* readBodyParts(
  body: ReadableStream<Uint8Array>,
  partBytes: number,
): AsyncGenerator<BodyPart, void> {
  const reader = body.getReader()
  let buffer = new Uint8Array(minBufferBytes)
  let filled = 0
  let isDone = false
  try {
    for (let rest: Uint8Array = new Uint8Array(); ; ) {
      if (rest.byteLength === 0 && !isDone) {
        const read = await reader.read()
        isDone = read.done
        rest = read.value ?? rest
        continue
      }
      // Only when more bytes are at hand is a full part known not to be the last one.
      if (rest.byteLength > 0 && filled === partBytes) {
        yield { bytes: buffer.subarray(0, filled), isLast: false }
        filled = 0
      }
      if (rest.byteLength === 0) break
      const taken = rest.subarray(0, partBytes - filled)
      buffer = growBuffer(buffer, filled, taken.byteLength, partBytes)
      buffer.set(taken, filled)
      filled += taken.byteLength
      rest = rest.subarray(taken.byteLength)
    }
    yield { bytes: buffer.subarray(0, filled), isLast: true }
  } finally {
    if (!isDone) await reader.cancel().catch(() => {})
  }
}

/** Doubles up to a whole part, so that a small file costs little. */
function growBuffer(
  buffer: Uint8Array<ArrayBuffer>,
  filled: number,
  more: number,
  partBytes: number,
): Uint8Array<ArrayBuffer> {
  if (filled + more <= buffer.byteLength) return buffer
  const grown = new Uint8Array(Math.min(partBytes, Math.max(buffer.byteLength * 2, filled + more)))
  grown.set(buffer.subarray(0, filled))
  return grown
}
