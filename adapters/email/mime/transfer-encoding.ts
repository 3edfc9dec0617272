// Decodes the transfer encoding of one part, in pieces: a part of many megabytes is never there twice.

import type { Encoding } from './part-head.ts'

const [lf, cr, space, tab, equals] = [10, 13, 32, 9, 61]

/** Of one part; `body`: as it was sent. */
export function decodePart(body: Uint8Array, encoding: Encoding): ReadableStream<Uint8Array> {
  switch (encoding) {
    case 'identity':
      return streamUndecodedBytes(body)
    case 'quoted-printable':
      return streamDecodedQuotedPrintable(body)
    case 'base64':
      return streamDecodedBase64(body)
    default:
      return encoding satisfies never
  }
}

const pieceBytes = 64 * 1024

function streamUndecodedBytes(body: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at < body.length) controller.enqueue(body.subarray(at, at + pieceBytes))
      at += pieceBytes
      if (at >= body.length) controller.close()
    },
  })
}

function streamDecodedQuotedPrintable(body: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      const out = new Uint8Array(pieceBytes)
      const { next, written } = decodeQuotedPrintable(body, at, out)
      if (written > 0) controller.enqueue(out.subarray(0, written))
      at = next
      if (at >= body.length) controller.close()
    },
  })
}

/** Characters outside of the alphabet are passed over (RFC 2045 6.8), and so is padding, which parts of parts leave in the middle. */
function streamDecodedBase64(body: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0
  // What the letters so far say beyond the last whole byte; one letter alone at the end says nothing.
  let bits = 0
  let bitCount = 0
  return new ReadableStream({
    pull(controller) {
      const out = new Uint8Array(pieceBytes)
      let written = 0
      for (; at < body.length && written < out.length; at += 1) {
        const value = base64Values[body[at] ?? 0] ?? -1
        if (value === -1) continue
        bits = ((bits << 6) | value) & 0x3fff
        bitCount += 6
        if (bitCount < 8) continue
        bitCount -= 8
        out[written] = bits >> bitCount
        written += 1
      }
      if (written > 0) controller.enqueue(out.subarray(0, written))
      if (at >= body.length) controller.close()
    },
  })
}

const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const base64Values = Int8Array.from({ length: 256 }, (_, byte) => base64Alphabet.indexOf(String.fromCharCode(byte)))

export function isBase64Letter(byte: number): boolean {
  return (base64Values[byte] ?? -1) !== -1
}

// Decodes quoted-printable (RFC 2045 6.7) in pieces. Our own: mailparser's takes hundreds of megabytes for a hostile part of 25,
// and postal-mime's writes other line ends than were sent, so a file would differ from one runtime to the other.

/** Fills `out` from `from` on; answers where to go on, and how much was written. What is no encoding stays as it is. */
export function decodeQuotedPrintable(
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
    const end = (body[at + 1] ?? lf) <= space ? findSoftBreakEnd(body, at + 1) : -1
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
function findSoftBreakEnd(body: Uint8Array, from: number): number {
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
