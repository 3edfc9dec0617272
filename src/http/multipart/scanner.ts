// A stream cut at a delimiter, however its chunks fall: never more in memory than one chunk and the delimiter's length.
import { GatewayError } from '../../contract/index.ts'

export type DelimiterScanner = {
  /** Bytes up to the delimiter, piece by piece; undefined once it has been passed. */
  readonly piece: () => Promise<Uint8Array | undefined>
  /** The next bytes, as many as asked for. */
  readonly take: (count: number) => Promise<Uint8Array>
  /** Everything before the first `mark`, which is passed over; refuses more than `max` bytes. */
  readonly until: (mark: Uint8Array, max: number) => Promise<Uint8Array>
}

/** `before`: what counts as having come before the first byte. */
export function createDelimiterScanner(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  delimiter: Uint8Array,
  before: Uint8Array,
): DelimiterScanner {
  let held = before
  const readMoreBytes = async (): Promise<void> => {
    const { done, value } = await reader.read()
    if (done) throw malformedForm('the body ends too early')
    held = held.byteLength === 0 ? value : concatBytes(held, value)
  }
  const takeHeldBytes = (at: number): Uint8Array => {
    const taken = held.subarray(0, at)
    held = held.subarray(at)
    return taken
  }
  return {
    async piece() {
      for (;;) {
        const at = indexOfBytes(held, delimiter, 0)
        if (at === 0) {
          takeHeldBytes(delimiter.byteLength)
          return undefined
        }
        const safe = at > 0 ? at : partialMatchStart(delimiter, held)
        if (safe > 0) return takeHeldBytes(safe)
        await readMoreBytes()
      }
    },
    async take(count) {
      while (held.byteLength < count) await readMoreBytes()
      return takeHeldBytes(count)
    },
    async until(mark, max) {
      let from = 0
      for (;;) {
        const at = indexOfBytes(held, mark, from)
        if (at > max || (at === -1 && held.byteLength > max + mark.byteLength))
          throw malformedForm('a header is too long')
        if (at !== -1) {
          const found = takeHeldBytes(at)
          takeHeldBytes(mark.byteLength)
          return found
        }
        from = Math.max(0, held.byteLength - mark.byteLength + 1)
        await readMoreBytes()
      }
    },
  }
}

export function malformedForm(what: string): GatewayError {
  return new GatewayError('bad_request', `${what}; send multipart/form-data with one file, as curl -F file=@name does`)
}

/** Where the bytes end in what could become the wanted ones, once there are more; their length, if nowhere. Mostly nothing is left to copy. */
function partialMatchStart(wanted: Uint8Array, bytes: Uint8Array): number {
  const from = Math.max(0, bytes.byteLength - wanted.byteLength + 1)
  for (let at = from; at < bytes.byteLength; at += 1) {
    let same = 0
    while (at + same < bytes.byteLength && bytes[at + same] === wanted[same]) same += 1
    if (at + same === bytes.byteLength) return at
  }
  return bytes.byteLength
}

function concatBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.byteLength + second.byteLength)
  both.set(first)
  both.set(second, first.byteLength)
  return both
}

function indexOfBytes(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const first = wanted[0] ?? 0
  const last = bytes.byteLength - wanted.byteLength
  for (let at = bytes.indexOf(first, from); at !== -1 && at <= last; at = bytes.indexOf(first, at + 1)) {
    let same = 1
    while (same < wanted.byteLength && bytes[at + same] === wanted[same]) same += 1
    if (same === wanted.byteLength) return at
  }
  return -1
}
