// Mailgun's routes (a URL that ends in "mime"): the whole mail as a field of a form. Its signature covers a timestamp and a token and not
// the mail, so a token is remembered with the mail it came with and brings in no other.
import type { RawRequest, Secret } from '../../../../src/contract/index.ts'
import { checkClockSkew } from '../../../../src/lib/index.ts'
import { decodeField, type FormFields, parseFormFields } from './form-fields.ts'
import { type IngressResult, mailTooLarge, rejectedRequest } from './hop.ts'
import { isForThisBody, sha256HexBytes } from './once.ts'
import { isSignedByOne } from './signed.ts'
import { parseSeconds, type WebhookDeps } from './webhook.ts'

/** Mailgun tries for eight hours; its documentation does not say that it signs every try anew. */
const tolerance = { maxAgeMs: 9 * 3_600_000, maxAheadMs: 300_000 }

export async function verifyMailgun(
  keys: readonly Secret[],
  deps: WebhookDeps,
  arrival: RawRequest,
): Promise<IngressResult> {
  const fields = parseFormFields(arrival.headers['content-type'] ?? '', arrival.bytes)
  if (fields === undefined) return rejectedRequest('malformed_request')
  const [timestamp, token] = [decodeField(fields.get('timestamp')), decodeField(fields.get('token'))]
  if (timestamp === '' || token === '' || token.length > 200) return rejectedRequest('missing_credential')
  const signature = decodeField(fields.get('signature'))
  const signed = { text: `${timestamp}${token}`, signature, expectedPrefix: '', allowRawHex: true }
  if (!(await isSignedByOne(keys, deps.hmac, signed))) return rejectedRequest('bad_signature')
  const clock = checkClockSkew(parseSeconds(timestamp) * 1000, deps.now(), tolerance)
  if (clock !== 'fresh') return rejectedRequest(clock)
  return readMailgunMail(fields, token, deps, arrival)
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
  if (deps.notes === undefined) return { kind: 'later', reason: 'no_notes' }
  const mailFrom = sender === undefined ? undefined : decodeField(sender)
  const rcptTo = recipient.split(',').map((each) => each.trim())
  if (rcptTo.length > 50) return rejectedRequest('malformed_request')
  const body = `${await sha256HexBytes(raw)} ${JSON.stringify([mailFrom ?? null, rcptTo])}`
  const lifeMs = tolerance.maxAgeMs + tolerance.maxAheadMs
  if (!(await isForThisBody(deps.notes, { family: 'mailgun-token', value: token, body, lifeMs })))
    return rejectedRequest('replayed')
  return { kind: 'mail', mail: { way: 'mailgun', raw, envelope: { mailFrom, rcptTo }, receivedAt } }
}
