// Replies that grow on Telegram, against a stand-in for the Bot API with a clock of our own.

import type { Adapter, FrameOutcome } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import {
  apiFault,
  htmlBadGateway,
  rateLimited,
  startTelegramApi,
  type TelegramApi,
} from '../../doubles/telegram-api.ts'
import { fixtures } from '../../fixtures/telegram/index.ts'
import type { Case } from '../conform.ts'
import { createAttempt, kit, parts } from './telegram-setup.ts'

type Bench = { readonly api: TelegramApi; readonly adapter: Adapter; readonly wait: (ms: number) => void }

async function growing<T>(run: (bench: Bench) => Promise<T>, streaming = 'edit'): Promise<T> {
  const api = await startTelegramApi()
  let now = kit.now
  const { connection } = kit
  const deps = { connection, fetch, now: () => now, hmac: { sha256: () => new Uint8Array() } }
  const adapter = fixtures.definition.create({ ...fixtures.settings(api.apiRoot), streaming }, deps)
  const wait = (ms: number): void => {
    now += ms
  }
  try {
    return await run({ api, adapter, wait })
  } finally {
    await api.close()
  }
}

const markdown = (content: string): object => ({ kind: 'text', mime: 'text/markdown', content })

async function opened({ adapter }: Bench, to: JsonObject, text: string): Promise<string> {
  const outcome = await adapter.deliver(adapter.live?.open(to, text) ?? {}, createAttempt(1))
  return outcome.kind === 'delivered' ? (outcome.vendorId ?? '') : ''
}

type Shown = { readonly text: string; readonly shown?: string; readonly to?: JsonObject }

async function frame(
  { adapter }: Bench,
  { text, shown = '', to = { chat_id: '5' } }: Shown,
): Promise<FrameOutcome | undefined> {
  return adapter.live?.frame({ reference: '1', to, text, shown, signal: new AbortController().signal })
}

const group = { chat_id: '-5' }
const private5 = { chat_id: '5' }
const turnId = '01997a00-0000-7000-8000-000000000010'

function previewed({ adapter }: Bench, to: JsonObject): unknown {
  return adapter.live?.preview?.(to, turnId)
}

async function drafted({ adapter }: Bench, text: string, to: JsonObject = private5): Promise<FrameOutcome | undefined> {
  const reference = adapter.live?.preview?.(to, turnId)?.reference ?? 'draft:17'
  return adapter.live?.frame({ reference, to, text, shown: '', signal: new AbortController().signal })
}

