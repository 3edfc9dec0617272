// Telegram's quirks: what the adapter alone decides when it reads. The ids are conformance cases (T…, TG-…); where
// each of them stands is listed in test/conformance/telegram/coverage.ts.
import { describe, expect, test } from 'vitest'
import { telegram, telegramChannel } from '../../../../adapters/telegram/index.ts'
import type { NormalizeResult } from '../../../../src/contract/adapter.ts'
import type { InboundEvent, InboundMessage, RawRequest } from '../../../../src/contract/index.ts'
import { jsonToBytes } from '../../../../src/testing/adapter-contract.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../../src/testing/adapter-fixtures.ts'
import { fixtures } from '../../../fixtures/telegram/index.ts'

const kit: AdapterFixtures = fixtures
const adapter = createAdapterFromFixtures(kit)
const ada = { id: 5_000_000_000, is_bot: false, first_name: 'Ada', username: 'ada' }
const us = { id: 7_000_001, is_bot: true, first_name: 'Gateway', username: 'gw_bot' }
const group = { id: -1_002_345_678_901, type: 'supergroup', title: 'Engines' }
const dm = { id: 5_000_000_000, type: 'private' }

const message = (fields: object) => ({
  update_id: 500,
  message: { message_id: 7, date: 1_763_300_000, chat: group, from: ada, text: 'hi', ...fields },
})
const mention = (text: string, length = text.indexOf(' ') === -1 ? text.length : text.indexOf(' ')) =>
  message({ text, entities: [{ type: 'mention', offset: 0, length }] })

async function receive(payload: unknown, changes: Partial<RawRequest> = {}): Promise<NormalizeResult> {
  return adapter.receive({ ...fixtures.sign(jsonToBytes(payload)), ...changes }, kit.connection)
}

async function arrived(payload: unknown): Promise<InboundEvent> {
  const reception = await receive(payload)
  const first = reception.kind === 'read' ? reception.events[0] : undefined
  return first ?? expect.unreachable(`nothing arrived: ${JSON.stringify(reception)}`)
}

async function read(payload: unknown): Promise<InboundMessage> {
  const first = await arrived(payload)
  return first.kind === 'message' ? first : expect.unreachable(`ignored: ${first.reason}`)
}

const texts = (each: InboundMessage) => each.message.parts.map((part) => ('content' in part ? part.content : part.kind))

describe('the secret header', () => {
  const header = 'x-telegram-bot-api-secret-token'
  const right = fixtures.secrets.webhookSecret
  test.each<[string, Record<string, string>, object]>([
    ['T01 TG-01 the right one is taken', { [header]: right }, { kind: 'read' }],
    ['T01 TG-02 none is missing_credential', {}, { kind: 'rejected', reason: 'missing_credential' }],
    ['T01 an empty one is missing_credential', { [header]: '' }, { kind: 'rejected', reason: 'missing_credential' }],
    [
      'T01 TG-02 another value is wrong',
      { [header]: `${right.slice(0, -1)}x` },
      { kind: 'rejected', reason: 'wrong_credential' },
    ],
    ['T01 another length is wrong', { [header]: right.slice(1) }, { kind: 'rejected', reason: 'wrong_credential' }],
    [
      'TG-03 another bot’s secret is wrong',
      { [header]: 'b'.repeat(40) },
      { kind: 'rejected', reason: 'wrong_credential' },
    ],
  ])('%s', async (_name, headers, expected) => {
    expect(await receive(message({}), { headers })).toMatchObject(expected)
  })

  test('T01 a rejected arrival makes no call and reads no body', async () => {
    const calls: unknown[] = []
    const watched = createAdapterFromFixtures(kit, 'http://127.0.0.1:9', (...given) => {
      calls.push(given)
      return Promise.reject(new Error('no calls here'))
    })
    const arrival = { ...fixtures.sign(new Uint8Array([0xff])), headers: {} }
    expect(await watched.receive(arrival, kit.connection)).toEqual({ kind: 'rejected', reason: 'missing_credential' })
    expect(calls).toEqual([])
  })

  test('during a rotation either of two secrets is taken', async () => {
    const old = 'o'.repeat(32)
    const settings = { ...kit.settings('http://127.0.0.1:9'), webhookSecret: [right, old] }
    const rotating = createAdapterFromFixtures({ ...kit, settings: () => settings })
    for (const [given, kind] of [
      [right, 'read'],
      [old, 'read'],
      ['p'.repeat(32), 'rejected'],
    ] as const) {
      const arrival = { ...fixtures.sign(jsonToBytes(message({}))), headers: { [header]: given } }
      expect((await rotating.receive(arrival, kit.connection)).kind).toBe(kind)
    }
  })
})

