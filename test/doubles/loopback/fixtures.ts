// What the adapter kit needs to know about the loopback channels.

import type { RawRequest } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import type { AdapterFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { loopbackClientId, loopbackEdit, loopbackLookup, loopbackNone, signLoopback } from './index.ts'
import { ownSender } from './normalize.ts'
import type { LoopbackEvent } from './wire.ts'

export const loopbackSecret = 'loopback-secret-of-the-tests'

const now = Date.parse('2025-11-16T13:40:00.000Z')
const connection = { tenant: 'default', id: 'loop', agent: 'demo', domain: 'parley.localhost' }

/** An event as the edge would hand it to the adapter. */
export async function loopbackArrival(
  event: LoopbackEvent,
  options: { readonly secret?: string; readonly receivedAt?: string } = {},
): Promise<RawRequest> {
  const bytes = new TextEncoder().encode(JSON.stringify(event))
  return {
    bytes,
    headers: await signLoopback(bytes, options.secret ?? loopbackSecret),
    receivedAt: options.receivedAt ?? new Date().toISOString(),
    from: 'local',
  }
}

async function sign(
  bytes: Uint8Array,
  how: { readonly key?: 'wrong'; readonly at?: number } = {},
): Promise<RawRequest> {
  const secret = how.key === 'wrong' ? 'another-secret-altogether' : loopbackSecret
  const headers = await signLoopback(bytes, secret, how.at ?? now)
  return { bytes, headers, receivedAt: new Date(now).toISOString(), from: 'local' }
}

const variants = [loopbackClientId, loopbackLookup, loopbackEdit, loopbackNone]

export const loopbackFixtures: readonly AdapterFixtures[] = variants.map((definition) => ({
  definition,
  connection,
  now,
  settings: (vendorOrigin) => ({ secret: loopbackSecret, vendorUrl: vendorOrigin, liveEveryMs: 50, typing: true }),
  secrets: { secret: loopbackSecret },
  environment: { LOOPBACK_SECRET: loopbackSecret, LOOPBACK_VENDOR_URL: 'http://127.0.0.1:9' },
  sign,
  credentialHeaders: ['x-loopback-signature'],
  captured: [
    twin(definition.channel, { id: 'e1', from: 'ada', text: 'hello', conversation: 'c1' }),
    twin(definition.channel, { id: 'e2', from: 'ada', text: 'again', conversation: 'c1' }),
    twin(definition.channel, { id: 'e3', from: 'bob', text: 'hi', conversation: 'c2' }),
  ],
  subjectPrefixes: ['loopback:'],
  own: [{ id: 'e4', from: ownSender, text: 'echo' }],
  replyTo: { conversation: 'c1' },
  textOf: (call: JsonObject) => String(call['text']),
  hostile: [{ said: '<b>x</b>', isInert: (calls) => calls[0]?.['text'] === '<b>x</b>' }],
  vendor: {
    success: { status: 200, body: '{"id":"v1"}' },
    rateLimit: { status: 429, body: '{}', headers: { 'retry-after': '2' } },
    serverFault: { status: 503, body: '{}' },
    refusal: { status: 403, body: '{}' },
    ambiguous: 'unknown',
  },
  files: {
    ref: { id: 'f1' },
    isDownload: () => true,
    before: { status: 200, body: '{}' },
    uploaded: (body) => Buffer.from(String(fileIn(body)['data'] ?? ''), 'base64').toString('utf8'),
  },
  skips: skipsOf(definition.channel),
}))

function fileIn(body: unknown): Record<string, unknown> {
  const { file } = body as { file?: Record<string, unknown> }
  return file ?? {}
}

function skipsOf(channel: string): AdapterFixtures['skips'] {
  return {
    'verify: answers the handshake': 'the loopback platform has no handshake',
    'verb: acknowledge answers every acceptance': 'the loopback platform wants no body back',
    ...(channel === 'loopback-none'
      ? { 'deliver: the idempotency key is the same on every try': 'this variant has no key' }
      : {}),
    ...(channel === 'loopback-lookup'
      ? {}
      : { 'verb: reconcile finds what arrived and misses what did not': 'only the lookup variant can look up' }),
  }
}

function twin(channel: string, event: { id: string; from: string; text: string; conversation: string }) {
  const receivedAt = new Date(now).toISOString()
  const message = {
    id: event.id,
    thread_id: event.conversation,
    sender: {
      address: `@${event.from}@loopback.parley.localhost`,
      auth_method: 'loopback-hmac',
      verified: true,
      identities: [
        {
          subject: `loopback:${event.from}`,
          issuer: 'parley.localhost',
          method: 'urn:gw:auth:loopback:v0.1',
          assurance: 'platform',
          audience: '@demo@parley.localhost',
          issued_at: receivedAt,
          proof: { type: 'transport', verified_by: 'parley' },
        },
      ],
    },
    recipient: '@demo@parley.localhost',
    parts: [{ kind: 'text', mime: 'text/plain', content: event.text }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: channel,
    received_at: receivedAt,
    channel: {
      connector_id: 'loop',
      external_provider: 'loopback',
      external_conversation_id: event.conversation,
      external_message_id: event.id,
      sender_id: event.from,
      room_kind: 'dm',
      from_self: false,
      addressed: 'dm',
      visibility: 'private',
      mentions: [],
      event: 'new',
    },
  }
  const arrived = {
    kind: 'message',
    message,
    agent: 'demo',
    semanticId: `${event.conversation}:${event.id}`,
    version: '0',
    isSenderChosenId: false,
    deliveryId: event.id,
    subject: `loopback:${event.from}`,
    thread: { candidates: [event.conversation], platformVerified: true, newThreadKey: event.conversation },
    replyTo: { conversation: event.conversation },
  }
  return { name: event.id, payload: event, arrived: [arrived] }
}
