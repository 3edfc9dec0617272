// The head of one part: the few fields that say what the bytes below are. Of a field that is there twice, the first counts.
import { decodeCharset } from './charset.ts'
import { parseStructured, type StructuredValue } from './structured-value.ts'

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
  const fields = contentFields(bytes)
  const given = parseStructured(fields.get('content-type'))
  const isGiven = mimePattern.test(given.value)
  const value = isGiven ? given.value : fields.has('content-type') ? 'application/octet-stream' : fallback
  const encoding = parseStructured(fields.get('content-transfer-encoding')).value
  return {
    // `text` alone, without a subtype, is what very old mailers write.
    type: { value: given.value === 'text' ? 'text/plain' : value, params: given.params },
    encoding: encoding === 'base64' || encoding === 'quoted-printable' ? encoding : 'identity',
    disposition: parseStructured(fields.get('content-disposition')),
    contentId: readContentId(fields.get('content-id')),
  }
}

function contentFields(bytes: Uint8Array): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (let line = 0; line < bytes.length; ) {
    let end = lineEnd(bytes, line)
    while (end < bytes.length && (bytes[end] === space || bytes[end] === tab)) end = lineEnd(bytes, end)
    const colon = bytes.subarray(line, Math.min(end, line + 80)).indexOf(58)
    const name =
      colon === -1
        ? ''
        : latin1Chars(bytes.subarray(line, line + colon))
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

function lineEnd(bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(lf, from)
  return at === -1 ? bytes.length : at + 1
}

function latin1Chars(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

function readContentId(value: string | undefined): string | undefined {
  const id = value?.trim().replace(/^</, '').replace(/>$/, '').slice(0, 250)
  return id === undefined || id === '' ? undefined : id
}
