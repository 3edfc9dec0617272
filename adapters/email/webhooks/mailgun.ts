// Mailgun's webhook (a route whose URL ends in "mime"): the whole mail as a field of a form. Its signature covers a timestamp and
// a token and not the mail, so a token is remembered with the mail it came with and brings in no other.
import type { RawRequest } from '../../../src/contract/index.ts'
import { checkClockSkew, type Secret } from '../../../src/lib/index.ts'
import { type IngressResult, mailTooLarge, rejectedRequest } from '../ingress/received.ts'
import {
  claimOneTimeValue,
  isSignedByAnySecret,
  parseUnixSeconds,
  sha256HexBytes,
  type WebhookDeps,
} from './signed-webhook.ts'

/** Mailgun tries for eight hours; its documentation does not say that it signs every try anew. */
const tolerance = { maxAgeMs: 9 * 3_600_000, maxAheadMs: 300_000 }

export async function verifyMailgun(
  keys: readonly Secret[],
  deps: WebhookDeps,
  rawRequest: RawRequest,
): Promise<IngressResult> {
  const fields = parseFormFields(rawRequest.headers['content-type'] ?? '', rawRequest.bytes)
  if (fields === undefined) return rejectedRequest('malformed_request')
  const [timestamp, token] = [decodeField(fields.get('timestamp')), decodeField(fields.get('token'))]
  if (timestamp === '' || token === '' || token.length > 200) return rejectedRequest('missing_credential')
  const signature = decodeField(fields.get('signature'))
  const signed = { text: `${timestamp}${token}`, signature, expectedPrefix: '', allowRawHex: true }
  if (!(await isSignedByAnySecret(keys, deps.hmac, signed))) return rejectedRequest('bad_signature')
  const clock = checkClockSkew(parseUnixSeconds(timestamp) * 1000, deps.now(), tolerance)
  if (clock !== 'fresh') return rejectedRequest(clock)
  return readMailgunMail(fields, token, deps, rawRequest)
}

async function readMailgunMail(
  fields: FormFields,
  token: string,
  deps: WebhookDeps,
  { receivedAt }: RawRequest,
): Promise<IngressResult> {
  const raw = fields.get('body-mime')?.slice()
  const [sender, recipient] = [fields.get('sender'), decodeField(fields.get('recipient'))]
  if (raw === undefined || recipient === '') return rejectedRequest('malformed_request')
  if (raw.byteLength > deps.maxBytes) return mailTooLarge
  if (deps.ttlStore === undefined) return { kind: 'later', reason: 'no_notes' }
  const mailFrom = sender === undefined ? undefined : decodeField(sender)
  const rcptTo = recipient.split(',').map((each) => each.trim())
  if (rcptTo.length > 50) return rejectedRequest('malformed_request')
  const body = `${await sha256HexBytes(raw)} ${JSON.stringify([mailFrom ?? null, rcptTo])}`
  const lifeMs = tolerance.maxAgeMs + tolerance.maxAheadMs
  if (!(await claimOneTimeValue(deps.ttlStore, { family: 'mailgun-token', value: token, body, lifeMs })))
    return rejectedRequest('replayed')
  return { kind: 'mail', mail: { way: 'mailgun', raw, envelope: { mailFrom, rcptTo }, receivedAt } }
}

// Form fields are bytes: a mail in one is not text, and a signature over it breaks with the first byte that was decoded.

const maxFields = 200
const [percent, plus, space, ampersand, equals] = [0x25, 0x2b, 0x20, 0x26, 0x3d]

type FormFields = ReadonlyMap<string, Uint8Array>

/** Undefined: not a form, or one that no client would send. Of two fields with one name the first counts. */
export function parseFormFields(contentType: string, bytes: Uint8Array): FormFields | undefined {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded') return parseUrlencoded(bytes)
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType)
  const name = boundary?.[1] ?? boundary?.[2]
  return type === 'multipart/form-data' && name !== undefined ? parseMultipartForm(bytes, name) : undefined
}

function decodeField(bytes: Uint8Array | undefined): string {
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
