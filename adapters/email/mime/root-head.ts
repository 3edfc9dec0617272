// How the body of a mail is to be read where its author signed the body and not the fields that say so. Large providers leave Content-Type
// out of their signatures, so any server on the way may change it or add one. The signed bytes decide then and those fields are not looked at:
// whatever is written there, the same body says the same. Blanks at line ends are passed over: signatures do not cover them.

import { decodeBase64, decodeLatin1 } from '../../../src/lib/index.ts'
import { type Encoding, type PartHead, readPartHead, type StructuredValue } from './part-head.ts'
import { decodeQuotedPrintable, isBase64Letter } from './transfer-encoding.ts'

/** Of the body, for finding out what it is. */
const maxLooked = 64 * 1024
const maxPreamble = 5
/** Of lines that were broken to be sent: 76, and a little for those who count otherwise. */
const maxLine = 80

/** `uncounted`: names of fields in small letters that say nothing. */
export function readRootHead(raw: Uint8Array, bodyStart: number, uncounted: readonly string[]): PartHead {
  const given = readPartHead(raw.subarray(0, bodyStart))
  if (uncounted.length === 0) return given
  const isTrustedHeadField = (name: string): boolean => !uncounted.includes(name)
  const body = raw.subarray(bodyStart)
  const boundary = isTrustedHeadField('content-type') ? undefined : inferBoundary(body)
  const charset = isTrustedHeadField('content-type') ? given.type.params.get('charset') : undefined
  const encoding = isTrustedHeadField('content-transfer-encoding') ? given.encoding : inferEncoding(body, charset)
  return {
    type: isTrustedHeadField('content-type') ? given.type : inferPartType(body, boundary, encoding),
    encoding: boundary === undefined ? encoding : 'identity',
    disposition: isTrustedHeadField('content-disposition') ? given.disposition : { value: '', params: new Map() },
    contentId: isTrustedHeadField('content-id') ? given.contentId : undefined,
  }
}

function inferPartType(body: Uint8Array, boundary: string | undefined, encoding: Encoding): StructuredValue {
  if (boundary !== undefined) return { value: unnamedMultipart, params: new Map([['boundary', boundary]]) }
  return { value: looksLikeHtml(decodeBodyStart(body, encoding)) ? 'text/html' : 'text/plain', params: new Map() }
}

/** Its children say what it is: body-text.ts. */
const unnamedMultipart = 'multipart/unnamed'