describe('settings', () => {
  const base = kit.settings('https://api.telegram.org')
  test.each<[string, object, string]>([
    ['T02 no secret', { ...base, webhookSecret: undefined }, 'TELEGRAM_WEBHOOK_SECRET'],
    ['T02 an empty list of secrets', { ...base, webhookSecret: [] }, 'TELEGRAM_WEBHOOK_SECRET'],
    ['a secret that is too short', { ...base, webhookSecret: 'short' }, '32 to 256'],
    ['a secret Telegram would not take', { ...base, webhookSecret: `${'a'.repeat(40)}!` }, '32 to 256'],
    ['three secrets', { ...base, webhookSecret: ['a', 'b', 'c'].map((letter) => letter.repeat(32)) }, 'at most two'],
    ['a token that is none', { ...base, botToken: 'hello' }, 'BotFather'],
    ['a trailing slash', { ...base, apiRoot: 'https://api.telegram.org/' }, 'must not end with a slash'],
    ['another protocol', { ...base, apiRoot: 'ftp://api.telegram.org' }, 'http(s) URL'],
  ])('%s stops the start', (_name, settings, problem) => {
    expect(() => createAdapterFromFixtures({ ...kit, settings: () => ({ ...settings }) })).toThrow(problem)
  })

  test('come from the environment, with the allow list as access', () => {
    const env = kit.environment
    const access = (list: string) => telegramChannel.fromEnvironment({ ...env, TELEGRAM_ALLOW: list })
    expect(access('5, 6,')).toMatchObject({ access: { mode: 'allow_list', allow: ['telegram:5', 'telegram:6'] } })
    expect(access('*')).toMatchObject({ access: { mode: 'public', allow: [] } })
    expect(access(' ')).not.toHaveProperty('access')
    const two = { ...env, TELEGRAM_WEBHOOK_SECRET: `${'a'.repeat(32)}, ${'b'.repeat(32)}` }
    const reading = telegramChannel.fromEnvironment(two)
    const settings = reading !== undefined && 'settings' in reading ? reading.settings : undefined
    expect(telegramChannel.settingsSchema.safeParse(settings).success).toBe(true)
  })

  test('of parley.config.ts make the same adapter', () => {
    const config = telegram({ botToken: '1:abc', webhookSecret: 's'.repeat(32), agent: 'demo' })
    expect(config).toMatchObject({ channel: 'telegram', id: 'default', agent: 'demo' })
    const made = createAdapterFromFixtures({ ...kit, settings: () => config.settings as Record<string, unknown> })
    expect(made.capabilities).toMatchObject({ maxTextLength: 4096, idempotentSend: 'none', callTimeoutMs: 9000 })
  })
})

