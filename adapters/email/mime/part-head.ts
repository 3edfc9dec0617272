// Parses the head of one part: the few fields that say what the bytes below are. Of a field that is there twice, the first counts.
import { decodeCharset } from './charset.ts'

export type Encoding = 'base64' | 'quoted-printable' | 'identity'

export type PartHead = {
  readonly type: StructuredValue
  readonly encoding: Encoding
  readonly disposition: StructuredValue
  readonly contentId: string | undefined
}

/** Where the head ends and the body begins. `isOver`: it does not end within the bounds. */
export type HeadEnd = { readonly headEnd: number; readonly bodyStart: number; readonly isOver: boolean }

const [lf, cr, space, tab] = [10, 13, 32, 9]
const known = new Set(['content-type', 'content-transfer-encoding', 'content-disposition', 'content-id'])
const mimePattern = /^[a-z0-9!#$&^_.+-]{1,80}\/[a-z0-9!#$&^_.+-]{1,120}$/

/** The first empty line from `start`, searched up to `limit`. */
export function findHeadEnd(raw: Uint8Array, start: number, limit: number): HeadEnd {
  const end = Math.min(raw.length, limit)
  for (let line = start; line < end; ) {
    const next = raw.indexOf(lf, line)
    const stop = next === -1 ? raw.length : next
    if (stop === line || (stop === line + 1 && raw[line] === cr))
      return { headEnd: line, bodyStart: Math.min(stop + 1, raw.length), isOver: false }
    if (next === -1) break
    line = next + 1
  }
  return { headEnd: end, bodyStart: end, isOver: end < raw.length }
}

/** `fallback`: what a part is that says nothing, or nothing that can be read. */
export function readPartHead(bytes: Uint8Array, fallback = 'text/plain'): PartHead {
  const fields = readContentFields(bytes)
  const given = parseStructuredHeader(fields.get('content-type'))
  const isGiven = mimePattern.test(given.value)
  const value = isGiven ? given.value : fields.has('content-type') ? 'application/octet-stream' : fallback
  const encoding = parseStructuredHeader(fields.get('content-transfer-encoding')).value
  return {
    // `text` alone, without a subtype, is what very old mailers write.
    type: { value: given.value === 'text' ? 'text/plain' : value, params: given.params },
    encoding: encoding === 'base64' || encoding === 'quoted-printable' ? encoding : 'identity',
    disposition: parseStructuredHeader(fields.get('content-disposition')),
    contentId: readContentId(fields.get('content-id')),
  }
}

function readContentFields(bytes: Uint8Array): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (let line = 0; line < bytes.length; ) {
    let end = findLineEnd(bytes, line)
    while (end < bytes.length && (bytes[end] === space || bytes[end] === tab)) end = findLineEnd(bytes, end)
    const colon = bytes.subarray(line, Math.min(end, line + 80)).indexOf(58)
    const name =
      colon === -1
        ? ''
        : latin1ToString(bytes.subarray(line, line + colon))
            .trimEnd()
            .toLowerCase()
    if (known.has(name) && !fields.has(name))
      fields.set(
        name,
        decodeCharset(bytes.subarray(line + colon + 1, end), undefined)
          .replace(/\r?\n(?=[ \t])/g, '')
          .replace(/[\r\n]+/g, ' '),
      )
    line = end
  }
  return fields
}

function findLineEnd(bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(lf, from)
  return at === -1 ? bytes.length : at + 1
}

