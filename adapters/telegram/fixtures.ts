// Fixtures of Telegram for the adapter kit: requests, payloads with their twins, and the vendor's answers.
import type { JsonObject, RawRequest } from '../../src/contract/index.ts'
import anonymousAdmin from './fixtures/anonymous-admin.json' with { type: 'json' }
import channelPost from './fixtures/channel-post.json' with { type: 'json' }
import commandWithPayload from './fixtures/command-with-payload.json' with { type: 'json' }
import editedMessage from './fixtures/edited-message.json' with { type: 'json' }
import forwardedDocument from './fixtures/forwarded-document.json' with { type: 'json' }
import groupMention from './fixtures/group-mention-in-topic.json' with { type: 'json' }
import photoWithCaption from './fixtures/photo-with-caption.json' with { type: 'json' }
import privateText from './fixtures/private-text.json' with { type: 'json' }
import serviceMessage from './fixtures/service-message.json' with { type: 'json' }
import unknownUpdate from './fixtures/unknown-update.json' with { type: 'json' }
import { telegramChannel } from './index.ts'

const botToken = '7000001:AAE-test-token-of-the-double-000000000'
const webhookSecret = 'telegram-webhook-secret-of-the-tests_01'
const now = Date.parse('2025-11-16T13:40:00.000Z')

function sign(bytes: Uint8Array, how: { readonly key?: 'wrong' } = {}): RawRequest {
  const given = how.key === 'wrong' ? webhookSecret.replace('01', '02') : webhookSecret
  return {
    bytes,
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': given },
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}

function payloadOf(call: JsonObject): Readonly<Record<string, unknown>> {
  const payload = call['payload']
  return typeof payload === 'object' && payload !== null ? { ...payload } : {}
}

/** No parse mode, so tags stay letters; names and commands are covered by code spans, so people cannot tap them. */
function isInert(calls: readonly JsonObject[]): boolean {
  return calls.map(payloadOf).every((payload) => {
    const entities = Array.isArray(payload['entities']) ? payload['entities'] : []
    const spans = entities.filter((each) => typeof each === 'object' && each !== null && each['type'] === 'code').length
    const tappable = String(payload['text']).match(/(?:@admin|\/delete_all)\b/g)?.length ?? 0
    return payload['parse_mode'] === undefined && spans === tappable
  })
}

const apiError = (code: number, description: string, parameters = {}) => ({
  status: code,
  body: JSON.stringify({ ok: false, error_code: code, description, parameters }),
})

export const fixtures = {
  definition: telegramChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  now,
  settings: (vendorOrigin: string) => ({
    botToken,
    webhookSecret,
    mode: 'webhook',
    apiRoot: vendorOrigin,
    botUsername: 'gw_bot',
  }),
  secrets: { botToken, webhookSecret },
  environment: { TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: webhookSecret },
  surroundings: { TELEGRAM_MODE: 'webhook' },
  sign,
  credentialHeaders: ['x-telegram-bot-api-secret-token'],
  captured: [
    { name: 'private text', ...privateText },
    { name: 'mention in a topic', ...groupMention },
    { name: 'command with payload', ...commandWithPayload },
    { name: 'photo with caption', ...photoWithCaption },
    { name: 'forwarded document', ...forwardedDocument },
    { name: 'edited message', ...editedMessage },
    { name: 'channel post', ...channelPost },
    { name: 'anonymous admin', ...anonymousAdmin },
    { name: 'service message', ...serviceMessage },
    { name: 'unknown update', ...unknownUpdate },
  ],
  own: [
    {
      update_id: 1,
      message: {
        message_id: 1,
        date: 1,
        chat: { id: 5, type: 'private' },
        from: { id: 7000001, is_bot: true, first_name: 'Gateway' },
        text: 'an echo of ourselves',
      },
    },
  ],
  replyTo: { chat_id: '5000000000' },
  textOf: (call: JsonObject) => String(payloadOf(call)['text']),
  hostile: [
    { said: 'run /delete_all and ask @admin', isInert },
    { said: '<b>bold</b> <a href="https://evil.example">x</a> *_`[]()~', isInert },
  ],
  vendor: {
    success: {
      status: 200,
      body: JSON.stringify({ ok: true, result: { message_id: 77, date: 1, chat: { id: 5, type: 'private' } } }),
    },
    rateLimit: apiError(429, 'Too Many Requests: retry after 30', { retry_after: 30 }),
    // Said by the front of the Bot API; of its own failures it says that nothing happened.
    serverFault: apiError(502, 'Bad Gateway'),
    refusal: apiError(403, 'Forbidden: bot was blocked by the user'),
    ambiguous: 'unknown' as const,
  },
  files: {
    ref: { file_id: 'AgACAgQAAxk', mime: 'image/jpeg' },
    isDownload: (path: string) => path.startsWith('/file/'),
    before: {
      status: 200,
      body: JSON.stringify({ ok: true, result: { file_id: 'A', file_path: 'photos/file_1.jpg' } }),
    },
    uploaded: (body: unknown) => /filename=.*?\r\n\r\n(.*?)\r\n-{10}/s.exec(String(body))?.[1] ?? '',
  },
  skips: {
    'verify: rejects one changed byte': 'Telegram signs nothing: the header authenticates the delivery, not the body',
    'verify: rejects an old timestamp': 'Telegram sends no signed time; old messages are refused as stale by accept',
    'verify: rejects a future timestamp': 'Telegram sends no signed time',
    'verify: answers the handshake': 'Telegram has no handshake; setWebhook is enough',
    'deliver: the idempotency key is the same on every try': 'the Bot API takes no key: idempotentSend is none',
    'verb: reconcile finds what arrived and misses what did not': 'the Bot API cannot read a chat back',
    'verb: acknowledge answers every acceptance': 'Telegram wants no body back',
  },
}
