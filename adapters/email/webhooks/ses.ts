// The webhook of Amazon SES: notified through SNS, with the mail inside or in a bucket. What SES says of SPF and DKIM is not
// read: the raw mail is judged here like any other.

import { importX509 } from 'jose'
import * as z from 'zod'
import type { ChannelDeps, RawRequest } from '../../../src/contract/index.ts'
import { checkClockSkew, decodeBase64, parseBoundedJson, parseJson, type SafeFetch } from '../../../src/lib/index.ts'
import type { IngressSettings } from '../config/derive-settings.ts'
import { type IngressResult, mailTooLarge, rejectedRequest } from '../ingress/received.ts'
import { type FetchedContent, fetchFromBucket } from './s3.ts'

const address = z.string().max(320)

const receivedSchema = z.object({
  notificationType: z.literal('Received'),
  mail: z.object({ source: address.optional() }),
  receipt: z.object({
    recipients: z.array(address).min(1).max(50),
    action: z
      .object({
        type: z.string(),
        encoding: z.string().optional(),
        bucketName: z.string().max(100).optional(),
        objectKey: z.string().max(1024).optional(),
      })
      .optional(),
  }),
  content: z.string().optional(),
})

type SesReceipt = z.output<typeof receivedSchema>

export type SesDeps = Pick<ChannelDeps, 'fetch'> & SnsDeps & { readonly maxBytes: number }

export async function verifySes(
  { topicArns, s3 }: NonNullable<IngressSettings['ses']>,
  deps: SesDeps,
  rawRequest: RawRequest,
): Promise<IngressResult> {
  const result = await verifySns(topicArns, deps, rawRequest)
  if (result.kind !== 'notification') return result
  const received = receivedSchema.safeParse(parseJson(result.message))
  if (!received.success)
    return { kind: 'rejected_event', reason: 'no_received_mail', remedy: 'publish received mail here' }
  const { mail, receipt } = received.data
  const content = await readMailContent(received.data, s3, deps)
  if (content.kind !== 'fetched') return content
  const envelope = { mailFrom: mail.source, rcptTo: receipt.recipients }
  return { kind: 'mail', mail: { way: 'ses', raw: content.raw, envelope, receivedAt: rawRequest.receivedAt } }
}

async function readMailContent(
  { content, receipt: { action } }: SesReceipt,
  s3: NonNullable<IngressSettings['ses']>['s3'],
  deps: SesDeps,
): Promise<FetchedContent> {
  if (content !== undefined) {
    const raw = action?.encoding === 'BASE64' ? bytesFromBase64(content) : new TextEncoder().encode(content)
    return raw === undefined
      ? rejectedContent('unreadable_content', 'publish the mail as UTF-8 or Base64')
      : refuseFetchedMailOverLimit(raw, deps)
  }
  const { bucketName: bucket, objectKey: key } = action ?? {}
  if (bucket === undefined || key === undefined)
    return rejectedContent('no_content', 'publish the mail itself, or store it in a bucket')
  return s3 === undefined
    ? rejectedContent('no_bucket_access', 'set the credentials for the bucket')
    : fetchFromBucket(s3, deps, { bucket, key })
}

function refuseFetchedMailOverLimit(raw: Uint8Array, { maxBytes }: Pick<SesDeps, 'maxBytes'>): FetchedContent {
  return raw.byteLength > maxBytes ? mailTooLarge : { kind: 'fetched', raw }
}

function rejectedContent(reason: string, remedy: string): FetchedContent {
  return { kind: 'rejected_event', reason, remedy }
}

// Messages of Amazon SNS: genuine where a certificate from SNS's own host vouches for them, and only for topics the operator named.

const text = z.string().max(400_000)

const envelopeSchema = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: text,
  TopicArn: text,
  Message: text,
  Subject: text.nullish(),
  Timestamp: text,
  SignatureVersion: z.enum(['1', '2']),
  Signature: text,
  SigningCertURL: text,
  SubscribeURL: text.nullish(),
  Token: text.nullish(),
})

type SnsMessage = z.output<typeof envelopeSchema>

export type SnsDeps = {
  readonly guardedFetch?: SafeFetch | undefined
  readonly now: () => number
  /** Keys of certificates by their address. */
  readonly keys: Map<string, Promise<SigningKeys>>
}

type SigningKeys = Readonly<Record<SnsMessage['SignatureVersion'], CryptoKey>>