describe('reading updates', () => {
  test('T03 broken JSON is unreadable with its reason, and the next update is read', async () => {
    const broken = new TextEncoder().encode('{"update_id":')
    expect(await receive({}, { bytes: broken })).toEqual({ kind: 'unreadable', reason: 'invalid_json' })
    expect(await receive({ message: {} })).toEqual({ kind: 'unreadable', reason: 'invalid_update' })
    expect(await receive(message({}))).toMatchObject({ kind: 'read' })
  })

  test('T05 TG-04 the same update has the same key and delivery id', async () => {
    const [one, two] = [await read(message({})), await read(message({}))]
    expect([one.semanticId, one.version, one.deliveryId]).toEqual([two.semanticId, two.version, two.deliveryId])
  })

  test('T06 an update id that jumps back is read', async () => {
    expect((await read({ ...message({ message_id: 8 }), update_id: 12 })).deliveryId).toBe('12')
  })

  test('T12 two bots with the same update give two messages', async () => {
    const settings = { ...kit.settings('http://127.0.0.1:9'), botToken: '7000002:other' }
    const other = createAdapterFromFixtures({ ...kit, settings: () => settings })
    const reception = await other.receive(fixtures.sign(jsonToBytes(message({}))), kit.connection)
    const first = reception.kind === 'read' ? reception.events[0] : undefined
    expect(first?.kind === 'message' && first.message.id).toBe('7000002:-1002345678901:7')
    expect((await read(message({}))).message.id).toBe('7000001:-1002345678901:7')
  })

  test('T44 large ids survive as strings', async () => {
    const { message: normalized, replyTo, subject } = await read(message({}))
    expect(subject).toBe('telegram:5000000000')
    expect(replyTo['chat_id']).toBe('-1002345678901')
    expect(normalized.id).toBe('7000001:-1002345678901:7')
    expect(normalized.channel?.sender_id).toBe('5000000000')
  })

  test('TG-05 an edit amends the original and has a version of its own', async () => {
    const { message: original } = message({ text: 'fixed', edit_date: 1_763_300_009 })
    const edit = await read({ update_id: 501, edited_message: original })
    expect(edit.message.channel).toMatchObject({ event: 'edit', target_id: '7000001:-1002345678901:7' })
    expect([edit.semanticId, edit.version]).toEqual(['-1002345678901:7', '1763300009'])
    expect(edit.message.id).not.toBe('7000001:-1002345678901:7')
  })

  test('an edited command is an amendment and not a second command', async () => {
    const entities = [{ type: 'bot_command', offset: 0, length: 5 }]
    const { message: edited } = message({ text: '/help', entities, edit_date: 1_763_300_009 })
    expect(await read({ update_id: 501, edited_message: edited })).not.toHaveProperty('mustReplyIndividually')
  })
})

describe('who is addressed', () => {
  test.each<[string, unknown, string]>([
    ['T21 a longer name is not ours', mention('@gw_bot_dev hello'), 'none'],
    ['T21 a name with a hyphen is not ours', mention('@gw_bot-dev hello', 7), 'none'],
    ['T21 case does not matter', mention('@GW_BOT hello'), 'mention'],
    ['a name followed by punctuation is ours', mention('@gw_bot, hello', 7), 'mention'],
    [
      'T22 a mention by id is ours',
      message({ text: 'Gateway?', entities: [{ type: 'text_mention', offset: 0, length: 7, user: us }] }),
      'mention',
    ],
    ['a reply to us', message({ reply_to_message: { message_id: 3, from: us } }), 'reply'],
    ['a reply to somebody else', message({ reply_to_message: { message_id: 3, from: ada } }), 'none'],
    ['a private chat', message({ chat: dm }), 'dm'],
    [
      'a mention in a caption',
      message({
        text: undefined,
        caption: '@gw_bot look',
        photo: [{}],
        caption_entities: [{ type: 'mention', offset: 0, length: 7 }],
      }),
      'mention',
    ],
    ['nobody in particular', message({}), 'none'],
  ])('%s', async (_name, payload, expected) => {
    expect((await read(payload)).message.channel?.addressed).toBe(expected)
  })

  test('T45 entities outside the text are cut or dropped', async () => {
    const ranges = [
      [0, 999],
      [50, 3],
      [0, 0],
      [-1, 2],
      [1, -5],
    ]
    const entities = ranges.map(([offset, length]) => ({ type: 'mention', offset, length }))
    const { message: normalized } = await read(message({ text: '@gw_bot', entities }))
    expect(normalized.channel?.mentions).toEqual([{ text: '@gw_bot', subject: 'telegram:7000001' }])
  })
})

