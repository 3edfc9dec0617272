// Telegram cases that concern buttons, answers to clicks, guests and fallbacks, against a stand-in for the Bot API.

import type { Adapter, DeliveryResult } from '../../../src/contract/index.ts'
import type { ControlFacts } from '../../../src/contract/response.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { apiFault, rateLimited, startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { fixtures } from '../../fixtures/telegram/index.ts'
import type { Case } from '../conform.ts'
import { calls, createAttempt, kit, parts, question, saying } from './telegram-setup.ts'

const private5 = { chat_id: '5' }
const clicked = { chat_id: '5', reply_to_click: { id: 'q1', message_id: '70' } }
const keyboardOf = (call: JsonObject | undefined): unknown =>
  (call?.['payload'] as JsonObject | undefined)?.['reply_markup']
const decided = (words: string, decision: ControlFacts['decision'] = 'accepted') => ({
  ...parts(saying(words)),
  control: { about: 'approve', decision },
})
const textOf = (call: JsonObject | undefined): unknown => (call?.['payload'] as JsonObject | undefined)?.['text']
const methods = (all: readonly JsonObject[]): unknown => all.map((call) => call['method'])

const buttons: readonly Case[] = [
  {
    id: 'T70',
    claim: 'a question has a button for each choice, whose value is short and opaque',
    run: () => keyboardOf(calls(parts(question()), private5).at(-1)),
    equals: {
      inline_keyboard: [
        [
          { text: '✅ Approve', callback_data: 'a:0f3c9a' },
          { text: '❌ Reject', callback_data: 'r:0f3c9a' },
        ],
      ],
    },
  },
  {
    id: 'T70a',
    claim: 'a code that would not fit or come back has no button, and the words still say what to reply',
    run: () =>
      [question('0'.repeat(63)), question('löschen')].map((each) => keyboardOf(calls(parts(each), private5).at(-1))),
    equals: [undefined, undefined],
  },
  {
    id: 'T70b',
    claim: 'each question is a message of its own with its own buttons, which say what to do in place of the words',
    run: () =>
      calls(parts(saying('Two things:'), question(), question('aaaaaa')), private5).map((call) => [
        textOf(call),
        keyboardOf(call),
      ]),
    expected: [
      ['Two things:', undefined],
      ['I need an approval: delete it.', { inline_keyboard: [[{ callback_data: 'a:0f3c9a' }, {}]] }],
      ['I need an approval: delete it.', { inline_keyboard: [[{ callback_data: 'a:aaaaaa' }, {}]] }],
    ],
  },
  {
    id: 'T70c',
    claim: 'a question that ends a message that grew is the message, and a guest is told what to reply',
    run: () => [
      calls(parts(question()), private5, true).map((call) => [call['finishesLive'], textOf(call)]),
      calls(parts(question()), { chat_id: '-5', guest_query_id: 'g1' }).map(textOf),
    ],
    equals: [
      [[true, 'I need an approval: delete it.']],
      ['I need an approval: delete it.\nReply /approve_0f3c9a or /reject_0f3c9a.'],
    ],
  },
  {
    id: 'T67',
    claim: 'a link of a policy is a button where it is https and nothing else',
    run: () =>
      ['https://e.com/pay', 'http://e.com', 'javascript:alert(1)', 'https://a:b@e.com'].map((url) => {
        const policy = { kind: 'payment_required', message: 'Pay first.', url, action_label: 'Pay' }
        return keyboardOf(calls(parts({ kind: 'policy', policy }), private5).at(-1))
      }),
    equals: [{ inline_keyboard: [[{ text: 'Pay', url: 'https://e.com/pay' }]] }, undefined, undefined, undefined],
  },
]

