// The fields of a posted form as bytes: a mail in it is not text, and a signature over it breaks with the first byte that was decoded.

const maxFields = 200
const [percent, plus, space, ampersand, equals] = [0x25, 0x2b, 0x20, 0x26, 0x3d]

export type FormFields = ReadonlyMap<string, Uint8Array>

/** Undefined: not a form, or one that no client would send. Of two fields with one name the first counts. */
export function parseFormFields(contentType: string, bytes: Uint8Array): FormFields | undefined {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded') return parseUrlencoded(bytes)
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType)
  const name = boundary?.[1] ?? boundary?.[2]
  return type === 'multipart/form-data' && name !== undefined ? parseMultipartForm(bytes, name) : undefined
}

export function decodeField(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : new TextDecoder().decode(bytes)
}

function parseUrlencoded(bytes: Uint8Array): FormFields | undefined {
  const fields = new Map<string, Uint8Array>()
  for (let at = 0, count = 0; at < bytes.length; count += 1) {
    if (count > maxFields) return undefined
    const end = indexOrLength(bytes.indexOf(ampersand, at), bytes)
    const pair = bytes.subarray(at, end)
    const middle = indexOrLength(pair.indexOf(equals), pair)
    const name = decodeField(decodePercent(pair.subarray(0, middle)))
    if (!fields.has(name)) fields.set(name, decodePercent(pair.subarray(middle + 1)))
    at = end + 1
  }
  return fields
}

function decodePercent(bytes: Uint8Array): Uint8Array {
  const plain = new Uint8Array(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    const code = byte === percent ? hexByteAt(bytes, at + 1) : undefined
    if (code !== undefined) at += 2
    plain[length] = code ?? (byte === plus ? space : byte)
    length += 1
  }
  return plain.subarray(0, length)
}

function hexByteAt(bytes: Uint8Array, at: number): number | undefined {
  const [high, low] = [hexDigit(bytes[at]), hexDigit(bytes[at + 1])]
  return high === undefined || low === undefined ? undefined : high * 16 + low
}

function hexDigit(byte = 0): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

/** RFC 7578; what is before the first boundary and after the last is ignored. */
function parseMultipartForm(bytes: Uint8Array, boundary: string): FormFields | undefined {
  const fields = new Map<string, Uint8Array>()
  const mark = asciiBytes(`--${boundary}`)
  const nextMark = asciiBytes(`\r\n--${boundary}`)
  const headEnd = asciiBytes('\r\n\r\n')
  let at = findBytes(bytes, mark, 0)
  for (let count = 0; at !== -1 && count <= maxFields; count += 1) {
    const start = at + mark.length
    if (bytes[start] === 0x2d && bytes[start + 1] === 0x2d) return fields
    const body = findBytes(bytes, headEnd, start)
    const end = body === -1 ? -1 : findBytes(bytes, nextMark, body + 2)
    if (end === -1) return undefined
    const name = /;\s*name="([^"\r\n]{1,100})"/i.exec(
      decodeField(bytes.subarray(start, Math.min(body, start + 2000))),
    )?.[1]
    if (name !== undefined && !fields.has(name)) fields.set(name, bytes.subarray(body + headEnd.length, end))
    at = end + 2
  }
  return undefined
}

function findBytes(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const first = wanted[0] ?? 0
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (wanted.every((byte, offset) => bytes[at + offset] === byte)) return at
  }
  return -1
}

function asciiBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function indexOrLength(at: number, bytes: Uint8Array): number {
  return at === -1 ? bytes.length : at
}
