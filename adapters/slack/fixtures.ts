// Fixtures of Slack for the adapter kit: signed requests, payloads with their twins, and the vendor's answers.
import type { JsonObject, RawRequest } from '../../src/contract/index.ts'
import approvalClick from './fixtures/approval-click.json' with { type: 'json' }
import directMessage from './fixtures/direct-message.json' with { type: 'json' }
import fileShare from './fixtures/file-share.json' with { type: 'json' }
import mentionInChannel from './fixtures/mention-in-channel.json' with { type: 'json' }
import messageChanged from './fixtures/message-changed.json' with { type: 'json' }
import messageDeleted from './fixtures/message-deleted.json' with { type: 'json' }
import otherBot from './fixtures/other-bot.json' with { type: 'json' }
import replyInThread from './fixtures/reply-in-thread.json' with { type: 'json' }
import sharedChannel from './fixtures/shared-channel.json' with { type: 'json' }
import stopButton from './fixtures/stop-button.json' with { type: 'json' }
import unknownSubtype from './fixtures/unknown-subtype.json' with { type: 'json' }
import { slackChannel } from './index.ts'

const botToken = 'xoxb-test-token-of-the-double-0000'
const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5'
const now = Date.parse('2025-11-16T13:40:00.000Z')

export type SignOptions = {
  readonly key?: 'wrong'
  readonly at?: number
  readonly type?: string
  readonly secret?: string
}

async function sign(bytes: Uint8Array, how: SignOptions = {}): Promise<RawRequest> {
  const time = String(Math.floor((how.at ?? now) / 1000))
  const key = how.key === 'wrong' ? `${signingSecret}x` : (how.secret ?? signingSecret)
  return {
    bytes,
    headers: {
      'content-type': how.type ?? 'application/json',
      'x-slack-request-timestamp': time,
      'x-slack-signature': `v0=${await hmacHex(key, time, bytes)}`,
    },
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}

/** Written without the code it tests. `time` is signed as it stands, also where it is none. */
async function hmacHex(key: string, time: string, bytes: Uint8Array): Promise<string> {
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign'])
  const signed = new Uint8Array([...encoder.encode(`v0:${time}:`), ...bytes])
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', imported, signed))
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function payloadOf(call: JsonObject): Readonly<Record<string, unknown>> {
  const payload = call['payload']
  return typeof payload === 'object' && payload !== null ? { ...payload } : {}
}

/** Every text in the blocks, in reading order. */
function wordsIn(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsIn).join('')
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([name, each]) => (name === 'text' && typeof each === 'string' ? each : wordsIn(each)))
    .join('')
}

/** Blocks hold words, and nothing that notifies a person; the text beside them shows markup as letters. */
function isInert(calls: readonly JsonObject[]): boolean {
  return calls.map(payloadOf).every((payload) => {
    const blocks = JSON.stringify(payload['blocks'])
    const isCalling = /"type":"(?:user|usergroup|broadcast|channel)"/.test(blocks)
    return !isCalling && !/<[!@#a-z]/i.test(String(payload['text'])) && !/"mrkdwn"/.test(blocks)
  })
}

const apiError = (error: string) => ({ status: 200, body: JSON.stringify({ ok: false, error }) })
const posted = {
  ok: true,
  channel: 'C0GENERAL1',
  ts: '1763300200.000100',
  // Also what a look back shows.
  messages: [
    {
      ts: '1763300200.000100',
      metadata: { event_type: 'parley_message', event_payload: { client_id: 'client-0001' } },
    },
  ],
}

export const fixtures = {
  definition: slackChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  now,
  settings: (vendorOrigin: string) => ({
    botToken,
    signingSecret,
    apiUrl: `${vendorOrigin}/api/`,
    fileOrigins: [vendorOrigin],
    botUserId: 'U0PARLEY1',
    appId: 'A0PARLEY1',
  }),
  secrets: { botToken, signingSecret },
  environment: { SLACK_BOT_TOKEN: botToken, SLACK_SIGNING_SECRET: signingSecret },
  sign,
  hmacHex,
  credentialHeaders: ['x-slack-signature', 'x-slack-request-timestamp'],
  captured: [
    { name: 'direct message', ...directMessage },
    { name: 'mention in a channel', ...mentionInChannel },
    { name: 'reply in a thread', ...replyInThread },
    { name: 'file share', ...fileShare },
    { name: 'message changed', ...messageChanged },
    { name: 'message deleted', ...messageDeleted },
    { name: 'shared channel', ...sharedChannel },
    { name: 'stop button', ...stopButton },
    { name: 'approval click', ...approvalClick },
    { name: 'another bot', ...otherBot },
    { name: 'unknown subtype', ...unknownSubtype },
  ],
  own: [
    {
      ...directMessage.payload,
      event: { ...directMessage.payload.event, user: 'U0PARLEY1', bot_id: 'B0PARLEY1', app_id: 'A0PARLEY1' },
    },
    {
      ...messageChanged.payload,
      event: {
        ...messageChanged.payload.event,
        message: { ...messageChanged.payload.event.message, user: 'U0PARLEY1', bot_id: 'B0PARLEY1' },
      },
    },
  ],
  handshake: {
    payload: { type: 'url_verification', challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' },
    answer: {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: JSON.stringify({ challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' }),
    },
  },
  replyTo: { account: 'T0PARLEY1', channel: 'C0GENERAL1', thread_ts: '1763300010.000200' },
  textOf: (call: JsonObject) => wordsIn(payloadOf(call)['blocks']),
  hostile: [
    { said: 'wake <!channel> and <@U0ADA0001> and <#C0GENERAL1> and @here', isInert },
    { said: '<https://evil.example|x> *bold* _it_ `code` <!subteam^S1>', isInert },
  ],
  vendor: {
    success: { status: 200, body: JSON.stringify(posted) },
    rateLimit: { status: 429, body: '', headers: { 'retry-after': '7' } },
    serverFault: { status: 500, body: 'oops' },
    refusal: apiError('channel_not_found'),
    absent: { status: 200, body: JSON.stringify({ ok: true, messages: [], has_more: false }) },
    ambiguous: 'unknown' as const,
  },
  files: {
    ref: {
      account: 'T0PARLEY1',
      file_id: 'F0FILE0001',
      url: '/files-pri/T0PARLEY1-F0FILE0001/download/plan.pdf',
      mime: 'application/pdf',
    },
    isDownload: (path: string) => path.startsWith('/files-pri/'),
    before: { status: 200, body: JSON.stringify({ ok: true }) },
    uploaded: (body: unknown) => String(body),
  },
  skips: {
    'deliver: a file is one upload, and none where there is nothing to upload':
      'an upload is three calls at two hosts: S88 and S89 in test/conformance/slack',
  },
}
