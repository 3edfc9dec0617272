// Sniffs the type of bytes from their beginning. Nothing is unpacked, nothing is run, and what could be active in a browser is
// never called anything harmless.
import { decodeLatin1 } from '../lib/index.ts'
// in a browser is never called anything harmless.

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
  if (magic !== undefined) return refineBinaryType(head, magic)
  const markup = sniffMarkup(head)
  if (markup !== undefined) return { mimeType: markup, isActive: true }
  // A PDF reader accepts junk before its header; a browser does not, so readers disagree on what this is.
  if (bytesIncludeWord(head.subarray(0, markerBytes), '%PDF-')) return ambiguousBinary
  if (isPlainText(head)) return { mimeType: 'text/plain', isActive: false }
  return containsScriptOrMarkup(head.subarray(0, markerBytes)) ? ambiguousBinary : unknownBinary
}

function refineBinaryType(head: Uint8Array, mimeType: string): Sniffed {
  if (mimeType === 'application/zip') return { mimeType: sniffZip(head), isActive: false }
  // Cameras and editors write markup-like metadata into JPEG, whose magic number no script can begin with.
  if (mimeType === 'image/jpeg') return { mimeType, isActive: false }
  const isPolyglot = looksLikeScript(head) || containsScriptOrMarkup(head.subarray(0, markerBytes))
  return isPolyglot ? ambiguousBinary : { mimeType, isActive: false }
}

function bytesIncludeWord(bytes: Uint8Array, word: string): boolean {
  return new TextDecoder('latin1').decode(bytes).includes(word)
}

// Magic numbers as data: bytes in hexadecimal at an offset, `??` for any byte. The first row that fits wins.

type MagicNumber = readonly [mimeType: string, ...at: readonly (readonly [offset: number, hex: string])[]]

const magicNumbers: readonly MagicNumber[] = [
  ['image/png', [0, '89504e470d0a1a0a']],
  ['image/jpeg', [0, 'ffd8ff']],
  ['image/gif', [0, '474946383761']],
  ['image/gif', [0, '474946383961']],
  ['image/webp', [0, '52494646????????57454250']],
  ['audio/wav', [0, '52494646????????57415645']],
  ['video/x-msvideo', [0, '52494646????????41564920']],
  ['image/tiff', [0, '49492a00']],
  ['image/tiff', [0, '4d4d002a']],
  ['image/x-icon', [0, '00000100']],
  ['image/x-icon', [0, '00000200']],
  ['application/pdf', [0, '255044462d']],
  ['application/zip', [0, '504b0304']],
  ['application/zip', [0, '504b0506']],
  ['application/gzip', [0, '1f8b08']],
  ['application/x-bzip2', [0, '425a68??314159265359']],
  ['application/x-xz', [0, 'fd377a585a00']],
  ['application/zstd', [0, '28b52ffd']],
  ['application/x-7z-compressed', [0, '377abcaf271c']],
  ['application/vnd.rar', [0, '526172211a07']],
  ['application/x-tar', [257, '7573746172']],
  ['audio/mpeg', [0, '494433']],
  ['audio/flac', [0, '664c6143']],
  ['application/x-ole-storage', [0, 'd0cf11e0a1b11ae1']],
  ['application/x-elf', [0, '7f454c46']],
  ['application/x-mach-binary', [0, 'feedface']],
  ['application/x-mach-binary', [0, 'feedfacf']],
  ['application/x-mach-binary', [0, 'cefaedfe']],
  ['application/x-mach-binary', [0, 'cffaedfe']],
  // Also the first bytes of a Java class.
  ['application/x-mach-binary', [0, 'cafebabe']],
  ['application/wasm', [0, '0061736d']],
  ['application/rtf', [0, '7b5c727466']],
  ['application/postscript', [0, '25215053']],
  ['font/woff', [0, '774f4646']],
  ['font/woff2', [0, '774f4632']],
  ['font/ttf', [0, '0001000000']],
  ['font/otf', [0, '4f54544f']],
  ['application/vnd.sqlite3', [0, '53514c69746520666f726d6174203300']],
]

/** The type a magic number stands for; `application/zip` for all that is packed that way. */
function sniffMagicNumber(head: Uint8Array): string | undefined {
  const row = magicNumbers.find(([, ...at]) => at.every(([offset, hex]) => hasBytesAt(head, offset, hex)))
  if (row !== undefined) return row[0]
  return (
    isoMediaType(head) ??
    oggType(head) ??
    matroskaType(head) ??
    bitmapType(head) ??
    windowsProgramType(head) ??
    sniffAudioFrame(head)
  )
}

