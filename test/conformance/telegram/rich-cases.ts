// Rich messages on Telegram and the Markdown cases on them, against a stand-in for the Bot API.

import type { Adapter, DeliveryResult } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { apiFault, startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { fixtures } from '../../fixtures/telegram/index.ts'
import type { Case } from '../conform.ts'
import { createAttempt, kit, parts } from './telegram-setup.ts'

type Bench = { readonly api: TelegramApi; readonly adapter: Adapter }

async function withApi<T>(run: (bench: Bench) => Promise<T>, richMessages = 'tables'): Promise<T> {
  const api = await startTelegramApi()
  const deps = { connection: kit.connection, fetch, now: () => kit.now, hmac: { sha256: () => new Uint8Array() } }
  const settings = { ...fixtures.settings(api.apiRoot), richMessages }
  try {
    return await run({ api, adapter: fixtures.definition.create(settings, deps) })
  } finally {
    await api.close()
  }
}

const markdown = (content: string): object => ({ kind: 'text', mime: 'text/markdown', content })
const to = { chat_id: '5' }
const table = '| A | B | C |\n| :-- | :-: | --: |\n| **x** | [l](https://e.com) | 3 |'

function rendered({ adapter }: Bench, content: string, hasLive = false): JsonObject {
  return adapter.render(parts(markdown(content)), to, new Set(['@ada']), hasLive)[0]?.call ?? {}
}

/** Tried until it is no longer a retry; what each try came to. */
async function tries({ adapter }: Bench, call: JsonObject, changes = {}): Promise<readonly DeliveryResult[]> {
  const outcomes: DeliveryResult[] = []
  for (let number = 1; number <= 4; number += 1) {
    outcomes.push(await adapter.deliver(call, createAttempt(number, changes)))
    if (outcomes.at(-1)?.kind !== 'retry') break
  }
  return outcomes
}

function blocksSent({ api }: Bench): readonly unknown[] {
  const [sent] = api.payloads('sendRichMessage')
  const rich = (sent?.['rich_message'] ?? { blocks: [] }) as { readonly blocks: readonly unknown[] }
  return rich.blocks
}

const methods = ({ api }: Bench): readonly unknown[] => api.calls.map(({ route }) => route)
const cell = (text: unknown, align: string, fields = {}): object => ({ text, align, valign: 'top', ...fields })
const header = { is_header: true }

const blocks: readonly Case[] = [
  {
    id: 'M08',
    claim: 'a table with bold and links is a table there',
    run: () =>
      withApi(async (bench) => {
        const outcomes = await tries(bench, rendered(bench, table))
        return [outcomes, bench.api.payloads('sendRichMessage')]
      }),
    equals: [
      [{ kind: 'delivered', vendorId: '1' }],
      [
        {
          chat_id: 5,
          rich_message: {
            blocks: [
              {
                type: 'table',
                is_bordered: true,
                is_striped: true,
                cells: [
                  [cell('A', 'left', header), cell('B', 'center', header), cell('C', 'right', header)],
                  [
                    cell({ type: 'bold', text: 'x' }, 'left'),
                    cell({ type: 'url', text: 'l', url: 'https://e.com/' }, 'center'),
                    cell('3', 'right'),
                  ],
                ],
              },
            ],
            skip_entity_detection: true,
          },
        },
      ],
    ],
  },
  {
    id: 'M09',
    claim: 'a table too wide for it, an answer without one, and any answer where it is off are text',
    run: async () => {
      const wide = `|${' a |'.repeat(25)}\n|${' - |'.repeat(25)}\n|${' b |'.repeat(25)}`
      const isRich = (content: string, use?: string) =>
        withApi(async (bench) => rendered(bench, content)['rich'] !== undefined, use)
      return [
        await isRich(wide),
        await isRich('# Heading\n\n- item'),
        await isRich(table, 'off'),
        await isRich('# Heading\n\n- item', 'all'),
        await isRich('plain **words**', 'all'),
      ]
    },
    equals: [false, false, false, true, false],
  },
  {
    id: 'T65',
    claim: 'what is markup there stays the words it is, since blocks are sent',
    run: () =>
      withApi(async (bench) => {
        await tries(bench, rendered(bench, '# costs $5 and $6\n\n`a || b`, x == y, @admin or @ada /stop <b>'))
        return blocksSent(bench)
      }, 'all'),
    equals: [
      { type: 'heading', size: 1, text: 'costs $5 and $6' },
      {
        type: 'paragraph',
        text: [
          { type: 'code', text: 'a || b' },
          ', x == y, @admin or ',
          { type: 'mention', text: '@ada', username: 'ada' },
          ' /stop <b>',
        ],
      },
    ],
  },
  {
    id: 'T65a',
    claim: 'lists, tasks, quotes, code and rules have their own form',
    run: () =>
      withApi(async (bench) => {
        const all = '3. three\n4. four\n\n- [x] done\n\n> said\n\n```ts\nlet a\n```\n\n---'
        await tries(bench, rendered(bench, all))
        return blocksSent(bench)
      }, 'all'),
    equals: [
      {
        type: 'list',
        items: [
          { blocks: [{ type: 'paragraph', text: 'three' }], value: 3, type: '1' },
          { blocks: [{ type: 'paragraph', text: 'four' }], value: 4, type: '1' },
        ],
      },
      {
        type: 'list',
        items: [{ blocks: [{ type: 'paragraph', text: 'done' }], has_checkbox: true, is_checked: true }],
      },
      { type: 'blockquote', blocks: [{ type: 'paragraph', text: 'said' }] },
      { type: 'pre', text: 'let a', language: 'ts' },
      { type: 'divider' },
    ],
  },
]

const refusals: readonly Case[] = [
  {
    id: 'T64',
    claim: 'a server that knows no rich messages gets text, and is not asked again',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendRichMessage', apiFault(404, 'Not Found: method not found'))
        const first = await tries(bench, rendered(bench, table))
        const second = await tries(bench, rendered(bench, table), { outboxId: 'other' })
        return [first, second, methods(bench)]
      }),
    equals: [
      [
        { kind: 'retry', reason: 'rich_unknown', afterMs: 0 },
        { kind: 'delivered', vendorId: '1' },
      ],
      [{ kind: 'delivered', vendorId: '2' }],
      ['sendRichMessage', 'sendMessage', 'sendMessage'],
    ],
  },
  {
    id: 'T64a',
    claim: 'what is refused in this form is sent once as text, and the next one is rich again',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendRichMessage', apiFault(400, 'Bad Request: RICH_MESSAGE_INVALID'))
        const first = await tries(bench, rendered(bench, table))
        await tries(bench, rendered(bench, table), { outboxId: 'other' })
        return [first.map(({ kind }) => kind), methods(bench), bench.api.sent.length]
      }),
    equals: [['retry', 'delivered'], ['sendRichMessage', 'sendMessage', 'sendRichMessage'], 2],
  },
  {
    id: 'T64b',
    claim: 'one whose answer was lost is not sent in another form: nobody knows whether it arrived',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendRichMessage', { kind: 'drop', when: 'after' })
        return [await tries(bench, rendered(bench, table)), methods(bench), bench.api.sent.length]
      }),
    equals: [[{ kind: 'unknown', reason: 'no_readable_answer' }], ['sendRichMessage'], 1],
  },
  {
    id: 'T64c',
    claim: 'a place that takes nothing is no reason to try another form',
    run: () =>
      withApi(async (bench) => {
        bench.api.failNext('sendRichMessage', apiFault(403, 'Forbidden: bot was blocked by the user'))
        return tries(bench, rendered(bench, table))
      }),
    equals: [{ kind: 'refused', reason: 'blocked_by_user' }],
  },
  {
    id: 'T64d',
    claim: 'a live message is finished in this form too, and as text where that is refused',
    run: () =>
      withApi(async (bench) => {
        const open = bench.adapter.live?.open(to, 'x') ?? {}
        await bench.adapter.deliver(open, createAttempt(1))
        const finish = (outboxId: string) =>
          tries(bench, rendered(bench, table, true), { outboxId, liveReference: '1' })
        const first = await finish('a')
        bench.api.failNext('editMessageText', apiFault(400, 'Bad Request: message text is empty'))
        const second = await finish('b')
        const edits = bench.api.payloads('editMessageText')
        return [
          [...first, ...second].map(({ kind }) => kind),
          edits.map(({ text, rich_message }) => [text !== undefined, rich_message !== undefined]),
          bench.api.sent.length,
        ]
      }),
    equals: [
      ['delivered', 'retry', 'delivered'],
      [
        [false, true],
        [false, true],
        [true, false],
      ],
      1,
    ],
  },
  {
    id: 'T64e',
    claim: 'one that may be a repeat says so, and buttons hang on it as on any other',
    run: () =>
      withApi(async (bench) => {
        const policy = { kind: 'payment_required', message: 'Pay first.', url: 'https://e.com/pay' }
        const reply = parts(markdown(table), { kind: 'policy', policy })
        const call = bench.adapter.render(reply, to, new Set(), false)[0]?.call ?? {}
        await tries(bench, call, { isMaybeRepeat: true })
        const [sent] = bench.api.payloads('sendRichMessage')
        return [blocksSent(bench)[0], sent?.['reply_markup'] !== undefined]
      }),
    equals: [{ type: 'paragraph', text: 'Possibly sent before:' }, true],
  },
]

export const richCases: readonly Case[] = [...blocks, ...refusals]
