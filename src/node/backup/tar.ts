// Tar archives as every tar program reads and writes them (POSIX ustar, with pax headers for long names): written and read
// piece by piece, never held whole.

const blockBytes = 512
const maxNameBytes = 100
/** Eleven octal digits. */
const maxEntryBytes = 8 ** 11 - 1
/** A pax header of ours holds one path. */
const maxPaxBytes = 64 * 1024

export type TarEntry = {
  readonly name: string
  readonly size: number
  /** What is not read of it is skipped when the next entry is asked for. */
  readonly body: AsyncIterable<Buffer>
}

export type TarWriter = {
  /** `chunks` together must be `size` bytes. */
  readonly add: (name: string, size: number, chunks: AsyncIterable<Buffer> | Iterable<Buffer>) => Promise<void>
  readonly finish: () => Promise<void>
}

/** `write` resolves when more may be written. */
export function createTarWriter(write: (bytes: Buffer) => Promise<void>, modifiedAt: Date): TarWriter {
  const mtime = Math.max(0, Math.floor(modifiedAt.getTime() / 1000))
  const padToBlock = (size: number): Promise<void> => write(Buffer.alloc(-size & (blockBytes - 1)))
  return {
    async add(name, size, chunks) {
      if (size > maxEntryBytes) throw new Error(`${name} is too large for one entry of a tar archive`)
      if (!fitsTarHeader(name)) {
        const record = formatPaxRecord('path', name)
        await write(tarHeader('PaxHeader', record.length, mtime, 'x'))
        await write(record)
        await padToBlock(record.length)
      }
      await write(tarHeader(fitsTarHeader(name) ? name : 'long-name', size, mtime, '0'))
      let written = 0
      for await (const chunk of chunks) {
        written += chunk.length
        if (written > size) break
        await write(chunk)
      }
      if (written !== size) throw new Error(`${name} changed its size while it was read`)
      await padToBlock(size)
    },
    finish: () => write(Buffer.alloc(2 * blockBytes)),
  }
}

function fitsTarHeader(name: string): boolean {
  return Buffer.byteLength(name) <= maxNameBytes && /^[\u0020-\u007e]+$/.test(name)
}

function tarHeader(name: string, size: number, mtime: number, type: '0' | 'x'): Buffer {
  const block = Buffer.alloc(blockBytes)
  const formatOctal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`
  block.write(name, 0)
  block.write(formatOctal(0o600, 7), 100)
  block.write(formatOctal(0, 7), 108)
  block.write(formatOctal(0, 7), 116)
  block.write(formatOctal(size, 11), 124)
  block.write(formatOctal(mtime, 11), 136)
  block.write(type, 156)
  block.write('ustar\u000000', 257)
  block.write(`${headerChecksum(block).toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** POSIX: the sum of all bytes, with spaces where the sum itself stands. */
function headerChecksum(block: Buffer): number {
  let sum = 0
  for (let at = 0; at < blockBytes; at += 1) sum += at >= 148 && at < 156 ? 32 : (block[at] ?? 0)
  return sum
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function formatPaxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes + 1
  while (String(length).length + bytes !== length) length = String(length).length + bytes
  return Buffer.from(`${length}${rest}`)
}

/** The archive is cut off, damaged, or none. */
export class ArchiveError extends Error {}

/** Its end is read to the last byte, which lets a decompressor check it. */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry, void, undefined> {
  const bytes = createByteReader(source)
  let longName: string | undefined
  for (;;) {
    const block = await bytes.exactly(blockBytes)
    if (block.every((byte) => byte === 0)) break
    const { name, size, type } = parseHeader(block)
    if (type === 'x') {
      if (size > maxPaxBytes) throw new ArchiveError('a header of the archive is too long')
      longName = readPaxPath(await bytes.exactly(size))
      await bytes.exactly(-size & (blockBytes - 1))
      continue
    }
    let left = size
    const body = (async function* () {
      while (left > 0) {
        const chunk = await bytes.atMost(left)
        left -= chunk.length
        yield chunk
      }
    })()
    yield { name: longName ?? name, size, body }
    longName = undefined
    while (left > 0) left -= (await bytes.atMost(left)).length
    await bytes.exactly(-size & (blockBytes - 1))
  }
  await bytes.drain()
}

type Header = { readonly name: string; readonly size: number; readonly type: '0' | 'x' }

function parseHeader(block: Buffer): Header {
  const headerText = (start: number, end: number): string => block.toString('utf8', start, end).split('\0', 1)[0] ?? ''
  const headerNumber = (start: number, end: number): number => Number.parseInt(headerText(start, end).trim(), 8)
  if (headerNumber(148, 156) !== headerChecksum(block)) throw new ArchiveError('a header of the archive is damaged')
  const type = headerText(156, 157) || '0'
  if (type !== '0' && type !== 'x') throw new ArchiveError(`the archive holds an entry of type ${JSON.stringify(type)}`)
  const size = headerNumber(124, 136)
  if (!Number.isSafeInteger(size)) throw new ArchiveError('a header of the archive has no size')
  const isPosix = headerText(257, 262) === 'ustar'
  const prefix = isPosix ? headerText(345, 500) : ''
  return { name: prefix === '' ? headerText(0, 100) : `${prefix}/${headerText(0, 100)}`, size, type }
}

function readPaxPath(record: Buffer): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(record.toString('utf8'))?.[1]
}

type ByteReader = {
  readonly exactly: (size: number) => Promise<Buffer>
  /** At least one byte. */
  readonly atMost: (size: number) => Promise<Buffer>
  readonly drain: () => Promise<void>
}

function createByteReader(source: AsyncIterable<Buffer>): ByteReader {
  const iterator = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const nextChunk = async (): Promise<Buffer> => {
    const { value, done } = await iterator.next()
    if (done === true) throw new ArchiveError('the archive ends too early')
    return value
  }
  const readAtMost = async (size: number): Promise<Buffer> => {
    while (rest.length === 0) rest = await nextChunk()
    const taken = rest.subarray(0, size)
    rest = rest.subarray(taken.length)
    return taken
  }
  return {
    atMost: readAtMost,
    async exactly(size) {
      const pieces: Buffer[] = []
      for (let left = size; left > 0; ) {
        const piece = await readAtMost(left)
        left -= piece.length
        pieces.push(piece)
      }
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    },
    async drain() {
      for (let read = await iterator.next(); read.done !== true; read = await iterator.next());
    },
  }
}