const imageBrands = /^(avif|avis|heic|heix|hevc|hevx|heim|heis|mif1|msf1)$/

/** ISO base media: the brand says whether the box holds a picture, sound or a film. */
function isoMediaType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 4, 8) !== 'ftyp') return undefined
  const brand = latin1Slice(head, 8, 12)
  if (brand.startsWith('avi')) return 'image/avif'
  if (imageBrands.test(brand)) return 'image/heic'
  if (/^M4[AB] $/.test(brand)) return 'audio/mp4'
  return brand === 'qt  ' ? 'video/quicktime' : 'video/mp4'
}

function oggType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 0, 4) !== 'OggS') return undefined
  return latin1Slice(head, 28, 35).includes('theora') ? 'video/ogg' : 'audio/ogg'
}

function matroskaType(head: Uint8Array): string | undefined {
  if (!hasBytesAt(head, 0, '1a45dfa3')) return undefined
  return latin1Slice(head, 4, 64).includes('webm') ? 'video/webm' : 'video/x-matroska'
}

/** Two letters alone would make a bitmap of any text beginning with them; the reserved words must be zero as well. */
function bitmapType(head: Uint8Array): string | undefined {
  return hasBytesAt(head, 0, '424d????????00000000') ? 'image/bmp' : undefined
}

/** A Windows program names the place of its second header. */
function windowsProgramType(head: Uint8Array): string | undefined {
  if (latin1Slice(head, 0, 2) !== 'MZ' || head.length < 64) return undefined
  const at = new DataView(head.buffer, head.byteOffset, head.byteLength).getUint32(60, true)
  const isProgram = hasBytesAt(head, at, '50450000') || head.includes(0)
  return isProgram ? 'application/vnd.microsoft.portable-executable' : undefined
}

/**
 * MPEG audio without a tag in front begins with a frame: eleven set bits, then version, layer and rates that exist. Layer I is
 * left out: it is not in use, and it would swallow the byte order mark of UTF-16.
 */
function sniffAudioFrame(head: Uint8Array): string | undefined {
  const [first = 0, second = 0, third = 0] = head
  if (first !== 0xff || (second & 0xe0) !== 0xe0 || head.length < 4) return undefined
  const layer = (second >> 1) & 3
  if (layer === 0) return (second & 0xf6) === 0xf0 ? 'audio/aac' : undefined
  const isFrame =
    layer !== 3 && ((second >> 3) & 3) !== 1 && third >> 4 !== 15 && third >> 4 !== 0 && ((third >> 2) & 3) !== 3
  return isFrame ? 'audio/mpeg' : undefined
}

function hasBytesAt(head: Uint8Array, offset: number, hex: string): boolean {
  if (offset + hex.length / 2 > head.length) return false
  for (let index = 0; index < hex.length; index += 2) {
    const pair = hex.slice(index, index + 2)
    if (pair !== '??' && head[offset + index / 2] !== Number.parseInt(pair, 16)) return false
  }
  return true
}

function latin1Slice(head: Uint8Array, start: number, end: number): string {
  return new TextDecoder('latin1').decode(head.subarray(start, end))
}

// Markup and script: what a browser would run. Seen through byte order marks, UTF-16, white space and comments.

const encodings: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
  // Without a mark: a `<` between zeros.
  [[0x3c, 0x00], 'utf-16le'],
  [[0x00, 0x3c], 'utf-16be'],
]

const htmlTag =
  /^<(?:!doctype\s+html|html|head|body|title|meta|link|base|style|script|iframe|frame|frameset|object|embed|applet|form|table|div|span|img|video|audio|math|template|marquee|details|font|center|h[1-6]|br|hr|p|a|b|i|ul|ol|input|button|svg:svg)(?=[\s/>]|$)/i
const activeMarker =
  /<(?:script|html|svg|iframe|body|head|object|embed|frameset|meta|style|form|!doctype|\?php|!entity)(?=[\s/>\x00]|$)|javascript:/i

/** `text/html`, `image/svg+xml`, `application/xhtml+xml`, `text/xml`, or nothing of the kind. */
function sniffMarkup(head: Uint8Array): string | undefined {
  const text = skipComments(decodeHead(head).trimStart())
  if (!text.startsWith('<')) return undefined
  if (/^<(?:[a-z0-9]+:)?svg(?=[\s/>:]|$)/i.test(text) || /^<!doctype\s+svg/i.test(text)) return 'image/svg+xml'
  if (htmlTag.test(text)) return 'text/html'
  if (/^<(?:\?xml|!doctype|!entity|\?)/i.test(text)) return xmlType(text)
  // Any other tag: a custom element to a browser, XML to a program. Only what opens one counts, `<3` does not.
  return /^<[a-z!/][^<]{0,200}>/i.test(text) ? 'text/xml' : undefined
}