export const liveCases: readonly Case[] = [
  {
    id: 'T61',
    claim: 'a draft is never shown in a group, and where a private chat takes none a message is edited from then on',
    run: () =>
      growing(async (bench) => {
        const before = [previewed(bench, group), previewed(bench, private5)]
        bench.api.failNext('sendMessageDraft', apiFault(400, 'Bad Request: TEXTDRAFT_PEER_INVALID'))
        const outcome = await drafted(bench, 'Hello **wor')
        await opened(bench, private5, 'Hel')
        await frame(bench, { text: 'Hello', shown: 'Hel' })
        return [before, outcome, previewed(bench, private5), bench.api.sent[0]?.text, bench.adapter.live?.everyMs]
      }, 'draft'),
    equals: [
      [undefined, { reference: 'draft:17', everyMs: 700, refreshMs: 20_000 }],
      { kind: 'unavailable', reason: 'drafts_refused' },
      undefined,
      'Hello',
      1200,
    ],
  },
  {
    id: 'T61d',
    claim: 'a draft carries all words with their formatting in its topic, and a button that stops them',
    run: () =>
      growing(async (bench) => {
        const outcome = await drafted(bench, 'Hello **wor', { ...private5, message_thread_id: '9' })
        return [outcome, bench.api.payloads('sendMessageDraft')]
      }, 'draft'),
    equals: [
      { kind: 'shown' },
      [
        {
          chat_id: 5,
          draft_id: 17,
          text: 'Hello wor',
          message_thread_id: 9,
          can_stop: true,
          keep_on_stop: true,
          entities: [{ type: 'bold', offset: 6, length: 3 }],
        },
      ],
    ],
  },
  {
    id: 'T61e',
    claim: 'faults put a draft off twice and then end it, without a single edit; limits and refusals end it too',
    run: () =>
      growing(async (bench) => {
        const faults = [htmlBadGateway, htmlBadGateway, htmlBadGateway, rateLimited(7), rateLimited(280)]
        const outcomes: unknown[] = []
        for (const fault of [...faults, apiFault(403, 'Forbidden: bot was blocked by the user')]) {
          bench.api.failNext('sendMessageDraft', fault)
          outcomes.push(await drafted(bench, 'x'))
          bench.wait(300_000)
        }
        return outcomes
      }, 'draft'),
    equals: [
      { kind: 'later', afterMs: 3000 },
      { kind: 'later', afterMs: 3000 },
      { kind: 'over', reason: 'drafts_fail' },
      { kind: 'later', afterMs: 7000 },
      { kind: 'over', reason: 'rate_limited' },
      { kind: 'over', reason: 'telegram_403' },
    ],
  },
  {
    id: 'T61f',
    claim: 'a Bot API server that knows no drafts is not asked again, whatever the chat',
    run: () =>
      growing(async (bench) => {
        bench.api.failNext('sendMessageDraft', apiFault(404, 'Not Found: method not found'))
        return [await drafted(bench, 'x'), previewed(bench, { chat_id: '6' })]
      }, 'draft'),
    equals: [{ kind: 'unavailable', reason: 'drafts_unknown' }, undefined],
  },
  {
    id: 'T61g',
    claim: 'business chats, guests and presses have no drafts; the end of a long text is what is shown',
    run: () =>
      growing(async (bench) => {
        const places = [{ business_connection_id: 'b' }, { guest_query_id: 'g' }, { reply_to_click: { id: 'q' } }]
        await drafted(bench, `${'word '.repeat(1200)}end`)
        const [draft] = bench.api.payloads('sendMessageDraft')
        return [
          places.map((place) => previewed(bench, { ...private5, ...place })),
          /word end$/.test(String(draft?.['text'])),
        ]
      }, 'draft'),
    equals: [[undefined, undefined, undefined], true],
  },
  {
    id: 'X07',
    claim: 'without streaming nothing grows, and by default nothing is drafted',
    run: async () => [
      await growing(async ({ adapter }) => adapter.live, 'off'),
      await growing(async ({ adapter }) => adapter.live?.preview),
    ],
    equals: [undefined, undefined],
  },
  {
    id: 'T61a',
    claim: 'in a group frames are three seconds apart, and leave room for replies',
    run: () =>
      growing(async (bench) => {
        await opened(bench, group, 'a')
        const outcomes: unknown[] = [await frame(bench, { text: 'ab', to: group })]
        bench.wait(1000)
        outcomes.push(await frame(bench, { text: 'abc', to: group }))
        for (let shown = 2; shown < 15; shown += 1) {
          bench.wait(3000)
          await frame(bench, { text: `abc${shown}`, to: group })
        }
        bench.wait(3000)
        outcomes.push(await frame(bench, { text: 'late', to: group }))
        return outcomes
      }),
    equals: [{ kind: 'shown' }, { kind: 'later', afterMs: 2000 }, { kind: 'later', afterMs: 17_000 }],
  },
  {
    id: 'T62',
    claim: 'the final reply is an edit of the live message with the full text; what does not fit follows',
    run: () =>
      growing(async (bench) => {
        const reference = await opened(bench, { chat_id: '5' }, 'x')
        const all = bench.adapter.render(parts(markdown(`${'word '.repeat(1200)}`)), { chat_id: '5' }, new Set(), true)
        for (const [at, { call }] of all.entries()) {
          await bench.adapter.deliver(call, createAttempt(1, { outboxId: `o${at}`, liveReference: reference }))
        }
        return bench.api.sent.map(({ message_id, text }) => [message_id, text.length])
      }),
    equals: [
      [1, 4094],
      [2, 1904],
    ],
  },
  {
    id: 'T62a',
    claim: 'an edit of the live message whose answer was lost is made again; one that is gone is sent anew',
    run: () =>
      growing(async (bench) => {
        const reference = await opened(bench, { chat_id: '5' }, 'x')
        const [last] = bench.adapter.render(parts(markdown('all')), { chat_id: '5' }, new Set(), true)
        const finish = () => bench.adapter.deliver(last?.call ?? {}, createAttempt(1, { liveReference: reference }))
        bench.api.failNext('editMessageText', htmlBadGateway, apiFault(400, 'Bad Request: message to edit not found'))
        return [await finish(), await finish(), await finish(), bench.api.sent.map(({ text }) => text)]
      }),
    equals: [
      { kind: 'retry', reason: 'no_readable_answer' },
      { kind: 'retry', reason: 'message_not_editable', afterMs: 0 },
      { kind: 'delivered', vendorId: '2' },
      ['x', 'all'],
    ],
  },
  {
    id: 'T62b',
    claim: 'without a live message the same call is a message',
    run: () =>
      growing(async (bench) => {
        const [last] = bench.adapter.render(parts(markdown('all')), { chat_id: '5' }, new Set(), true)
        await bench.adapter.deliver(last?.call ?? {}, createAttempt(1))
        return [bench.api.payloads('sendMessage').length, bench.api.payloads('editMessageText').length]
      }),
    equals: [1, 0],
  },
  {
    id: 'T57',
    claim: 'a frame that changes nothing is shown, whether we see it or Telegram does',
    run: () =>
      growing(async (bench) => {
        await opened(bench, { chat_id: '5' }, 'same')
        const unasked = await frame(bench, { text: 'same', shown: 'same' })
        return [
          unasked,
          await frame(bench, { text: 'same', shown: '\u0000' }),
          bench.api.payloads('editMessageText').length,
        ]
      }),
    equals: [{ kind: 'shown' }, { kind: 'shown' }, 1],
  },
  {
    id: 'T61b',
    claim: 'limits and faults put a frame off, what stays refused ends them',
    run: () =>
      growing(async (bench) => {
        await opened(bench, { chat_id: '5' }, 'x')
        const faults = [
          rateLimited(7),
          rateLimited(280),
          htmlBadGateway,
          apiFault(403, 'Forbidden: bot was blocked by the user'),
        ]
        const outcomes: unknown[] = []
        for (const [at, fault] of faults.entries()) {
          bench.api.failNext('editMessageText', fault)
          outcomes.push(await frame(bench, { text: `x${at}` }))
          bench.wait(300_000)
        }
        return outcomes
      }),
    equals: [
      { kind: 'later', afterMs: 7000 },
      { kind: 'over', reason: 'rate_limited' },
      { kind: 'later', afterMs: 3000 },
      { kind: 'over', reason: 'telegram_403' },
    ],
  },
  {
    id: 'T58c',
    claim: 'where an answer was told to wait neither a frame nor a sign of typing is shown; elsewhere they are',
    run: () =>
      growing(async (bench) => {
        await opened(bench, private5, 'x')
        await opened(bench, { chat_id: '6' }, 'x')
        bench.api.failNext('sendMessage', rateLimited(30))
        await opened(bench, private5, 'y')
        await bench.adapter.presence?.show(private5, 'typing')
        const there = await frame(bench, { text: 'xy' })
        const elsewhere = await frame(bench, { text: 'xy', to: { chat_id: '6' } })
        return [there, elsewhere, bench.api.payloads('sendChatAction')]
      }),
    equals: [{ kind: 'later', afterMs: 30_000 }, { kind: 'shown' }, []],
  },
  {
    id: 'T58d',
    claim: 'one chat that is told to wait waits alone; three at once are the whole bot',
    run: () =>
      growing(async (bench) => {
        const scopes: unknown[] = []
        for (const chat of ['5', '6', '7']) {
          bench.api.failNext('sendMessage', rateLimited(30))
          const call = bench.adapter.live?.open({ chat_id: chat }, 'x') ?? {}
          scopes.push(await bench.adapter.deliver(call, createAttempt(1)))
        }
        return [
          scopes.map((each) => (each as { scope?: string }).scope),
          await frame(bench, { text: 'x', to: { chat_id: '8' } }),
        ]
      }),
    equals: [['conversation', 'conversation', 'connection'], { kind: 'later', afterMs: 30_000 }],
  },
  {
    id: 'T58e',
    claim: 'frames of all chats together leave half of what the bot may say to its answers',
    run: () =>
      growing(async (bench) => {
        await opened(bench, private5, 'x')
        const outcomes: unknown[] = []
        for (let at = 0; at < 16; at += 1) outcomes.push(await frame(bench, { text: `x${at}` }))
        return [outcomes.slice(0, 15).every((each) => (each as FrameOutcome).kind === 'shown'), outcomes.at(15)]
      }),
    equals: [true, { kind: 'later', afterMs: 1000 }],
  },
  {
    id: 'T50',
    claim: 'a frame never exceeds one message, and the last that fits ends them',
    run: () =>
      growing(async (bench) => {
        await opened(bench, { chat_id: '5' }, 'x')
        const [long, longer] = ['y'.repeat(5000), 'y'.repeat(6000)]
        const first = await frame(bench, { text: long, shown: 'x' })
        return [first, await frame(bench, { text: longer, shown: long }), bench.api.sent[0]?.text.length]
      }),
    equals: [{ kind: 'shown' }, { kind: 'over', reason: 'message_is_full' }, 4096],
  },
  {
    id: 'T32c',
    claim: 'a guest’s answer and the answer to a press do not grow',
    run: () =>
      growing(async ({ adapter }) => [
        adapter.live?.open({ chat_id: '5', guest_query_id: 'g' }, 'x'),
        adapter.live?.open({ chat_id: '5', reply_to_click: { id: 'q' } }, 'x'),
      ]),
    equals: [undefined, undefined],
  },
  {
    id: 'T58b',
    claim: 'typing is shown in its topic, and not while Telegram asks for quiet; a fault is nobody’s business',
    run: () =>
      growing(async (bench) => {
        const type = (to: JsonObject) => bench.adapter.presence?.show(to, 'typing')
        await type({ chat_id: '-5', message_thread_id: '9' })
        bench.api.failNext('sendChatAction', rateLimited(30))
        await type(group)
        await type(group)
        bench.wait(31_000)
        await type(group)
        await type({ chat_id: '5', guest_query_id: 'g' })
        return bench.api.payloads('sendChatAction')
      }),
    equals: [
      { chat_id: -5, message_thread_id: 9, action: 'typing' },
      { chat_id: -5, action: 'typing' },
      { chat_id: -5, action: 'typing' },
    ],
  },
  {
    id: 'T58g',
    claim: 'a message that waits behind a run is marked with eyes until it is taken up, and none of a business account',
    run: () =>
      growing(async (bench) => {
        const show = (to: JsonObject, what: 'waiting' | 'seen', messageId = '77') =>
          bench.adapter.presence?.show(to, what, { messageId })
        await show(private5, 'waiting')
        await show({ chat_id: '5', business_connection_id: 'b' }, 'waiting')
        await show(private5, 'seen', '78')
        await show(private5, 'seen')
        await show(private5, 'seen')
        return bench.api.payloads('setMessageReaction')
      }),
    equals: [
      { chat_id: 5, message_id: 77, reaction: [{ type: 'emoji', emoji: '👀' }] },
      { chat_id: 5, message_id: 77, reaction: [] },
    ],
  },
  {
    id: 'T58h',
    claim: 'eyes that another process set are taken off a message that has waited, and fresh messages cost no call',
    run: () =>
      growing(async (bench) => {
        const show = (messageId: string, waitedMs: number, to: JsonObject = private5) =>
          bench.adapter.presence?.show(to, 'seen', { messageId, waitedMs })
        await show('77', 200)
        await show('78', 5_000)
        await show('79', 5_000, { chat_id: '5', business_connection_id: 'b' })
        return bench.api.payloads('setMessageReaction')
      }),
    equals: [{ chat_id: 5, message_id: 78, reaction: [] }],
  },
]