const alert = 'Only an operator may decide this.'
const answers: readonly Case[] = [
  {
    id: 'T71',
    claim: 'whoever may not decide gets an alert and the buttons stay',
    run: () => calls(parts(saying(alert)), clicked),
    equals: [{ method: 'answerCallbackQuery', payload: { callback_query_id: 'q1', text: alert, show_alert: true } }],
  },
  {
    id: 'T71a',
    claim: 'a decision, and one that was taken before, are said and take the buttons off',
    run: () =>
      (
        [
          ['Approved: delete it. I go on with it.', 'accepted'],
          ['This was already decided: it is accepted.', 'already_resolved'],
        ] as const
      ).map(([words, decision]) => calls(decided(words, decision), clicked)),
    expected: [
      [
        {
          method: 'answerCallbackQuery',
          payload: { callback_query_id: 'q1', text: 'Approved: delete it. I go on with it.' },
        },
        { method: 'editMessageReplyMarkup', payload: { chat_id: 5, message_id: 70 } },
      ],
      [{ method: 'answerCallbackQuery' }, { method: 'editMessageReplyMarkup' }],
    ],
  },
  {
    id: 'T71b',
    claim: 'words alone take no buttons off, whatever they are',
    run: () => methods(calls(parts(saying('Approved: not')), clicked)),
    equals: ['answerCallbackQuery'],
  },
  {
    id: 'T71c',
    claim: 'an answer too long for a press is a message that points at the card',
    run: () => calls(decided('Approved: '.padEnd(300, 'x')), clicked),
    expected: [
      { method: 'answerCallbackQuery', payload: { callback_query_id: 'q1' } },
      { method: 'sendMessage', payload: { reply_parameters: { message_id: 70 } } },
      { method: 'editMessageReplyMarkup' },
    ],
  },
  {
    id: 'T40b',
    claim: 'the buttons of an inline message go by its own id',
    run: () =>
      calls(decided('Rejected: x.', 'rejected'), {
        chat_id: '5',
        reply_to_click: { id: 'q', inline_message_id: 'AAB' },
      })[1],
    equals: { method: 'editMessageReplyMarkup', payload: { inline_message_id: 'AAB' } },
  },
  {
    id: 'T32a',
    claim: 'a guest answers its query once, cut where it is too long, and never writes to the chat',
    run: () =>
      calls(parts(saying('x'.repeat(5000))), { chat_id: '-5', guest_query_id: 'g1' }).map((call) => [
        call['method'],
        String((call['payload'] as JsonObject)['text']).length,
      ]),
    equals: [['answerGuestQuery', 4096]],
  },
]

type Bench = { readonly api: TelegramApi; readonly adapter: Adapter }

/** One call, tried until it is no longer a retry; what each try came to. */
async function tries(
  { adapter }: Bench,
  call: JsonObject | undefined,
  changes = {},
): Promise<readonly DeliveryResult[]> {
  const outcomes: DeliveryResult[] = []
  for (let number = 1; number <= 4; number += 1) {
    const outcome = await adapter.deliver(call ?? {}, createAttempt(number, changes))
    outcomes.push(outcome)
    if (outcome.kind !== 'retry') break
  }
  return outcomes
}

async function withApi<T>(run: (bench: Bench) => Promise<T>): Promise<T> {
  const api = await startTelegramApi()
  try {
    return await run({ api, adapter: createAdapterFromFixtures(kit, api.apiRoot) })
  } finally {
    await api.close()
  }
}

const parseError = apiFault(400, "Bad Request: can't parse entities: unsupported")
const moved = apiFault(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: -1009 })
const named = (text: string): JsonObject | undefined => calls(parts(saying(text)), { chat_id: '-5' })[0]