function latin1ToString(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

function readContentId(value: string | undefined): string | undefined {
  const id = value?.trim().replace(/^</, '').replace(/>$/, '').slice(0, 250)
  return id === undefined || id === '' ? undefined : id
}

// A header value with parameters: `text/plain; charset="utf-8"; name*0*=utf-8''…` (RFC 2045, RFC 2231). One pass over it.

export type StructuredValue = {
  /** In small letters. */
  readonly value: string
  /** By name in small letters; of two with one name the first counts. Continuations are joined and decoded. */
  readonly params: ReadonlyMap<string, string>
}

const maxLength = 16 * 1024
const maxSections = 64

export function parseStructuredHeader(text: string | undefined): StructuredValue {
  const [first = '', ...rest] = splitAtSemicolons((text ?? '').slice(0, maxLength))
  const raw = new Map<string, string>()
  for (const section of rest) {
    const at = section.indexOf('=')
    const name = (at === -1 ? section : section.slice(0, at)).trim().toLowerCase()
    if (name !== '' && !raw.has(name)) raw.set(name, at === -1 ? '' : section.slice(at + 1).trim())
  }
  return { value: first.trim().toLowerCase(), params: joinParameterContinuations(raw) }
}

/** Split at semicolons outside of quotes; comments and quotes are taken off on the way. */
function splitAtSemicolons(text: string): readonly string[] {
  const found: string[] = []
  let piece = ''
  let isQuoted = false
  let comments = 0
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at)
    if (sign === '\\' && (isQuoted || comments > 0)) {
      at += 1
      if (comments === 0) piece += text.charAt(at)
    } else if (sign === '"' && comments === 0) isQuoted = !isQuoted
    else if (isQuoted) piece += sign
    else if (sign === '(' && (comments > 0 || opensComment(piece))) comments += 1
    else if (sign === ')' && comments > 0) comments -= 1
    else if (comments > 0) continue
    else if (sign === ';') {
      found.push(piece)
      piece = ''
      if (found.length === maxSections) return found
    } else piece += sign
  }
  return [...found, piece]
}

/** `name=Invoice(1).pdf` holds no comment: one needs a space before it, or nothing. */
function opensComment(piece: string): boolean {
  const last = piece.charAt(piece.length - 1)
  return last === '' || last === ' ' || last === '\t' || !piece.includes('=')
}

function joinParameterContinuations(raw: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const params = new Map<string, string>()
  for (const [name, value] of raw) if (!name.includes('*')) params.set(name, value)
  // What RFC 2231 says about a name is preferred to a plain one beside it, which is there for old readers.
  const names = [...raw.keys()].filter((name) => name.includes('*')).map((name) => name.slice(0, name.indexOf('*')))
  for (const name of new Set(names)) params.set(name, readExtendedParameter(name, raw))
  return params
}

function readExtendedParameter(name: string, raw: ReadonlyMap<string, string>): string {
  const whole = raw.get(`${name}*`)
  if (whole !== undefined) return decodeExtendedParameter([{ text: whole, isEncoded: true }])
  const pieces: Piece[] = []
  for (let index = 0; index < maxSections; index += 1) {
    const encoded = raw.get(`${name}*${index}*`)
    const text = encoded ?? raw.get(`${name}*${index}`)
    if (text === undefined) break
    pieces.push({ text, isEncoded: encoded !== undefined })
  }
  return decodeExtendedParameter(pieces)
}

type Piece = { readonly text: string; readonly isEncoded: boolean }

/** The bytes of all pieces are joined before they are decoded: a letter may be cut in two. */
function decodeExtendedParameter(pieces: readonly Piece[]): string {
  const [first] = pieces
  const label = first?.isEncoded === true ? /^([^']*)'[^']*'/.exec(first.text) : null
  const bytes: number[] = []
  for (const [index, { text, isEncoded }] of pieces.entries()) {
    const rest = index === 0 && label !== null ? text.slice(label[0].length) : text
    bytes.push(...(isEncoded ? decodePercentToBytes(rest) : new TextEncoder().encode(rest)))
  }
  return decodeCharset(new Uint8Array(bytes), label?.[1])
}

function decodePercentToBytes(text: string): readonly number[] {
  const bytes: number[] = []
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charAt(at) === '%' ? Number.parseInt(text.slice(at + 1, at + 3), 16) : Number.NaN
    if (Number.isNaN(code)) bytes.push(...new TextEncoder().encode(text.charAt(at)))
    else {
      bytes.push(code)
      at += 2
    }
  }
  return bytes
}
