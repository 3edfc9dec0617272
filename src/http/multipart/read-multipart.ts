// multipart/form-data (RFC 7578, RFC 2046 §5.1) as it flows: part by part, each part's bytes as a stream.
import { readParameters } from './parameters.ts'
import { createDelimiterScanner, type DelimiterScanner, malformedForm } from './scanner.ts'

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
      if (count > maxParts) throw malformedForm(`there are more than ${maxParts} parts`)
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
    if (skipped > maxPreambleBytes) throw malformedForm('the first part does not begin')
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
  throw malformedForm('a boundary is followed by something else')
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
      throw malformedForm('a part has a header that cannot be read')
    headers.set(name.toLowerCase(), value.trimEnd())
  }
  return headers
}

function readFormPartHead(headers: ReadonlyMap<string, string>): Omit<FormPart, 'body'> {
  const { value, parameters } = readParameters(headers.get('content-disposition') ?? '') ?? {}
  const name = parameters?.get('name')
  if (value !== 'form-data' || name === undefined) throw malformedForm('a part has no name')
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary'
  if (!['7bit', '8bit', 'binary'].includes(encoding)) throw malformedForm('a part is encoded')
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