describe('commands', () => {
  const command = (text: string, length: number, fields = {}) =>
    message({ text, entities: [{ type: 'bot_command', offset: 0, length }], ...fields })
  test.each<[string, unknown, object | undefined]>([
    ['T23 with our name and a payload', command('/start@gw_bot abc-123', 13), { name: 'start', args: 'abc-123' }],
    [
      'T24 with a payload too long for a link',
      command(`/start ${'x'.repeat(65)}`, 6),
      { name: 'start', args: 'x'.repeat(65) },
    ],
    ['T24 with a payload that is no link', command('/start a=b', 6), { name: 'start', args: 'a=b' }],
    ['in another case', command('/HELP', 5), { name: 'help', args: '' }],
    ['a bare start is a wish for help', command('/start', 6), { name: 'help', args: '' }],
    ['a tapped decision', command('/approve_c0ffee@gw_bot', 22), { name: 'approve', args: 'c0ffee' }],
    [
      'a tapped consent',
      command('/consent_allow_store_transcript', 31),
      { name: 'consent', args: 'allow store_transcript' },
    ],
    ['a tapped pairing', command('/pair_BCDF2345', 14), { name: 'pair', args: 'bcdf2345' }],
    ['a command of the agent’s own with a line', command('/stop_loss 5', 10), { name: 'stop_loss', args: '5' }],
    ['a path is no command', message({ text: '/etc/hosts' }), undefined],
    [
      'a command further on is no command',
      message({ text: 'try /help', entities: [{ type: 'bot_command', offset: 4, length: 5 }] }),
      undefined,
    ],
  ])('%s', async (_name, payload, expected) => {
    const each = await read(payload)
    expect(each.message.channel?.command).toEqual(expected)
    expect(each.mustReplyIndividually).toBe(expected === undefined ? undefined : 'command')
  })

  test('T23 for another bot is ignored', async () => {
    expect(await arrived(command('/start@other_bot x', 16))).toMatchObject({
      kind: 'ignored',
      reason: 'command_for_other_bot',
    })
  })
})

describe('conversations', () => {
  const business = { business_connection_id: 'biz1', chat: dm }
  test.each<[string, unknown, string, object]>([
    [
      'T25 a reply’s thread id is no topic',
      message({ message_thread_id: 9 }),
      '7000001:-1002345678901:main',
      { chat_id: '-1002345678901', reply_to_message_id: '7' },
    ],
    [
      'T26 TG-11 a topic is a thread',
      message({ message_thread_id: 9, is_topic_message: true }),
      '7000001:-1002345678901:9',
      { chat_id: '-1002345678901', message_thread_id: '9', reply_to_message_id: '7' },
    ],
    [
      'T26 the general topic has no thread id',
      message({ message_thread_id: 1, is_topic_message: true }),
      '7000001:-1002345678901:main',
      { chat_id: '-1002345678901', reply_to_message_id: '7' },
    ],
    [
      'T27 a topic in a private chat is a thread',
      message({ chat: dm, message_thread_id: 4, is_topic_message: true }),
      '7000001:5000000000:4',
      { chat_id: '5000000000', message_thread_id: '4' },
    ],
    [
      'T31 a business chat is not the bot’s chat',
      { update_id: 1, business_message: message(business).message },
      '7000001:biz1/5000000000:main',
      { chat_id: '5000000000', business_connection_id: 'biz1' },
    ],
  ])('%s', async (_name, payload, threadId, replyTo) => {
    const each = await read(payload)
    expect(each.message.thread_id).toBe(threadId)
    expect(each.thread).toEqual({ candidates: [threadId], platformVerified: true, newThreadKey: threadId })
    expect(each.replyTo).toEqual(replyTo)
  })

  test('TG-08 nobody is woken by a mention in a reply', async () => {
    expect((await read(message({}))).message.recipient_capabilities.mention_relay).toEqual({ kind: 'none' })
  })

  test('a reply names its parent, but the opener of a topic is none', async () => {
    const parent = { message_id: 9, from: ada }
    expect((await read(message({ reply_to_message: parent }))).message.in_reply_to).toBe('7000001:-1002345678901:9')
    const inTopic = message({ reply_to_message: parent, message_thread_id: 9, is_topic_message: true })
    expect((await read(inTopic)).message).not.toHaveProperty('in_reply_to')
  })
})