const preamble = /\bMIME\b/i
// RFC 2046 5.1.1
const boundaryLine = /^--([0-9A-Za-z'()+_,./:=?-](?:[0-9A-Za-z'()+_,./:=? -]{0,68}[0-9A-Za-z'()+_,./:=?-])?)$/

/**
 * Of a body that is parts and nothing else: a boundary first, the head of a part behind it, and the same boundary at the very end. Before it
 * only blank lines, or the sentence for readers who know no parts.
 */
function inferBoundary(body: Uint8Array): string | undefined {
  const lines = decodeLatin1(body.subarray(0, 4096)).split('\n').map(trimLineEnd)
  const at = lines.findIndex((line) => line.startsWith('--'))
  if (at === -1 || at > maxPreamble) return undefined
  if (!lines.slice(0, at).every((line) => line === '' || preamble.test(line))) return undefined
  const boundary = boundaryLine.exec(lines[at] ?? '')?.[1]
  if (boundary === undefined || !/^content-[a-z-]{1,40}:/i.test(lines[at + 1] ?? '')) return undefined
  return readLastBodyLine(body) === `--${boundary}--` ? boundary : undefined
}

function readLastBodyLine(body: Uint8Array): string {
  let end = body.length
  while (end > 0 && isSpaceOrLineBreak(body[end - 1])) end -= 1
  const start = body.lastIndexOf(10, end - 1) + 1
  return end - start > 80 ? '' : decodeLatin1(body.subarray(start, end))
}

/** `charset`: of a type that counts. */
function inferEncoding(body: Uint8Array, charset: string | undefined): Encoding {
  const lines = decodeLatin1(body.subarray(0, maxLooked)).split('\n').map(trimLineEnd)
  const isCut = body.length > maxLooked
  // The last of many may be cut.
  if (isCut && lines.length > 1) lines.pop()
  while (lines.length > 0 && lines.at(-1) === '') lines.pop()
  if (looksBase64(lines, isCut, charset)) return 'base64'
  return looksQuotedPrintable(lines, charset) ? 'quoted-printable' : 'identity'
}

/** Several lines of one length without a blank are nothing else. One line may be a word: it must say something that had to be encoded. */
function looksBase64(lines: readonly string[], isCut: boolean, charset: string | undefined): boolean {
  const last = lines.at(-1) ?? ''
  const [first = ''] = lines
  const areEven = lines
    .slice(0, -1)
    .every((line) => line.length === first.length && line.length >= 56 && isBase64Line(line))
  const isEnd = isCut ? isBase64Line(last) : /^[A-Za-z0-9+/]{2,}={0,2}$/.test(last) && last.length % 4 === 0
  if (!areEven || !isEnd || last.length > first.length) return false
  if (lines.length > 1) return true
  const bytes = decodeBase64Loosely(last.slice(0, 4096))
  return (
    isPlausibleDecodedText(bytes, 'utf-8') ||
    (last.length >= 24 && charset !== undefined && isPlausibleDecodedText(bytes, charset))
  )
}

/** Letters beyond ASCII, or lines, and nothing that no text has. */
function isPlausibleDecodedText(bytes: Uint8Array, charset: string): boolean {
  try {
    const text = new TextDecoder(charset, { fatal: true, ignoreBOM: false }).decode(bytes, { stream: true })
    return /[^\x20-\x7e]/.test(text) && !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text)
  } catch {
    return false
  }
}

function isBase64Line(line: string): boolean {
  for (let at = 0; at < line.length; at += 1) if (!isBase64Letter(line.charCodeAt(at))) return false
  return line.length % 4 === 0
}

/**
 * Every equal sign encodes something that text has, and one of them what plain text would not say so: a line that goes on, a letter beyond
 * ASCII, itself.
 */
function looksQuotedPrintable(lines: readonly string[], charset: string | undefined): boolean {
  let hasProof = false
  for (const [n, line] of lines.entries()) {
    if (line.length > maxLine || /[^\x20-\x7e\t]/.test(line)) return false
    for (const [whole] of line.matchAll(/=.{0,2}/g)) {
      if (whole === '=') hasProof ||= n < lines.length - 1
      else if (!/^=(?:0[9AD]|[2-9A-F][0-9A-F])$/.test(whole)) return false
      else hasProof ||= whole === '=3D'
    }
  }
  return hasProof || isPlausibleDecodedText(decodeQuotedText(lines.join('')), charset ?? 'utf-8')
}

/** A page begins with a tag that pages begin with. */
function looksLikeHtml(text: string): boolean {
  return /^\s*<(?:!doctype html|html|head|body|meta|div|p|table|span|style)\b/i.test(text) && text.includes('>')
}

function decodeBodyStart(body: Uint8Array, encoding: Encoding): string {
  const start = body.subarray(0, 1024)
  if (encoding === 'identity') return decodeLatin1(start)
  if (encoding === 'base64') return decodeLatin1(decodeBase64Loosely(decodeLatin1(start)))
  return decodeLatin1(decodeQuotedText(decodeLatin1(start)))
}

function decodeQuotedText(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  const out = new Uint8Array(bytes.length)
  return out.subarray(0, decodeQuotedPrintable(bytes, 0, out).written)
}

function decodeBase64Loosely(text: string): Uint8Array {
  const signs = text.replace(/[^A-Za-z0-9+/]/g, '')
  const whole = signs.length % 4 === 1 ? signs.slice(0, -1) : signs
  return decodeBase64(whole)
}

function trimLineEnd(line: string): string {
  let end = line.length
  while (end > 0 && isSpaceOrLineBreak(line.charCodeAt(end - 1))) end -= 1
  return line.slice(0, end)
}

function isSpaceOrLineBreak(code: number | undefined): boolean {
  return code === 32 || code === 9 || code === 13 || code === 10
}