const ladder: readonly Case[] = [
  {
    id: 'T56',
    claim: 'refused entities are recorded and sent once more as plain words, in which nobody can be tapped',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendMessage', parseError)
        return [await tries(bench, named('ask @admin or /pay')), bench.api.payloads('sendMessage')]
      }),
    expected: [
      [
        { kind: 'retry', reason: 'render_rejected', afterMs: 0 },
        { kind: 'delivered', vendorId: '1' },
      ],
      [{ entities: [{}, {}] }, { text: 'ask ＠admin or ⁄pay' }],
    ],
  },
  {
    id: 'T56a',
    claim: 'what is refused as plain words too is refused',
    run: () =>
      withApi((bench) => {
        bench.api.failNext('sendMessage', parseError, parseError, parseError)
        return tries(bench, named('ask @admin'))
      }),
    equals: [
      { kind: 'retry', reason: 'render_rejected', afterMs: 0 },
      { kind: 'refused', reason: 'render_rejected' },
    ],
  },
  {
    id: 'T34',
    claim: 'a group that moved is written to at its new id, and so is what comes after',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendMessage', moved)
        const first = await tries(bench, named('one'))
        await tries(bench, named('two'), { outboxId: 'other' })
        return [first, bench.api.payloads('sendMessage').map((payload) => payload['chat_id'])]
      }),
    equals: [
      [
        { kind: 'retry', reason: 'chat_migrated', afterMs: 0 },
        { kind: 'delivered', vendorId: '1' },
      ],
      [-5, -1009, -1009],
    ],
  },
  {
    id: 'T58',
    claim: 'a chat that was told to wait is told for itself alone',
    run: () =>
      withApi((bench) => {
        bench.api.failNext('sendMessage', rateLimited(30))
        return bench.adapter.deliver(named('x') ?? {}, createAttempt(1))
      }),
    equals: { kind: 'retry', reason: 'rate_limited', afterMs: 30_000, scope: 'conversation' },
  },
  {
    id: 'T58a',
    claim:
      'the twenty-first message of a minute in a group waits before Telegram has to say so; a private chat does not',
    run: () =>
      withApi(async ({ api, adapter }) => {
        const say = (to: string) =>
          adapter.deliver(calls(parts(saying('x')), { chat_id: to })[0] ?? {}, createAttempt(1))
        for (let said = 0; said < 20; said += 1) await say('-5')
        return [await say('-5'), (await say('-6')).kind, (await say('5')).kind, api.payloads('sendMessage').length]
      }),
    expected: [{ kind: 'retry', reason: 'group_limit', scope: 'conversation' }, 'delivered', 'delivered', 22],
  },
  {
    id: 'T71d',
    claim: 'a press that is too old to be answered, and a card that is gone, change nothing',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('answerCallbackQuery', apiFault(400, 'Bad Request: query is too old'))
        bench.api.failNext('editMessageReplyMarkup', apiFault(400, 'Bad Request: message to edit not found'))
        const both = calls(decided('Rejected: x.', 'rejected'), clicked)
        return [await tries(bench, both[0]), await tries(bench, both[1])]
      }),
    equals: [[{ kind: 'delivered' }], [{ kind: 'delivered' }]],
  },
  {
    id: 'T32b',
    claim: 'a guest’s answer is an article of words, without a preview',
    run: () =>
      withApi(async (bench) => {
        await tries(bench, calls(parts(saying('hello')), { chat_id: '-5', guest_query_id: 'g1' })[0])
        return [bench.api.payloads('answerGuestQuery'), bench.api.payloads('sendMessage')]
      }),
    expected: [
      [{ guest_query_id: 'g1', result: { type: 'article', input_message_content: { message_text: 'hello' } } }],
      [],
    ],
  },
]

const file = (method: string): JsonObject => ({
  method,
  payload: { chat_id: 5 },
  file: { attachment: 'a1', name: 'big @report.bin' },
})
const files = { open: async () => ({ body: new Blob(['bytes']).stream(), size: 5, mimeType: 'a/b', name: 'x' }) }

const uploads: readonly Case[] = [
  {
    id: 'T69',
    claim: 'a file that is too large for Telegram is named in words',
    run: () =>
      withApi(async ({ api }) => {
        api.failNext('sendDocument', apiFault(413, 'Request Entity Too Large'))
        const adapter = withFiles(api)
        const outcomes = await tries({ api, adapter }, file('sendDocument'))
        return [outcomes, api.payloads('sendMessage')[0]?.['text']]
      }),
    expected: [
      [{ kind: 'retry', reason: 'file_too_large' }, { kind: 'delivered' }],
      '[The file big ＠report.bin could not be sent: Telegram did not take it.]',
    ],
  },
  {
    id: 'T69a',
    claim: 'a picture Telegram cannot read goes as a document',
    run: () =>
      withApi(async ({ api }) => {
        api.failNext('sendPhoto', apiFault(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS'))
        const outcomes = await tries({ api, adapter: withFiles(api) }, file('sendPhoto'))
        return [outcomes, api.sent.map((sent) => sent.file?.method)]
      }),
    expected: [[{ kind: 'retry', reason: 'file_not_accepted' }, { kind: 'delivered' }], ['sendDocument']],
  },
]

function withFiles(api: TelegramApi): Adapter {
  const { definition, connection } = kit
  const deps = { connection, fetch, now: () => kit.now, files, hmac: { sha256: () => new Uint8Array() } }
  return definition.create(fixtures.settings(api.apiRoot), deps)
}

export const outboundCases: readonly Case[] = [...buttons, ...answers, ...ladder, ...uploads]
