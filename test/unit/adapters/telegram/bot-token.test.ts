// T68, as a property: whatever fails, however it fails and whatever the failure says, nothing that leaves the adapter shows the
// bot's token or an address that holds it.
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { telegramChannel } from '../../../../adapters/telegram/index.ts'
import { telegramCommands } from '../../../../adapters/telegram/setup.ts'
import type { Adapter, CommandContext } from '../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../src/lib/json-value.ts'
import { createAttempt } from '../../../../src/testing/adapter-contract-outbound.ts'
import { fixtures } from '../../../fixtures/telegram/index.ts'

const { connection, now } = fixtures
const secretPart = fc.string({ minLength: 35, maxLength: 35, unit: fc.constantFrom(...'ABCDEFabcdef0123456789_-') })
const tokens = secretPart.map((secret) => `7000001:AA${secret}`)

/** How a call can fail; each says all it knows, the address of the call included. */
const failures = {
  'a network error with the address in it': async (url: string) => {
    throw new TypeError(`fetch failed: ${url}`, { cause: new Error(`connect ECONNRESET ${url}`) })
  },
  'an error of another kind': async (url: string) => {
    throw Object.assign(new Error(url), { code: 'ECONNREFUSED', url, stack: url })
  },
  'a page of a proxy': async (url: string) => new Response(`<h1>${url}</h1>`, { status: 502 }),
  'a refusal that repeats it': async (url: string) => refusal(400, `Bad Request: ${url}`),
  'a token that is not valid': async (url: string) => refusal(401, `Unauthorized: ${url}`),
  'a method that is not there': async (url: string) => refusal(404, `Not Found: ${url}`),
  'a conflict': async (url: string) => refusal(409, `Conflict: ${url}`),
  'a limit': async (url: string) => refusal(429, `Too Many Requests: ${url}`),
  'a fault': async (url: string) => refusal(500, url),
  'an answer that is no answer': async (url: string) => Response.json([url]),
  'an answer with nothing in it': async () => Response.json({ ok: true, result: null }),
} as const

function refusal(code: number, description: string): Response {
  const parameters = code === 429 ? { retry_after: 0 } : {}
  return Response.json({ ok: false, error_code: code, description, parameters }, { status: code })
}

const place = { chat_id: 5 }
const file = { attachment: 'a', name: 'n' }
const card = { chat_id: 5, message_id: 7 }
const text = { chat_id: 5, text: 'x', link_preview_options: { is_disabled: true } }
const rich = { blocks: [{ type: 'paragraph', text: 'x' }], skip_entity_detection: true }
const calls: readonly JsonObject[] = [
  { method: 'sendMessage', payload: text },
  { method: 'sendMessage', payload: text, rich },
  { method: 'editMessageText', payload: { ...text, message_id: 7 } },
  ...['sendPhoto', 'sendVideo', 'sendAnimation', 'sendAudio', 'sendVoice', 'sendDocument'].map((method) => ({
    method,
    payload: place,
    file,
  })),
  {
    method: 'sendMediaGroup',
    payload: place,
    files: [
      { ...file, kind: 'photo' },
      { ...file, kind: 'photo' },
    ],
  },
  { method: 'answerCallbackQuery', payload: { callback_query_id: 'q' } },
  { method: 'editMessageReplyMarkup', payload: card },
  { method: 'answerGuestQuery', payload: { guest_query_id: 'g', text: 'x' } },
]

type Path = (adapter: Adapter, desk: CommandContext) => Promise<unknown>

const frame = (reference: string): Path => {
  const given = { reference, to: { chat_id: '5' }, text: 'more', shown: '', signal: new AbortController().signal }
  return async (adapter) => adapter.live?.frame(given)
}
const command = (name: string, flags: JsonObject): Path => {
  const found = telegramCommands.commands.find((each) => each.name === name)
  return async (_adapter, desk) => found?.run(flags as Record<string, string | boolean>, desk)
}

