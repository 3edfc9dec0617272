// Mailgun's routes (a URL that ends in "mime"): the whole mail as a field of a form. Its signature covers a timestamp and a token and not
// the mail, so a token is remembered with the mail it came with and brings in no other.
import type { RawArrival, Secret } from '../../../../src/contract/index.ts'
import { judgeClockSkew } from '../../../../src/verification/index.ts'
import { type FormFields, formFields, textOf } from './form-fields.ts'
import { type Hop, rejected, tooLarge } from './hop.ts'
import { digestOf, isForThisBody } from './once.ts'
import { isSignedByOne } from './signed.ts'
import { secondsOf, type WebhookDeps } from './webhook.ts'

/** Mailgun tries for eight hours; its documentation does not say that it signs every try anew. */
const tolerance = { maxAgeMs: 9 * 3_600_000, maxAheadMs: 300_000 }

export async function mailgunHop(keys: readonly Secret[], deps: WebhookDeps, arrival: RawArrival): Promise<Hop> {
  const fields = formFields(arrival.headers['content-type'] ?? '', arrival.bytes)
  if (fields === undefined) return rejected('malformed_request')
  const [timestamp, token] = [textOf(fields.get('timestamp')), textOf(fields.get('token'))]
  if (timestamp === '' || token === '' || token.length > 200) return rejected('missing_credential')
  const signature = textOf(fields.get('signature'))
  const signed = { text: `${timestamp}${token}`, signature, expectedPrefix: '', allowRawHex: true }
  if (!(await isSignedByOne(keys, deps.hmac, signed))) return rejected('bad_signature')
  const clock = judgeClockSkew(secondsOf(timestamp) * 1000, deps.now(), tolerance)
  if (clock !== 'fresh') return rejected(clock)
  return mailIn(fields, token, deps, arrival)
}

async function mailIn(fields: FormFields, token: string, deps: WebhookDeps, { receivedAt }: RawArrival): Promise<Hop> {
  const raw = fields.get('body-mime')?.slice()
  const [sender, recipient] = [fields.get('sender'), textOf(fields.get('recipient'))]
  if (raw === undefined || recipient === '') return rejected('malformed_request')
  if (raw.byteLength > deps.maxBytes) return tooLarge
  if (deps.notes === undefined) return { kind: 'later', reason: 'no_notes' }
  const mailFrom = sender === undefined ? undefined : textOf(sender)
  const rcptTo = recipient.split(',').map((each) => each.trim())
  if (rcptTo.length > 50) return rejected('malformed_request')
  const body = `${await digestOf(raw)} ${JSON.stringify([mailFrom ?? null, rcptTo])}`
  const lifeMs = tolerance.maxAgeMs + tolerance.maxAheadMs
  if (!(await isForThisBody(deps.notes, { family: 'mailgun-token', value: token, body, lifeMs })))
    return rejected('replayed')
  return { kind: 'mail', mail: { way: 'mailgun', raw, envelope: { mailFrom, rcptTo }, receivedAt } }
}