/** SNS tries for about an hour; a message that is a day old is not its doing. */
const tolerance = { maxAgeMs: 24 * 3_600_000, maxAheadMs: 300_000 }
const snsHost = /^sns\.[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?$/
const maxKeys = 32
const maxCertificateBytes = 16_384
const callMs = 5_000

/** `notification`: what the topic says, believed from here on. */
export type SnsResult = { readonly kind: 'notification'; readonly message: string } | IngressResult

async function verifySns(
  topicArns: readonly string[],
  deps: SnsDeps,
  { bytes }: Pick<RawRequest, 'bytes'>,
): Promise<SnsResult> {
  const json = parseBoundedJson(bytes)
  const read = envelopeSchema.safeParse(json.ok ? json.value : undefined)
  if (!read.success) return rejectedRequest('malformed_request')
  const message = read.data
  // Before anything is fetched: a topic that is not on the list makes us call no server.
  if (!topicArns.includes(message.TopicArn)) return rejectedRequest('not_allowed_here')
  const host = snsHostname(message.SigningCertURL)
  if (host === undefined || !message.SigningCertURL.endsWith('.pem')) return rejectedRequest('not_allowed_here')
  if (message.Type === 'SubscriptionConfirmation' && snsHostname(message.SubscribeURL) !== host)
    return rejectedRequest('not_allowed_here')
  const signed = await isSnsSigned(message, host, deps)
  if (signed === 'unknown') return { kind: 'later', reason: 'certificate_unavailable' }
  if (!signed) return rejectedRequest('bad_signature')
  const clock = checkClockSkew(Date.parse(message.Timestamp), deps.now(), tolerance)
  if (clock !== 'fresh') return rejectedRequest(clock)
  if (message.Type === 'Notification') return { kind: 'notification', message: message.Message }
  return message.Type === 'SubscriptionConfirmation' ? confirmSubscription(message, host, deps) : done
}

const done: IngressResult = { kind: 'handshake', answer: { status: 200 } }

function snsHostname(address: string | null | undefined): string | undefined {
  const url = URL.canParse(address ?? '') ? new URL(address ?? '') : undefined
  const isPlain = url?.protocol === 'https:' && url.port === '' && url.username === '' && url.password === ''
  return isPlain && snsHost.test(url.hostname) ? url.hostname : undefined
}

async function confirmSubscription(
  { SubscribeURL }: SnsMessage,
  host: string,
  { guardedFetch }: SnsDeps,
): Promise<IngressResult> {
  const options = { hosts: [host], maxBytes: 65_536, timeoutMs: callMs }
  const outcome = await guardedFetch?.fetch(SubscribeURL ?? '', options)
  if (outcome?.kind !== 'answered') return { kind: 'later', reason: 'subscription_not_confirmed' }
  await outcome.response.body?.cancel()
  return outcome.response.ok ? done : { kind: 'later', reason: 'subscription_not_confirmed' }
}

async function isSnsSigned(message: SnsMessage, host: string, deps: SnsDeps): Promise<boolean | 'unknown'> {
  const keys = await cachedSigningKeys(message.SigningCertURL, host, deps).catch(() => undefined)
  if (keys === undefined) return 'unknown'
  const signature = bytesFromBase64(message.Signature)
  if (signature === undefined) return false
  const signed = new TextEncoder().encode(snsSignedText(message))
  return crypto.subtle.verify('RSASSA-PKCS1-v1_5', keys[message.SignatureVersion], signature, signed)
}

/** Names and values in the order of their names, each on a line of its own; Subject only where there is one. */
function snsSignedText(message: SnsMessage): string {
  const names = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'] as const
  const isNotification = message.Type === 'Notification'
  const left = isNotification ? ['SubscribeURL', 'Token'] : ['Subject']
  return names
    .filter((name) => !left.includes(name) && typeof message[name] === 'string')
    .map((name) => `${name}\n${message[name]}\n`)
    .join('')
}

function cachedSigningKeys(address: string, host: string, deps: SnsDeps): Promise<SigningKeys> {
  const known = deps.keys.get(address)
  if (known !== undefined) return known
  const loading = loadSigningKeys(address, host, deps)
  if (deps.keys.size >= maxKeys) deps.keys.clear()
  deps.keys.set(address, loading)
  loading.catch(() => deps.keys.delete(address))
  return loading
}

async function loadSigningKeys(address: string, host: string, { guardedFetch }: SnsDeps): Promise<SigningKeys> {
  const options = { hosts: [host], maxBytes: maxCertificateBytes, timeoutMs: callMs }
  const outcome = await guardedFetch?.fetch(address, options)
  if (outcome?.kind !== 'answered' || !outcome.response.ok) throw new Error('no certificate')
  const two = await importX509(await outcome.response.text(), 'RS256', { extractable: true })
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-1' }
  const one = await crypto.subtle.importKey('spki', await crypto.subtle.exportKey('spki', two), algorithm, false, [
    'verify',
  ])
  return { '1': one, '2': two }
}

function bytesFromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64(text)
  } catch {
    return undefined
  }
}
