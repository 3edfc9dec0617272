// Decodes quoted-printable (RFC 2045 6.7) in pieces. Our own: mailparser's takes hundreds of megabytes for a hostile part of 25,
// and postal-mime's writes other line ends than were sent, so a file would differ from one runtime to the other.

const [lf, cr, space, tab, equals] = [10, 13, 32, 9, 61]

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
