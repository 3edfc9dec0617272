// The signed webhook: a forwarder of the operator's posts a mail as message/rfc822, its envelope in headers, both under one
// signature (RFC 2104). What is signed is written down in signedText; a replay is the same mail and is recognised by its id.
import * as z from 'zod'
import type { ChannelDeps, RawRequest, TtlStore } from '../../../src/contract/index.ts'
import {
  checkClockSkew,
  type HmacHeaderOptions,
  type Secret,
  sha256Bytes,
  sha256Hex,
  toHex,
  verifyHmacSha256,
} from '../../../src/lib/index.ts'
import { type IngressResult, mailTooLarge, rejectedRequest } from '../ingress/received.ts'
import { type Envelope, envelopeHeaders } from '../wire/mail.ts'

export const webhookHeaders = {
  /** Seconds since 1970. */
  timestamp: 'x-mail-timestamp',
  /** Another one for every request. */
  nonce: 'x-mail-nonce',
  /** `sha256=` and 64 hex digits. */
  signature: 'x-mail-signature',
} as const

const tolerance = { maxAgeMs: 300_000, maxAheadMs: 300_000 }
const recipients = z.array(z.string().min(3).max(320)).min(1).max(50)
const noncePattern = /^[\w.~+/=-]{16,128}$/
/** In this order; those that were not sent are left out. */
const signedHeaders = [
  webhookHeaders.timestamp,
  webhookHeaders.nonce,
  envelopeHeaders.from,
  envelopeHeaders.to,
  envelopeHeaders.clientIp,
  envelopeHeaders.helo,
]

/** One line for the version, one for each header, one for the body. */
export function webhookSignedText(headers: RawRequest['headers'], bodyDigest: string): string {
  const lines = signedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [`${name}:${headers[name]}`]))
  return ['parley-mail-v1', ...lines, `sha256:${bodyDigest}`].join('\n')
}

export type WebhookDeps = Pick<ChannelDeps, 'hmac' | 'ttlStore' | 'now'> & { readonly maxBytes: number }

export async function verifyWebhook(
  secrets: readonly Secret[],
  deps: WebhookDeps,
  rawRequest: RawRequest,
): Promise<IngressResult> {
  const { headers, bytes, receivedAt } = rawRequest
  const nonce = headers[webhookHeaders.nonce] ?? ''
  const signature = headers[webhookHeaders.signature]
  if (signature === undefined || !noncePattern.test(nonce)) return rejectedRequest('missing_credential')
  const body = await sha256HexBytes(bytes)
  if (!(await isSignedByAnySecret(secrets, deps.hmac, { text: webhookSignedText(headers, body), signature })))
    return rejectedRequest('bad_signature')
  const clock = checkClockSkew(parseUnixSeconds(headers[webhookHeaders.timestamp]) * 1000, deps.now(), tolerance)
  if (clock !== 'fresh') return rejectedRequest(clock)
  const envelope = readEnvelopeHeaders(headers)
  if (envelope === undefined) return rejectedRequest('malformed_request')
  if (bytes.byteLength > deps.maxBytes) return mailTooLarge
  if (deps.ttlStore === undefined) return { kind: 'later', reason: 'no_notes' }
  const lifeMs = tolerance.maxAgeMs + tolerance.maxAheadMs
  const use = { family: 'mail-nonce', value: nonce, body: signature, lifeMs }
  if (!(await claimOneTimeValue(deps.ttlStore, use))) return rejectedRequest('replayed')
  return { kind: 'mail', mail: { way: 'webhook', raw: bytes, envelope, receivedAt } }
}

export function parseUnixSeconds(text: string | undefined): number {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
}

function readEnvelopeHeaders(headers: RawRequest['headers']): Envelope | undefined {
  const to = recipients.safeParse(parseJsonHeader(headers[envelopeHeaders.to]))
  if (!to.success) return undefined
  const { [envelopeHeaders.clientIp]: clientIp, [envelopeHeaders.helo]: helo } = headers
  return {
    mailFrom: headers[envelopeHeaders.from],
    rcptTo: to.data,
    ...(clientIp === undefined ? {} : { clientIp }),
    ...(helo === undefined ? {} : { helo }),
  }
}

function parseJsonHeader(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

// A nonce or token stands for one body only. The same body again passes: it may be the second try of a mail that was never stored, and
// one that was is recognised by its own id later on.

export type OneTimeUse = {
  readonly family: string
  readonly value: string
  readonly body: string
  readonly lifeMs: number
}

/** False: it was used for another body before. */
export async function claimOneTimeValue(
  notes: TtlStore,
  { family, value, body, lifeMs }: OneTimeUse,
): Promise<boolean> {
  const key = await sha256Hex(value)
  if (await notes.keep({ family, key, value: { body }, lifeMs, isOnce: true })) return true
  const known = await notes.read(family, key)
  // Gone between the two questions: its time was over.
  return known === undefined || known['body'] === body
}

export async function sha256HexBytes(bytes: Uint8Array): Promise<string> {
  return toHex(await sha256Bytes(bytes))
}

// Several secrets count while one is being replaced by another.

export type SignedText = { readonly text: string; readonly signature: string } & HmacHeaderOptions

/** Every secret is tried, so that the time does not tell which of two was right. */
export async function isSignedByAnySecret(
  secrets: readonly Secret[],
  hmac: ChannelDeps['hmac'],
  { text, signature, ...options }: SignedText,
): Promise<boolean> {
  const bytes = new TextEncoder().encode(text)
  let isRight = false
  for (const secret of secrets)
    isRight = (await verifyHmacSha256(hmac, bytes, signature, secret.reveal(), options)) || isRight
  return isRight
}
