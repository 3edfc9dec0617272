// multipart/form-data (RFC 7578, RFC 2046 §5.1) as it flows: part by part, each part's bytes as a stream.
import { GatewayError } from '../lib/errors.ts'

export type FormPart = {
  readonly name: string
  /** Set where the part is a file; the sender's word for it. */
  readonly filename: string | undefined
  readonly contentType: string | undefined
  /** To be read before the next part is asked for; what is left of it is passed over. */
  readonly body: ReadableStream<Uint8Array>
}

export type Multipart = { readonly next: () => Promise<FormPart | undefined> }

const maxPreambleBytes = 4096
const maxHeaderBytes = 8192
const maxPaddingBytes = 64
const maxParts = 32

const lineEnd = new Uint8Array([13, 10])
const headerEnd = new Uint8Array([13, 10, 13, 10])
const dash = 45

export function readMultipart(reader: ReadableStreamDefaultReader<Uint8Array>, boundary: string): Multipart {
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`)
  // The first delimiter may stand at the very beginning: as if a line had just ended.
  const scanner = createDelimiterScanner(reader, delimiter, lineEnd)
  let state: 'preamble' | 'parts' | 'over' = 'preamble'
  let isPartOpen = false
  let count = 0
  const nextPartBytes = async (): Promise<Uint8Array | undefined> => {
    const bytes = isPartOpen ? await scanner.piece() : undefined
    if (bytes === undefined) isPartOpen = false
    return bytes
  }
  return {
    async next() {
      if (state === 'over') return undefined
      if (state === 'preamble') await skipPreamble(scanner)
      while ((await nextPartBytes()) !== undefined);
      state = (await isLastDelimiter(scanner)) ? 'over' : 'parts'
      if (state === 'over') return undefined
      count += 1
      if (count > maxParts) throw malformedFormError(`there are more than ${maxParts} parts`)
      const facts = readFormPartHead(await readPartHeaders(scanner))
      isPartOpen = true
      return { ...facts, body: partBodyStream(nextPartBytes) }
    },
  }
}

async function skipPreamble({ piece }: DelimiterScanner): Promise<void> {
  let skipped = 0
  for (let bytes = await piece(); bytes !== undefined; bytes = await piece()) {
    skipped += bytes.byteLength
    if (skipped > maxPreambleBytes) throw malformedFormError('the first part does not begin')
  }
}

/** After a delimiter: two dashes end it all, anything but blanks before the line's end is no delimiter line. */
async function isLastDelimiter(scanner: DelimiterScanner): Promise<boolean> {
  for (let padding = 0; padding <= maxPaddingBytes; padding += 1) {
    const [byte] = await scanner.take(1)
    if (byte === 13 || (byte === dash && padding === 0)) {
      const [next] = await scanner.take(1)
      if (next === (byte === 13 ? 10 : dash)) return byte === dash
      break
    }
    if (byte !== 32 && byte !== 9) break
  }
  throw malformedFormError('a boundary is followed by something else')
}

async function readPartHeaders(scanner: DelimiterScanner): Promise<ReadonlyMap<string, string>> {
  const block = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(
    await scanner.until(headerEnd, maxHeaderBytes),
  )
  const headers = new Map<string, string>()
  for (const line of block.split('\r\n')) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)$/.exec(line) ?? []
    // A folded line has no name of its own, and no sender of forms writes one.
    if (name === undefined || value === undefined || headers.has(name.toLowerCase()))
      throw malformedFormError('a part has a header that cannot be read')
    headers.set(name.toLowerCase(), value.trimEnd())
  }
  return headers
}

function readFormPartHead(headers: ReadonlyMap<string, string>): Omit<FormPart, 'body'> {
  const { value, parameters } = parseHeaderParameters(headers.get('content-disposition') ?? '') ?? {}
  const name = parameters?.get('name')
  if (value !== 'form-data' || name === undefined) throw malformedFormError('a part has no name')
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary'
  if (!['7bit', '8bit', 'binary'].includes(encoding)) throw malformedFormError('a part is encoded')
  // Browsers write a quote in a name as %22.
  const filename = parameters?.get('filename')?.replaceAll('%22', '"')
  return { name, filename, contentType: headers.get('content-type') }
}

function partBodyStream(piece: () => Promise<Uint8Array | undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await piece()
        if (bytes === undefined) controller.close()
        else controller.enqueue(bytes)
      },
    },
    // Nothing is read ahead: a reader that stops asking stops the sender.
    { highWaterMark: 0 },
  )
}

// `; name=value` pairs of a header (RFC 9110 §5.6.6), strictly: whatever does not fit makes the whole header unreadable.

const parameterPattern =
  /\s*;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\\r\n]|\\[^\r\n])*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/y

export type ValueAndParameters = { readonly value: string; readonly parameters: ReadonlyMap<string, string> }

/** Undefined: cannot be read, or names a parameter twice, which readers resolve differently. */
export function parseHeaderParameters(header: string): ValueAndParameters | undefined {
  const end = header.indexOf(';')
  const value = (end === -1 ? header : header.slice(0, end)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  parameterPattern.lastIndex = end === -1 ? header.length : end
  while (parameterPattern.lastIndex < header.length) {
    const from = parameterPattern.lastIndex
    const found = parameterPattern.exec(header)
    if (found === null) return /^[\s;]*$/.test(header.slice(from)) ? { value, parameters } : undefined
    const [, name = '', quoted, token = ''] = found
    const key = name.toLowerCase()
    if (parameters.has(key)) return undefined
    // Only what would end the string is escaped: a backslash in an old path stays one.
    parameters.set(key, quoted === undefined ? token : quoted.replace(/\\(["\\])/g, '$1'))
  }
  return { value, parameters }
}

const boundaryPattern = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/

/** Of `multipart/form-data` (RFC 2046 §5.1.1); undefined for every other type. */
export function formBoundary(contentType: string | undefined): string | undefined {
  const { value, parameters } = parseHeaderParameters(contentType ?? '') ?? {}
  const boundary = parameters?.get('boundary') ?? ''
  return value === 'multipart/form-data' && boundaryPattern.test(boundary) ? boundary : undefined
}

// A stream is cut at a delimiter, however its chunks fall: never more in memory than one chunk and the delimiter's length.

type DelimiterScanner = {
  /** Bytes up to the delimiter, piece by piece; undefined once it has been passed. */
  readonly piece: () => Promise<Uint8Array | undefined>
  /** The next bytes, as many as asked for. */
  readonly take: (count: number) => Promise<Uint8Array>
  /** Everything before the first `mark`, which is passed over; refuses more than `max` bytes. */
  readonly until: (mark: Uint8Array, max: number) => Promise<Uint8Array>
}

/** `before`: what counts as having come before the first byte. */
function createDelimiterScanner(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  delimiter: Uint8Array,
  before: Uint8Array,
): DelimiterScanner {
  let held = before
  const readMoreBytes = async (): Promise<void> => {
    const { done, value } = await reader.read()
    if (done) throw malformedFormError('the body ends too early')
    held = held.byteLength === 0 ? value : concatBytes(held, value)
  }
  const takeBufferedBytes = (at: number): Uint8Array => {
    const taken = held.subarray(0, at)
    held = held.subarray(at)
    return taken
  }
  return {
    async piece() {
      for (;;) {
        const at = indexOfBytes(held, delimiter, 0)
        if (at === 0) {
          takeBufferedBytes(delimiter.byteLength)
          return undefined
        }
        const safe = at > 0 ? at : partialMatchStart(delimiter, held)
        if (safe > 0) return takeBufferedBytes(safe)
        await readMoreBytes()
      }
    },
    async take(count) {
      while (held.byteLength < count) await readMoreBytes()
      return takeBufferedBytes(count)
    },
    async until(mark, max) {
      let from = 0
      for (;;) {
        const at = indexOfBytes(held, mark, from)
        if (at > max || (at === -1 && held.byteLength > max + mark.byteLength))
          throw malformedFormError('a header is too long')
        if (at !== -1) {
          const found = takeBufferedBytes(at)
          takeBufferedBytes(mark.byteLength)
          return found
        }
        from = Math.max(0, held.byteLength - mark.byteLength + 1)
        await readMoreBytes()
      }
    },
  }
}

function malformedFormError(what: string): GatewayError {
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
