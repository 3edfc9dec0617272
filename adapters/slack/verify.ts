// Verifies requests: Slack signs the raw bytes with the app's signing secret and a time. Nothing of the body is believed before
// that holds.
import type { ChannelDeps, RawRequest, RequestHead, VerifyResult } from '../../src/contract/index.ts'
import { checkClockSkew, parseBoundedJson, type Secret, verifyHmacSha256 } from '../../src/lib/index.ts'

/** What the bytes hold, once they are known to be Slack's. */
export type SlackPayload =
  | { readonly kind: 'read'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'unreadable'; readonly reason: string }

const tolerance = { maxAgeMs: 300_000, maxAheadMs: 300_000 }
const timePattern = /^\d{9,11}$/
const signaturePattern = /^v0=[0-9a-f]{64}$/
const utf8 = new TextEncoder()
const jsonType = 'application/json'
const formType = 'application/x-www-form-urlencoded'
/** A certificate check is a few words; nothing longer is looked at without a signature. */
const maxCheckBytes = 4096
/** What a slash command consists of (docs.slack.dev/interactivity/implementing-slash-commands). */
const commandFields = new Set([
  'token',
  'team_id',
  'team_domain',
  'context_team_id',
  'enterprise_id',
  'enterprise_name',
  'channel_id',
  'channel_name',
  'user_id',
  'user_name',
  'command',
  'text',
  'api_app_id',
  'is_enterprise_install',
  'response_url',
  'trigger_id',
  'thread_ts',
  'message_ts',
])
const braceByte = 0x7b

type VerifyDeps = Pick<ChannelDeps, 'hmac' | 'now'>

export async function verifySlack(
  deps: VerifyDeps,
  secrets: readonly Secret[],
  rawRequest: RawRequest,
): Promise<VerifyResult<SlackPayload>> {
  const type = slackRequestMediaType(rawRequest)
  if (type === formType && isCertificateCheck(rawRequest))
    return { kind: 'handshake', answer: { status: 200, body: '' } }
  const refusal = await checkSlackSignature(deps, secrets, rawRequest)
  if (refusal !== undefined) return refusal
  if (type !== jsonType && type !== formType) return { kind: 'rejected', reason: 'malformed_request' }
  const payload = readSlackBody(rawRequest.bytes)
  if (payload.kind === 'read' && payload.value['type'] === 'url_verification')
    return answerUrlVerification(payload.value)
  return { kind: 'genuine', payload }
}

/** What the headers alone rule out: without a signature only a short certificate check is worth reading. */
export function screenSlackHeaders(now: () => number, head: RequestHead): Rejected | undefined {
  const { headers } = head
  const length = Number(headers['content-length'] ?? Number.NaN)
  const isCheck = slackRequestMediaType(head) === formType && length <= maxCheckBytes && !headers['x-slack-signature']
  return isCheck ? undefined : checkSlackTimestamp(now, headers)
}

/**
 * The bytes say what they are: they are signed, and the content type is not. A signed event sent again as another
 * type would otherwise be read as something that no user said.
 */
export function readSlackBody(bytes: Uint8Array): SlackPayload {
  return bytes[0] === braceByte ? readSlackJson(bytes) : readSlackForm(bytes)
}

function slackRequestMediaType({ headers }: RequestHead): string {
  return (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/** Unsigned by design: answered with nothing, and nothing else in it is read. */
function isCertificateCheck({ bytes }: RawRequest): boolean {
  if (bytes.length > maxCheckBytes) return false
  return new URLSearchParams(new TextDecoder().decode(bytes)).get('ssl_check') === '1'
}

type Rejected = Extract<VerifyResult<never>, { kind: 'rejected' }>

async function checkSlackSignature(
  { hmac, now }: VerifyDeps,
  secrets: readonly Secret[],
  { bytes, headers }: RawRequest,
): Promise<Rejected | undefined> {
  const refusal = checkSlackTimestamp(now, headers)
  if (refusal !== undefined) return refusal
  const { 'x-slack-request-timestamp': time = '', 'x-slack-signature': signature = '' } = headers
  const head = utf8.encode(`v0:${time}:`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  let isRight = false
  // Every secret is tried, so that the time does not tell which of two was right.
  for (const secret of secrets) {
    isRight = (await verifyHmacSha256(hmac, signed, signature, secret.reveal(), { expectedPrefix: 'v0=' })) || isRight
  }
  return isRight ? undefined : { kind: 'rejected', reason: 'bad_signature' }
}

function checkSlackTimestamp(now: () => number, headers: RawRequest['headers']): Rejected | undefined {
  const { 'x-slack-request-timestamp': time = '', 'x-slack-signature': signature = '' } = headers
  if (time === '' || signature === '') return { kind: 'rejected', reason: 'missing_credential' }
  // Other forms would be signed as they stand and then mean no time at all.
  if (!timePattern.test(time) || !signaturePattern.test(signature)) return { kind: 'rejected', reason: 'bad_signature' }
  const skew = checkClockSkew(Number(time) * 1000, now(), tolerance)
  return skew === 'fresh' ? undefined : { kind: 'rejected', reason: skew }
}

function answerUrlVerification({ challenge }: Readonly<Record<string, unknown>>): VerifyResult<SlackPayload> {
  if (typeof challenge !== 'string') return { kind: 'genuine', payload: { kind: 'unreadable', reason: 'no_challenge' } }
  // As JSON, so that no browser reads it as a page.
  const headers = { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' }
  return { kind: 'handshake', answer: { status: 200, headers, body: JSON.stringify({ challenge }) } }
}

function readSlackJson(bytes: Uint8Array): SlackPayload {
  const json = parseBoundedJson(bytes)
  return json.ok ? { kind: 'read', value: json.value } : { kind: 'unreadable', reason: json.reason }
}

/**
 * An interaction is JSON in the one field `payload`; a slash command is the form itself. Anything else is kept unread: a field that
 * stands there twice or that no command has was not put there by Slack's form.
 */
function readSlackForm(bytes: Uint8Array): SlackPayload {
  const fields = [...new URLSearchParams(new TextDecoder().decode(bytes))]
  const value = Object.fromEntries(fields)
  if (Object.keys(value).length !== fields.length) return { kind: 'unreadable', reason: 'repeated_field' }
  const { payload } = value
  if (payload !== undefined && fields.length === 1) return readSlackJson(utf8.encode(payload))
  const isCommand = value['command'] !== undefined && fields.every(([name]) => commandFields.has(name))
  return isCommand ? { kind: 'read', value } : { kind: 'unreadable', reason: 'unknown_form' }
}
