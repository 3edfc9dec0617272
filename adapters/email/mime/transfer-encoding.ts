// Decodes the transfer encoding of one part. Base64 is decoded by libraries, one part at a time: by mailparser on Node, which
// streams, and by postal-mime where there are no Node streams.

import { importOnNode } from '../../../src/contract/index.ts'
import type { Encoding } from './part-head.ts'

const [lf, cr, space, tab, equals] = [10, 13, 32, 9, 61]

/** `body`: the part as it was sent. */
export type DecodePart = (body: Uint8Array, encoding: Encoding) => Promise<ReadableStream<Uint8Array>>

export const decodePart: DecodePart = (body, encoding) => decodeTransferEncoding(decodeBase64Body, body, encoding)

/** The same with one library or the other, whichever runtime this is. */
export const decodeOnNode: DecodePart = (body, encoding) => decodeTransferEncoding(mailparserBase64, body, encoding)
export const decodeInWorkerd: DecodePart = (body, encoding) => decodeTransferEncoding(postalMimeBase64, body, encoding)

type DecodeBase64 = (body: Uint8Array) => Promise<ReadableStream<Uint8Array>>

async function decodeTransferEncoding(
  base64: DecodeBase64,
  body: Uint8Array,
  encoding: Encoding,
): Promise<ReadableStream<Uint8Array>> {
  switch (encoding) {
    case 'identity':
      return streamPieces(body)
    case 'quoted-printable':
      return quotedPieces(body)
    case 'base64':
      return base64(body)
    default:
      return encoding satisfies never
  }
}

const decodeBase64Body: DecodeBase64 = (body) => (isWorkerd() ? postalMimeBase64(body) : mailparserBase64(body))

function isWorkerd(): boolean {
  // Not every program's types know that there is one.
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}

const pieceBytes = 64 * 1024

function streamPieces(body: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at < body.length) controller.enqueue(body.subarray(at, at + pieceBytes))
      at += pieceBytes
      if (at >= body.length) controller.close()
    },
  })
}

function quotedPieces(body: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      const out = new Uint8Array(pieceBytes)
      const { next, written } = decodeQuoted(body, at, out)
      if (written > 0) controller.enqueue(out.subarray(0, written))
      at = next
      if (at >= body.length) controller.close()
    },
  })
}

/** A part alone, as a mail that is nothing else. */
const head =
  'Content-Type: application/octet-stream\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n'

const postalMimeBase64: DecodeBase64 = async (body) => {
  const { default: PostalMime } = await import('postal-mime')
  const mail = new Uint8Array(head.length + body.length)
  mail.set(new TextEncoder().encode(head))
  mail.set(onlyBase64Signs(body), head.length)
  const [part] = (await PostalMime.parse(mail)).attachments
  return streamPieces(part?.content instanceof ArrayBuffer ? new Uint8Array(part.content) : new Uint8Array())
}

/** As much of mailparser as is used here; its own types would bring Node's into every program. */
type Parser = {
  write(bytes: Uint8Array | string): boolean
  end(): void
  destroy(): void
  once(event: 'drain', listener: () => void): void
  on(event: 'error', listener: (error: unknown) => void): void
  on(event: 'end', listener: () => void): void
  on(event: 'data', listener: (data: ParserEvent) => void): void
}
type ParserEvent = { type: 'attachment'; content: AsyncIterable<Uint8Array>; release: () => void } | { type: 'text' }
type MailparserModule = { readonly MailParser: new (options: Readonly<Record<string, unknown>>) => Parser }

const mailparserBase64: DecodeBase64 = async (body) => {
  const { default: mailparser } = await importOnNode<{ readonly default: MailparserModule }>('mailparser')
  const { MailParser } = mailparser
  const parser = new MailParser({
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    checksumAlgo: 'sha256',
  })
  const begun = Promise.withResolvers<AsyncIterator<Uint8Array>>()
  parser.on('error', begun.reject)
  // A part in which it finds nothing must not be waited for.
  parser.on('end', () => begun.reject(new Error('the part was not found')))
  parser.on('data', (event) => {
    if (event.type !== 'attachment') return
    begun.resolve(releasedPieces(event))
  })
  feedParser(parser, body)
  const pieces = await begun.promise
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return?.()
      parser.destroy()
    },
  })
}

/** The parser waits until it is told that the part has been read. */
async function* releasedPieces({ content, release }: ParserEvent & { type: 'attachment' }): AsyncGenerator<Uint8Array> {
  for await (const piece of content) yield piece
  release()
}

/** Not faster than it is read: a part of many megabytes is never there twice. */
function feedParser(parser: Parser, body: Uint8Array): void {
  parser.write(head)
  let at = 0
  const feedMore = (): void => {
    while (at < body.length) {
      const piece = onlyBase64Signs(body.subarray(at, at + pieceBytes))
      at += pieceBytes
      if (!parser.write(piece)) {
        parser.once('drain', feedMore)
        return
      }
    }
    parser.end()
  }
  feedMore()
}

// Characters outside of the base64 alphabet are passed over (RFC 2045 6.8), here and not in a library: they disagree about it.

export function isBase64Sign(byte: number): boolean {
  const letter = byte | 0x20
  return (letter >= 97 && letter <= 122) || (byte >= 48 && byte <= 57) || byte === 43 || byte === 47
}

/** The same bytes, where there is nothing else among them; otherwise a copy with line ends in its place. */
function onlyBase64Signs(bytes: Uint8Array): Uint8Array {
  let clean = bytes
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (isBase64Sign(byte) || byte === equals || byte === lf || byte === 13) continue
    if (clean === bytes) clean = bytes.slice()
    clean[at] = lf
  }
  return clean
}

// Decodes quoted-printable (RFC 2045 6.7) in pieces. Our own: mailparser's takes hundreds of megabytes for a hostile part of 25,
// and postal-mime's writes other line ends than were sent, so a file would differ from one runtime to the other.

/** Fills `out` from `from` on; answers where to go on, and how much was written. What is no encoding stays as it is. */
export function decodeQuoted(
  body: Uint8Array,
  from: number,
  out: Uint8Array,
): { readonly next: number; readonly written: number } {
  let at = from
  let written = 0
  while (at < body.length && written < out.length) {
    const byte = body[at] ?? 0
    if (byte !== equals) {
      out[written] = byte
      written += 1
      at += 1
      continue
    }
    const high = hexValue(body[at + 1])
    const low = high === -1 ? -1 : hexValue(body[at + 2])
    const end = (body[at + 1] ?? lf) <= space ? softBreakEnd(body, at + 1) : -1
    if (end !== -1) at = end
    else {
      out[written] = low === -1 ? equals : high * 16 + low
      written += 1
      at += low === -1 ? 1 : 3
    }
  }
  return { next: at, written }
}

const maxPadding = 20

/** Behind an equal sign at the end of a line there may be spaces that came in on the way. */
function softBreakEnd(body: Uint8Array, from: number): number {
  let at = from
  while (at < from + maxPadding && (body[at] === space || body[at] === tab || body[at] === cr)) at += 1
  if (at >= body.length) return body.length
  return body[at] === lf ? at + 1 : -1
}

const hexValues = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? -1 : digit
})

function hexValue(byte: number | undefined): number {
  return hexValues[byte ?? 0] ?? -1
}
