// What bytes are, read from their beginning. Nothing is unpacked, nothing is run, and what could be active
// in a browser is never called anything harmless.
import { sniffMagicNumber } from './magic-numbers.ts'
import { hasActiveMarker, looksLikeScript, sniffMarkup } from './markup.ts'
import { isPlainText } from './text.ts'
import { sniffZip } from './zip-type.ts'

export type Sniffed = { readonly mimeType: string; readonly isActive: boolean }

/** As many first bytes as the answer depends on; more may be given and are not looked at. */
export const sniffBytes = 16 * 1024

const unknownBinary: Sniffed = { mimeType: 'application/octet-stream', isActive: false }
/** Two things at once: to be kept from browsers under any name. */
const ambiguousBinary: Sniffed = { mimeType: 'application/octet-stream', isActive: true }

/** Browsers look no further than this for markup. */
const markerBytes = 1024

export function sniffType(firstBytes: Uint8Array): Sniffed {
  const head = firstBytes.subarray(0, sniffBytes)
  const magic = sniffMagicNumber(head)
  if (magic !== undefined) return toBinaryType(head, magic)
  const markup = sniffMarkup(head)
  if (markup !== undefined) return { mimeType: markup, isActive: true }
  // A PDF reader accepts junk before its header; a browser does not, so readers disagree on what this is.
  if (includesWord(head.subarray(0, markerBytes), '%PDF-')) return ambiguousBinary
  if (isPlainText(head)) return { mimeType: 'text/plain', isActive: false }
  return hasActiveMarker(head.subarray(0, markerBytes)) ? ambiguousBinary : unknownBinary
}

function toBinaryType(head: Uint8Array, mimeType: string): Sniffed {
  if (mimeType === 'application/zip') return { mimeType: sniffZip(head), isActive: false }
  // Cameras and editors write markup-like metadata into JPEG, whose magic number no script can begin with.
  if (mimeType === 'image/jpeg') return { mimeType, isActive: false }
  const isPolyglot = looksLikeScript(head) || hasActiveMarker(head.subarray(0, markerBytes))
  return isPolyglot ? ambiguousBinary : { mimeType, isActive: false }
}

function includesWord(bytes: Uint8Array, word: string): boolean {
  return new TextDecoder('latin1').decode(bytes).includes(word)
}