function xmlType(text: string): string {
  if (/<(?:[a-z0-9]+:)?svg[\s>]/i.test(text)) return 'image/svg+xml'
  if (/<(?:[a-z0-9]+:)?html[\s>]/i.test(text)) return 'application/xhtml+xml'
  return 'text/xml'
}

/** Markup somewhere in bytes that are called something else, also with a zero between its letters. */
function containsScriptOrMarkup(head: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(head)
  return activeMarker.test(text) || activeMarker.test(text.replaceAll('\u0000', ''))
}

/** A magic number in letters can be the name of a variable: `GIF89a=1` and `GIF89a/*` begin a script. */
function looksLikeScript(head: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64))
  return /^(?:GIF8[79]a|BM|RIFF|ID3|OTTO|wOF[F2]|fLaC|OggS|MZ)\s*(?:\/[*/]|=|\()/.test(text)
}

function decodeHead(head: Uint8Array): string {
  const encoding = encodings.find(([mark]) => mark.every((byte, index) => head[index] === byte))?.[1] ?? 'utf-8'
  return new TextDecoder(encoding).decode(head)
}

/** One forward search per comment: a page full of them costs its length. */
function skipComments(text: string): string {
  let at = 0
  while (text.startsWith('<!--', at)) {
    const end = text.indexOf('-->', at + 4)
    // A comment that does not end here hides what follows; browsers would still read it as a page.
    if (end < 0) return '<!doctype html>'
    at = end + 3
    while (/\s/.test(text.charAt(at))) at += 1
  }
  return text.slice(at)
}

const allowedControls = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b])

/** Valid UTF-8 (or UTF-16 with its mark) without control characters that no text has. A cut-off last character is no fault. */
function isPlainText(head: Uint8Array): boolean {
  if (head.length === 0) return false
  const encoding = utf16Encoding(head)
  if (encoding === undefined && head.some(isBinaryControl)) return false
  try {
    // `stream` leaves the bytes of an unfinished last character for later instead of failing on them.
    const text = new TextDecoder(encoding ?? 'utf-8', { fatal: true, ignoreBOM: false }).decode(head, { stream: true })
    return encoding === undefined || !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text)
  } catch {
    return false
  }
}

function utf16Encoding(head: Uint8Array): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
}

function isBinaryControl(byte: number): boolean {
  return (byte < 0x20 && !allowedControls.has(byte)) || byte === 0x7f
}

// What a zip file is for, from the names at its beginning. Nothing is unpacked: a bomb in it stays bytes.

const officeTypes: readonly (readonly [prefix: string, mimeType: string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]
const declaredInside = /^application\/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]{1,40})$/
const headerLength = 30
const maxNames = 64

function sniffZip(head: Uint8Array): string {
  const names = listZipEntryNames(head)
  if (names[0] === 'mimetype') return zipDeclaredType(head) ?? 'application/zip'
  for (const [prefix, mimeType] of officeTypes) if (names.some((name) => name.startsWith(prefix))) return mimeType
  if (names.includes('AndroidManifest.xml')) return 'application/vnd.android.package-archive'
  return names.includes('META-INF/MANIFEST.MF') ? 'application/java-archive' : 'application/zip'
}

/** OpenDocument and EPUB store their type first and uncompressed, so that it can be read like a magic number. */
function zipDeclaredType(head: Uint8Array): string | undefined {
  const view = toDataView(head)
  if (head.length < headerLength || view.getUint16(8, true) !== 0) return undefined
  const start = headerLength + view.getUint16(26, true) + view.getUint16(28, true)
  const text = decodeLatin1(head.subarray(start, start + 100)).split('PK')[0] ?? ''
  return declaredInside.test(text.trim()) ? text.trim() : undefined
}

/** By their signature and not by their lengths: a streamed zip does not know its lengths in advance. */
function listZipEntryNames(head: Uint8Array): readonly string[] {
  const view = toDataView(head)
  const names: string[] = []
  for (let at = 0; at + headerLength <= head.length && names.length < maxNames; at += 1) {
    if (view.getUint32(at, true) !== 0x04034b50) continue
    const start = at + headerLength
    names.push(decodeLatin1(head.subarray(start, start + Math.min(view.getUint16(at + 26, true), 200))))
    at = start - 1
  }
  return names
}

function toDataView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