describe('authors', () => {
  const channel = { id: -100_777, type: 'channel', title: 'News' }
  const anonymous = { id: 1_087_968_824, is_bot: true, first_name: 'Group' }
  test.each<[string, unknown, string, string]>([
    [
      'T28 a channel post is the channel’s',
      { update_id: 1, channel_post: message({ from: undefined, chat: channel }).message },
      'telegram:chat/-100777',
      'telegram-sender-chat',
    ],
    [
      'T29 TG-06 an anonymous admin is the group',
      message({ from: anonymous, sender_chat: group }),
      'telegram:chat/-1002345678901',
      'telegram-sender-chat',
    ],
    [
      'TG-07 a forwarded message is the forwarder’s',
      message({ forward_origin: { type: 'user', sender_user: { id: 99, first_name: 'Eve' } } }),
      'telegram:5000000000',
      'telegram-user',
    ],
    [
      'TG-14 another user name is the same person',
      message({ from: { ...ada, username: 'countess' } }),
      'telegram:5000000000',
      'telegram-user',
    ],
  ])('%s', async (_name, payload, subject, method) => {
    const each = await read(payload)
    expect(each.subject).toBe(subject)
    expect(each.message.sender.identities).toMatchObject([
      { subject, method: `urn:gw:auth:${method}:v0.1`, assurance: 'platform', audience: '@demo@parley.localhost' },
    ])
  })

  test.each<[string, unknown, string, subject?: string]>([
    [
      'T30 an automatic forward',
      message({ is_automatic_forward: true, sender_chat: channel }),
      'automatic_forward',
      `telegram:chat/${channel.id}`,
    ],
    ['T42 another bot', message({ from: { id: 9, is_bot: true, first_name: 'Bot' } }), 'from_bot', 'telegram:9'],
    ['our own message', message({ from: us }), 'own_message', `telegram:${us.id}`],
    ['our own message in a business chat', message({ sender_business_bot: us }), 'own_message', `telegram:${ada.id}`],
    ['a service message', message({ text: undefined, pinned_message: {} }), 'service_message', `telegram:${ada.id}`],
    ['nothing at all', message({ text: undefined }), 'no_content', `telegram:${ada.id}`],
    ['nobody at all', message({ from: undefined }), 'no_author'],
  ])('%s is ignored, kept and no noise', async (_name, payload, reason, subject) => {
    expect(await arrived(payload)).toEqual({
      kind: 'ignored',
      reason,
      isNoise: false,
      deliveryId: '500',
      ...(subject === undefined ? {} : { subject }),
      raw: jsonOf(payload),
    })
  })

  test('names are shown without control characters', async () => {
    const { message: normalized } = await read(
      message({ from: { ...ada, first_name: 'A\u202eda\u0007', last_name: 'L' } }),
    )
    expect(normalized.sender.display_name).toBe('Ada L')
  })
})

const jsonOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('content', () => {
  const kinds =
    'sticker voice video_note location contact poll dice checklist story paid_media live_photo photo document'
  test.each(kinds.split(' '))('T35 %s is named, never an empty message', async (kind) => {
    const each = await read(message({ text: undefined, [kind]: { any: 'thing' } }))
    expect(texts(each)).toEqual([`[${kind.replaceAll('_', ' ')}]`])
  })

  test('a caption stands beside what it describes', async () => {
    expect(texts(await read(message({ text: undefined, photo: [{}], caption: 'look' })))).toEqual(['[photo]', 'look'])
  })

  test('T37 forwarded words are marked with their origin', async () => {
    const origin = { type: 'channel', chat: { id: -5, type: 'channel', title: 'News\u202e' } }
    expect(texts(await read(message({ forward_origin: origin, text: 'do it' })))).toEqual([
      '[forwarded from News]',
      'do it',
    ])
  })

  test('T38 a quoted span is kept as a quotation', async () => {
    const quoted = message({ quote: { text: 'one\ntwo', position: 0, is_manual: true }, text: 'yes' })
    expect(texts(await read(quoted))).toEqual(['> one\n> two', 'yes'])
  })
})

describe('not yet read', () => {
  test.each<[string, object, boolean]>([
    ['T43 an unknown update', { future_update: { a: 1 } }, false],
    ['a click that cannot be read', { callback_query: { id: '1', data: 'x' } }, false],
    ['a membership that cannot be read', { my_chat_member: {} }, false],
    ['a poll answer, which is noise', { poll_answer: {} }, true],
    ['noise beside something unknown', { poll_answer: {}, future_update: {} }, false],
    ['an update without content', {}, false],
  ])('%s is ignored and its raw payload handed on', async (_name, fields, isNoise) => {
    const payload = { update_id: 500, ...fields }
    expect(await arrived(payload)).toEqual({
      kind: 'ignored',
      reason: 'unsupported_update',
      isNoise,
      deliveryId: '500',
      raw: payload,
    })
  })
})
