// Polling: the cursor moves only after the commit, against a stand-in for the Bot API.
import type { PolledBatch } from '../../../src/contract/adapter.ts'
import type { Adapter } from '../../../src/contract/index.ts'
import { createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import {
  apiFault,
  htmlBadGateway,
  rateLimited,
  startTelegramApi,
  type TelegramApi,
} from '../../doubles/telegram-api.ts'
import { type Case, refusal } from '../conform.ts'
import { kit, message } from './telegram-setup.ts'

type Bench = { readonly api: TelegramApi; readonly poller: Adapter; readonly stop: AbortController }

function pollerAt(apiRoot: string): Adapter {
  const { webhookSecret: _unused, ...settings } = kit.settings(apiRoot)
  return createAdapterFromFixtures({ ...kit, settings: () => ({ ...settings, mode: 'polling' }) })
}

async function polling<T>(run: (bench: Bench) => Promise<T>): Promise<T> {
  const api = await startTelegramApi()
  const stop = new AbortController()
  api.failAlways('getUpdates', { kind: 'delay', ms: 5 })
  try {
    return await run({ api, poller: pollerAt(api.apiRoot), stop })
  } finally {
    stop.abort()
    await api.close()
  }
}

/** The first batches, taken one after another as a holder would that commits each. */
async function batches({ poller, stop }: Bench, count: number, cursor?: string): Promise<readonly PolledBatch[]> {
  const taken: PolledBatch[] = []
  for await (const batch of poller.ingress?.poll?.(cursor, stop.signal) ?? []) {
    taken.push(batch)
    if (taken.length === count) break
  }
  return taken
}

const update = (id: number): { update_id: number } => ({ ...message({ message_id: id }), update_id: id })
const offsets = (api: TelegramApi): readonly unknown[] => api.payloads('getUpdates').map((payload) => payload['offset'])

export const pollingCases: readonly Case[] = [
  {
    id: 'T05e',
    claim: 'what was fetched and not committed is fetched again',
    run: () =>
      polling(async (bench) => {
        bench.api.updates.push(update(10), update(11))
        const [first] = await batches(bench, 1)
        const [again] = await batches(bench, 1)
        bench.api.updates.push(update(12))
        const [after] = await batches(bench, 1, first?.cursor)
        return [first?.cursor, again?.requests.length, after?.requests.length, after?.cursor]
      }),
    equals: ['11', 2, 1, '12'],
  },
  {
    id: 'T05a',
    claim: 'the offset moves only when the next batch is asked for, and the list of updates is explicit',
    run: () =>
      polling(async (bench) => {
        bench.api.updates.push(update(10))
        const batch = bench.poller.ingress?.poll?.(undefined, bench.stop.signal)[Symbol.asyncIterator]()
        await batch?.next()
        const before = offsets(bench.api)
        bench.api.updates.push(update(11))
        await batch?.next()
        const [asked] = bench.api.payloads('getUpdates')
        return [
          before,
          offsets(bench.api)[1],
          asked?.['timeout'],
          String(asked?.['allowed_updates']).includes('callback_query'),
        ]
      }),
    equals: [[undefined], 11, 50, true],
  },
  {
    id: 'T01a',
    claim: 'what is polled is genuine, and the webhook’s path is closed to everybody',
    run: () =>
      polling(async (bench) => {
        bench.api.updates.push(update(10))
        const [batch] = await batches(bench, 1)
        const [arrival] = batch?.requests ?? []
        if (arrival === undefined) throw new Error('nothing was polled')
        const known = kit.secrets['webhookSecret'] ?? ''
        const forged = { ...arrival, headers: { 'x-telegram-bot-api-secret-token': known } }
        const receive = (given: typeof arrival) => bench.poller.receive(given, kit.connection)
        return [(await receive(arrival)).kind, await receive(forged), await receive({ ...arrival, headers: {} })]
      }),
    expected: [
      'read',
      { kind: 'rejected', reason: 'wrong_credential' },
      { kind: 'rejected', reason: 'missing_credential' },
    ],
  },
  {
    id: 'T02a',
    claim: 'a bot that polls needs no secret, any other one does',
    run: () => {
      const { webhookSecret: _none, ...settings } = kit.settings('http://127.0.0.1:9')
      const parse = (changes: object) => kit.definition.settingsSchema.safeParse({ ...settings, ...changes }).success
      const { TELEGRAM_WEBHOOK_SECRET: _unset, ...env } = kit.environment
      return [
        parse({}),
        parse({ mode: 'polling' }),
        parse({ mode: 'push' }),
        kit.definition.fromEnvironment({ ...env, TELEGRAM_MODE: 'polling' }),
      ]
    },
    expected: [false, true, false, { settings: { mode: 'polling', webhookSecret: [] } }],
  },
  {
    id: 'T05b',
    claim: 'a second poller and a revoked token stop with a reason that shows no token',
    run: () =>
      polling(async (bench) => {
        const told: string[] = []
        for (const [code, text] of [
          [409, 'Conflict: terminated by other getUpdates request'],
          [401, 'Unauthorized'],
        ] as const) {
          bench.api.failNext('getUpdates', apiFault(code, text))
          told.push(await refusal(() => batches(bench, 1)))
        }
        return [...told, told.join().includes(kit.secrets['botToken'] ?? '')]
      }),
    equals: [
      '[telegram] another program polls this bot, or its webhook is set; stop the other one, or run: parley telegram connect --polling',
      '[telegram] the token is not valid any more; set TELEGRAM_BOT_TOKEN anew',
      false,
    ],
  },
  {
    id: 'T05c',
    claim: 'faults and limits are waited out, and nothing is lost',
    run: () =>
      polling(async (bench) => {
        bench.api.updates.push(update(10))
        bench.api.failNext('getUpdates', rateLimited(0), htmlBadGateway)
        const [batch] = await batches(bench, 1)
        return [batch?.requests.length, bench.api.payloads('getUpdates').length]
      }),
    equals: [1, 3],
  },
  {
    id: 'T05d',
    claim: 'whoever is told to stop stops while it waits for Telegram',
    run: () =>
      polling(async (bench) => {
        bench.api.failAlways('getUpdates', { kind: 'hang' })
        const taken = batches(bench, 1)
        while (bench.api.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        bench.stop.abort()
        return taken
      }),
    equals: [],
  },
]
