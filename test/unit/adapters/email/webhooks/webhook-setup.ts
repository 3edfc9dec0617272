// Posted mails: a clock, notes, a guarded fetch that records whom it was to call, and requests signed as their senders sign them.
import { createHmac, createSign } from 'node:crypto'
import type { IngressSettings } from '../../../../../adapters/email/config/derive-settings.ts'
import { createReceivedMailRegistry } from '../../../../../adapters/email/ingress/received.ts'
import { sha256HexBytes, webhookSignedText } from '../../../../../adapters/email/webhooks/signed-webhook.ts'
import { createRequestVerifier } from '../../../../../adapters/email/webhooks/verify-request.ts'
import type { RawRequest } from '../../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../../src/lib/index.ts'
import type { SafeFetch } from '../../../../../src/lib/safe-fetch-port.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import { memoryNotes } from '../../../../doubles/memory-ttl-store.ts'
import { testCertificate, testKey } from '../../../../doubles/test-certificate.ts'

const now = Date.parse('2026-11-17T12:00:00Z')
export const nowSeconds = now / 1000
const webhookSecret = 'a-secret-of-the-forwarder-000000'
const mailgunKey = 'key-of-the-mailgun-account-000000'
export const topic = 'arn:aws:sns:eu-west-1:123456789012:mail'
const certificateUrl = 'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123.pem'

export const mime = 'From: ada@example.org\r\nSubject: hi\r\n\r\nhell\xf6\r\n'
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'latin1'))
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

const settings: IngressSettings = {
  maxBytes: 1_000_000,
  webhook: { secrets: [secret(webhookSecret)] },
  mailgun: { signingKeys: [secret(mailgunKey)] },
  ses: { topicArns: [topic] },
}

export function hookScene(changes: Partial<IngressSettings> = {}, fetch: typeof globalThis.fetch = noFetch) {
  const called: string[] = []
  let isBroken = false
  const guardedFetch: SafeFetch = {
    pins: true,
    async fetch(url) {
      called.push(url)
      if (isBroken) return { kind: 'failed', reason: 'timeout' }
      const response = new Response(url.endsWith('.pem') ? testCertificate : 'confirmed')
      return { kind: 'answered', response, url }
    },
  }
  const notes = memoryNotes(() => now)
  const own = createReceivedMailRegistry()
  const deps = { hmac: createWebHmac(), ttlStore: notes, now: () => now, fetch, guardedFetch, own }
  return {
    hopOf: createRequestVerifier({ ...settings, ...changes }, deps),
    called,
    notes,
    own,
    breakFetch: (broken: boolean) => (isBroken = broken),
  }
}

async function noFetch(): Promise<Response> {
  throw new Error('nothing is to be fetched here')
}

function arrival(headers: Readonly<Record<string, string>>, bytes: Uint8Array): RawRequest {
  return { bytes, headers, receivedAt: new Date(now).toISOString(), from: 'remote' }
}

export type WebhookChanges = {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly secret?: string
}

export async function webhookArrival({ headers = {}, body = mime, secret: key = webhookSecret }: WebhookChanges = {}) {
  const all: Record<string, string> = {
    'content-type': 'message/rfc822',
    'x-envelope-from': 'ada@example.org',
    'x-envelope-to': '["helper@agents.example"]',
    'x-envelope-ip': '192.0.2.1',
    'x-envelope-helo': 'mx.example.org',
    'x-mail-timestamp': String(nowSeconds),
    'x-mail-nonce': 'nonce-0000000000000001',
    ...headers,
  }
  const bytes = bytesOf(body)
  const text = webhookSignedText(all, await sha256HexBytes(bytes))
  const signature = `sha256=${createHmac('sha256', key).update(text).digest('hex')}`
  return arrival({ ...all, 'x-mail-signature': signature }, bytes)
}

export type MailgunFields = Readonly<Record<string, string>>

export function mailgunFields(changes: MailgunFields = {}): MailgunFields {
  const fields = { timestamp: String(nowSeconds), token: 'f'.repeat(50), ...changes }
  const signature = createHmac('sha256', mailgunKey).update(`${fields.timestamp}${fields.token}`).digest('hex')
  return { sender: 'ada@example.org', recipient: 'helper@agents.example', 'body-mime': mime, signature, ...fields }
}

export function multipartArrival(fields: MailgunFields): RawRequest {
  const boundary = '------------------------b0undary'
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const type = `multipart/form-data; boundary=${boundary}`
  return arrival({ 'content-type': type }, bytesOf(`${parts.join('')}--${boundary}--\r\n`))
}

export function urlencodedArrival(fields: MailgunFields): RawRequest {
  const escaped = (text: string): string =>
    [...Buffer.from(text, 'latin1')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const body = Object.entries(fields).map(([name, value]) => `${name}=${escaped(value)}`)
  return arrival({ 'content-type': 'application/x-www-form-urlencoded' }, bytesOf(body.join('&')))
}

export type SnsFields = Readonly<Record<string, string>>

/** Signed over the fields as they are; `forged` are changed afterwards. */
export function snsArrival(changes: SnsFields = {}, forged: SnsFields = {}): RawRequest {
  const fields: Record<string, string> = {
    Type: 'Notification',
    MessageId: '8ef2b0ea-0000-5ff0-a3d5-e9f7a2a7c4a1',
    TopicArn: topic,
    Subject: 'Amazon SES Email Receipt Notification',
    Message: JSON.stringify(sesReceived()),
    Timestamp: new Date(now).toISOString(),
    SignatureVersion: '2',
    SigningCertURL: certificateUrl,
    ...changes,
  }
  const isNotification = fields['Type'] === 'Notification'
  const names = isNotification
    ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
    : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  const text = names.map((name) => (fields[name] === undefined ? '' : `${name}\n${fields[name]}\n`)).join('')
  const hash = fields['SignatureVersion'] === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
  const Signature = createSign(hash).update(text).sign(testKey, 'base64')
  const body = JSON.stringify({ ...fields, Signature, ...forged })
  const headers = { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': fields['Type'] ?? '' }
  return arrival(headers, new TextEncoder().encode(body))
}

export function sesReceived(changes: object = {}): object {
  return {
    notificationType: 'Received',
    mail: { source: 'ada@example.org', destination: ['helper@agents.example'], messageId: 'o3vrnil0e2ic' },
    receipt: {
      recipients: ['helper@agents.example'],
      spfVerdict: { status: 'PASS' },
      action: { type: 'SNS', topicArn: topic, encoding: 'BASE64' },
    },
    content: Buffer.from(mime, 'latin1').toString('base64'),
    ...changes,
  }
}