const paths: Readonly<Record<string, Path>> = {
  ...Object.fromEntries(
    calls.map((call, at): [string, Path] => [
      `${String(call['method'])} ${at}`,
      (adapter) => adapter.deliver(call, createAttempt(1)),
    ]),
  ),
  'a live message that is finished': (adapter) =>
    adapter.deliver(
      { method: 'sendMessage', payload: text, finishesLive: true },
      createAttempt(1, { liveReference: '7' }),
    ),
  'a frame of an edit': frame('7'),
  'a frame of a draft': frame('draft:7'),
  'a sign of typing': async (adapter) => adapter.presence?.show({ chat_id: '5' }, 'typing'),
  'a file that is opened': async (adapter) => adapter.openFile?.({ file_id: 'f' }, new AbortController().signal),
  'a poll': async (adapter) => {
    const stop = new AbortController()
    const [polled] = [adapter.ingress?.poll?.(undefined, AbortSignal.any([stop.signal, AbortSignal.timeout(30)]))]
    for await (const batch of polled ?? []) return batch
    return undefined
  },
  'the command connect': command('connect', { url: 'https://bots.example.org', connection: 'default' }),
  'the command check': command('check', { connection: 'default' }),
}

function settingsOf(botToken: string): JsonObject {
  return { botToken, mode: 'polling', streaming: 'draft', botUsername: 'gw_bot', apiRoot: 'http://127.0.0.1:9' }
}

function deskOf(botToken: string, fetcher: typeof fetch): CommandContext {
  const settings = telegramChannel.settingsSchema.parse(settingsOf(botToken))
  return { environment: {}, fetch: fetcher, settings: async () => ({ settings, publicUrl: undefined }) }
}

/** What came of it, thrown or not. */
async function outcomeOf(path: Path, botToken: string, fetcher: typeof fetch): Promise<unknown> {
  const open = async () => ({ body: new Blob(['x']).stream(), size: 1, mimeType: 'a/b', name: '' })
  const deps = { connection, fetch: fetcher, now: () => now, hmac: { sha256: () => new Uint8Array() }, files: { open } }
  const adapter = telegramChannel.create(settingsOf(botToken), deps)
  return path(adapter, deskOf(botToken, fetcher)).catch((error: unknown) => error)
}

describe.each(Object.keys(paths))('%s', (name) => {
  test.each(Object.entries(failures))('%s shows no token', async (_failure, fail) => {
    await fc.assert(
      fc.asyncProperty(tokens, async (botToken) => {
        let asked = 0
        const fetcher = (async (input: RequestInfo | URL) => {
          asked += 1
          return fail(String(input))
        }) as typeof fetch
        const outcome = await outcomeOf(paths[name] as Path, botToken, fetcher)
        expect(asked, 'Telegram was asked').toBeGreaterThan(0)
        const shown = [JSON.stringify(outcome), inspect(outcome, { depth: 12, showHidden: true })]
        const error = outcome instanceof Error ? [String(outcome), outcome.stack ?? ''] : []
        for (const each of [...shown, ...error]) expect(each ?? '').not.toContain(botToken.split(':')[1])
      }),
      { numRuns: 2 },
    )
  })
})

test('a reply that grows never shows the token, though it says it', async () => {
  const botToken = '7000001:AAabcdefghijklmnopqrstuvwxyz0123456789'
  const asked: string[] = []
  const fetcher = (async (_input: RequestInfo | URL, init?: RequestInit) => {
    asked.push(String(init?.body))
    return Response.json({ ok: true, result: true })
  }) as typeof fetch
  const path = (reference: string): Path => {
    const said = `my token is ${botToken}`
    const given = { reference, to: { chat_id: '5' }, text: said, shown: '', signal: new AbortController().signal }
    return async (adapter) => adapter.live?.frame(given)
  }
  for (const reference of ['7', 'draft:7'])
    expect(await outcomeOf(path(reference), botToken, fetcher)).toEqual({
      kind: 'over',
      reason: 'text_contains_credential',
    })
  expect(asked).toEqual([])
})
