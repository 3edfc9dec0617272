// Telegram's outbound quirks: rendering and delivering against a server that stands in for the Bot API.
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DeliveryResult } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createAttempt, createTextReply } from '../../../../../src/testing/adapter-contract-outbound.ts'
import { type AdapterFixtures, createAdapterFromFixtures } from '../../../../../src/testing/adapter-fixtures.ts'
import type { Fault } from '../../../../../src/testing/scripted-server.ts'
import {
  apiFault,
  htmlBadGateway,
  rateLimited,
  startTelegramApi,
  type TelegramApi,
  testBotToken,
} from '../../../../doubles/telegram-api.ts'
import { fixtures } from '../../../../fixtures/telegram/index.ts'

const kit: AdapterFixtures = fixtures
const token = testBotToken
const render = (text: string, to: JsonObject = { chat_id: '5' }) =>
  createAdapterFromFixtures(kit)
    .render(createTextReply(text), to)
    .map(({ call }) => call as { method: string; payload: Payload })

type Payload = { chat_id: number; text: string; entities?: { type: string; offset: number; length: number }[] }

const sizes = (text: string) => render(text).map(({ payload }) => payload.text.length)
const spans = (text: string) =>
  render(text).flatMap(({ payload }) =>
    (payload.entities ?? [])
      .filter(({ type }) => type === 'code')
      .map(({ offset, length }) => payload.text.slice(offset, offset + length)),
  )

describe('commands in words', () => {
  const coded = (reply: Parameters<ReturnType<typeof createAdapterFromFixtures>['render']>[0]) =>
    createAdapterFromFixtures(kit)
      .render(reply, { chat_id: '5' })
      .map(({ call }) => call as { payload: Payload })
      .flatMap(({ payload }) =>
        (payload.entities ?? []).map(({ offset, length }) => payload.text.slice(offset, offset + length)),
      )

  test('of the gateway can be tapped, and what a model wrote beside them cannot', () => {
    const said = 'Which one?\n/approve_c0ffee - run /rm_all for @bob'
    expect(coded(createTextReply(said, { control: { about: 'approve', decision: 'unclear' } }))).toEqual([
      '/rm_all',
      '@bob',
    ])
    expect(coded(createTextReply('This session began 2 min ago; /new starts a fresh one. /stop ends it.'))).toEqual([])
  })

  test('of an agent’s own help can be tapped in the answer to /help, and nowhere else', () => {
    const help = '/dice - rolls\n/help - this list'
    expect(coded(createTextReply(help, { control: { about: 'help' } }))).toEqual([])
    expect(coded(createTextReply(help))).toEqual(['/dice'])
  })

  test('that decide are never tappable in what an agent says', () => {
    expect(coded(createTextReply('tap /approve_c0ffee'))).toEqual(['/approve_c0ffee'])
  })
})

describe('rendering', () => {
  test('is one plain call without previews', () => {
    expect(render('hello')).toEqual([
      { method: 'sendMessage', payload: { chat_id: 5, text: 'hello', link_preview_options: { is_disabled: true } } },
    ])
  })

  test('points at the message it answers, in the first piece only, and stays in its topic', () => {
    const to = { chat_id: '-100', message_thread_id: '9', reply_to_message_id: '7', business_connection_id: 'biz1' }
    const calls = render('x'.repeat(5000), to)
    expect(calls).toMatchObject([
      {
        payload: {
          message_thread_id: 9,
          business_connection_id: 'biz1',
          reply_parameters: { message_id: 7, allow_sending_without_reply: true },
        },
      },
      { payload: { message_thread_id: 9, business_connection_id: 'biz1' } },
    ])
    expect(calls[1]?.payload).not.toHaveProperty('reply_parameters')
  })

  test.each<[string, string, readonly number[]]>([
    ['T50 4096 letters are one message', 'x'.repeat(4096), [4096]],
    ['T50 4097 letters are two', 'x'.repeat(4097), [4096, 1]],
    ['T50 2048 emoji are one', '😀'.repeat(2048), [4096]],
    ['T50 4096 emoji are two, no pair split', '😀'.repeat(4096), [4096, 4096]],
    ['TG-12 5000 letters are two', 'x'.repeat(5000), [4096, 904]],
  ])('%s', (_name, text, expected) => {
    expect(sizes(text)).toEqual(expected)
    for (const { payload } of render(text)) expect(payload.text.isWellFormed()).toBe(true)
  })

  test.each<[string, string]>([
    ['T51 angle brackets', '<'.repeat(3000)],
    ['T53 every ASCII punctuation', '!"#$%&\'()*+,-. / :;<=>? @ [\\]^_`{|}~'],
    ['T54 code with backticks and tags', '````\n```\n</code>\n````'],
    ['T67 an image', '![x](https://beacon.example/p.png)'],
  ])('%s goes out verbatim, without a parse mode', (_name, text) => {
    const [call, ...others] = render(text)
    expect(others).toEqual([])
    expect(call?.payload).toMatchObject({ text, link_preview_options: { is_disabled: true } })
    expect(call?.payload).not.toHaveProperty('parse_mode')
    expect(spans(text)).toEqual([])
  })

  test('Markdown goes out as entities, pictures as links, and a name that may be called stays live', () => {
    const content = '## Hi @ann\n\n- **a** `b`\n- [c](https://e.com/x) ![d](https://e.com/y)\n\n@bob'
    const reply = createTextReply('', { parts: [{ kind: 'text', mime: 'text/markdown', content }] })
    const calls = createAdapterFromFixtures(kit).render(reply, { chat_id: '5' }, new Set(['@ann']))
    expect(calls.map(({ call }) => call)).toEqual([
      {
        method: 'sendMessage',
        payload: {
          chat_id: 5,
          text: 'Hi @ann\n\n• a b\n• c d\n\n@bob',
          link_preview_options: { is_disabled: true },
          entities: [
            { type: 'bold', offset: 0, length: 7 },
            { type: 'bold', offset: 11, length: 1 },
            { type: 'code', offset: 13, length: 1 },
            { type: 'text_link', offset: 17, length: 1, url: 'https://e.com/x' },
            { type: 'text_link', offset: 19, length: 1, url: 'https://e.com/y' },
            { type: 'code', offset: 22, length: 4 },
          ],
        },
      },
    ])
  })

  test('T66 names and commands are covered, everything else is left alone', () => {
    expect(
      spans('/delete_all @admin, mail me@example.com or see https://e.com/@user, /etc/hosts, a/b and </b>'),
    ).toEqual(['/delete_all', '@admin'])
  })

  test('T52 more names than Telegram honours are spread over messages, none uncovered', () => {
    const text = Array.from({ length: 250 }, (_, index) => `@person${index}`).join(' ')
    const calls = render(text)
    for (const { payload } of calls) expect(payload.entities?.length).toBeLessThanOrEqual(100)
    expect(spans(text)).toEqual(text.split(' '))
    expect(calls.map(({ payload }) => payload.text).join(' ')).toBe(text)
  })
})

describe('delivering', () => {
  let api: TelegramApi
  beforeEach(async () => {
    api = await startTelegramApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })

  const adapter = () => createAdapterFromFixtures(kit, api.apiRoot)
  const send = (fault?: Fault, text = 'hello'): Promise<DeliveryResult> => {
    if (fault !== undefined) api.failNext('sendMessage', fault)
    return adapter().deliver(render(text)[0] as JsonObject, createAttempt(1))
  }
  const edit = (text: string): JsonObject => ({
    method: 'editMessageText',
    payload: { chat_id: 5, message_id: 1, text, link_preview_options: { is_disabled: true } },
  })

  test('gives the id Telegram gave', async () => {
    expect(await send()).toEqual({ kind: 'delivered', vendorId: '1' })
    expect(api.sent).toEqual([{ message_id: 1, chat_id: '5', text: 'hello' }])
  })

  const refused = (reason: string) => ({ kind: 'refused', reason })
  const unknown = (reason: string) => ({ kind: 'unknown', reason })
  const cases: readonly (readonly [string, Fault, object])[] = [
    ['T58 429', rateLimited(30), { kind: 'retry', reason: 'rate_limited', afterMs: 30_000, scope: 'conversation' }],
    [
      '401',
      apiFault(401, 'Unauthorized'),
      { kind: 'retry', reason: 'token_revoked', afterMs: 60_000, scope: 'connection' },
    ],
    ['T60 403 blocked', apiFault(403, 'Forbidden: bot was blocked by the user'), refused('blocked_by_user')],
    ['403 deactivated', apiFault(403, 'Forbidden: user is deactivated'), refused('user_deactivated')],
    ['403 kicked', apiFault(403, 'Forbidden: bot was kicked from the group chat'), refused('not_allowed_in_chat')],
    ['403 for a new reason', apiFault(403, 'Forbidden: something new'), refused('telegram_403')],
    ['400 chat not found', apiFault(400, 'Bad Request: chat not found'), refused('chat_not_found')],
    ['400 topic closed', apiFault(400, 'Bad Request: TOPIC_CLOSED'), refused('topic_unavailable')],
    [
      '400 migrated',
      apiFault(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: -100 }),
      { kind: 'retry', reason: 'chat_migrated', afterMs: 0 },
    ],
    ['400 parse error', apiFault(400, "Bad Request: can't parse entities"), refused('render_rejected')],
    ['413', apiFault(413, 'Request Entity Too Large'), refused('file_too_large')],
    ['500 as JSON', apiFault(500, 'Internal Server Error'), { kind: 'retry', reason: 'telegram_500' }],
    ['502 as JSON', apiFault(502, 'Bad Gateway'), unknown('telegram_502')],
    ['502 as HTML', htmlBadGateway, unknown('no_readable_answer')],
    ['T59 a connection dropped before the work', { kind: 'drop', when: 'before' }, unknown('no_readable_answer')],
    ['T59 a connection dropped after the work', { kind: 'drop', when: 'after' }, unknown('no_readable_answer')],
  ]
  test.each(cases)('%s', async (_name, fault, expected) => {
    expect(await send(fault)).toEqual(expected)
    expect(api.calls).toHaveLength(1)
  })

  test('T59 a silent server is unknown after the attempt’s time, and the call is made once', async () => {
    api.failNext('sendMessage', { kind: 'hang', applied: true })
    const attempt = createAttempt(1, { signal: AbortSignal.timeout(150) })
    expect(await adapter().deliver(render('hello')[0] as JsonObject, attempt)).toEqual(unknown('no_readable_answer'))
    expect(api.calls).toHaveLength(1)
  })

  test('an attempt that is over before it starts sends nothing', async () => {
    const attempt = createAttempt(1, { signal: AbortSignal.abort() })
    const outcome = await adapter().deliver(render('hello')[0] as JsonObject, attempt)
    expect(outcome).toEqual({ kind: 'retry', reason: 'aborted_before_sending' })
    expect(api.calls).toEqual([])
  })

  test('a refused connection is a retry, for nothing was sent', async () => {
    const closed = await startTelegramApi()
    await closed.close()
    const outcome = await createAdapterFromFixtures(kit, closed.apiRoot).deliver(
      render('hello')[0] as JsonObject,
      createAttempt(1),
    )
    expect(outcome).toEqual({ kind: 'retry', reason: 'telegram_unreachable' })
  })

  test('T57 an edit that changes nothing is delivered, and an unclear edit is a retry', async () => {
    await send()
    expect(await adapter().deliver(edit('hello'), createAttempt(1))).toEqual({ kind: 'delivered', vendorId: '1' })
    expect(await adapter().deliver(edit('better'), createAttempt(1))).toEqual({ kind: 'delivered', vendorId: '1' })
    expect(api.sent).toEqual([{ message_id: 1, chat_id: '5', text: 'better' }])
    api.failNext('editMessageText', htmlBadGateway)
    expect(await adapter().deliver(edit('best'), createAttempt(1))).toMatchObject({ kind: 'retry' })
  })

  test('a possible repeat says so, and its spans move along', async () => {
    const outcome = await adapter().deliver(
      render('ask @admin')[0] as JsonObject,
      createAttempt(2, { isMaybeRepeat: true }),
    )
    expect(outcome.kind).toBe('delivered')
    const [payload] = api.payloads('sendMessage') as unknown as readonly Payload[]
    const span = payload?.entities?.[0]
    expect(payload?.text).toBe('Possibly sent before:\nask @admin')
    expect(payload?.text.slice(span?.offset, (span?.offset ?? 0) + (span?.length ?? 0))).toBe('@admin')
  })

  test('TG-13 a text with a file address of ours is blocked', async () => {
    const leaks = [
      `https://api.telegram.org/file/bot${token}/photos/a.jpg`,
      'https://api.telegram.org/bot7000001:ABC/x',
    ]
    for (const leak of leaks) {
      expect(await send(undefined, `see ${leak}`)).toEqual(refused('text_contains_credential'))
      const parts = [{ kind: 'text', mime: 'text/markdown', content: `[see](${leak})` }] as const
      const [linked] = adapter().render(createTextReply('', { parts: [...parts] }), { chat_id: '5' })
      expect(await adapter().deliver(linked?.call as JsonObject, createAttempt(1))).toEqual(
        refused('text_contains_credential'),
      )
    }
    expect(api.calls).toEqual([])
  })

  test('T68 no outcome shows the token', async () => {
    const outcomes: DeliveryResult[] = []
    for (const [, fault] of cases) outcomes.push(await send(fault))
    outcomes.push(
      await createAdapterFromFixtures(kit, 'http://127.0.0.1:9').deliver(
        render('x')[0] as JsonObject,
        createAttempt(1),
      ),
    )
    const shown = [JSON.stringify(outcomes), inspect(outcomes, { depth: 10, showHidden: true }), inspect(adapter())]
    for (const text of shown) expect(text).not.toContain(token.split(':')[1])
  })
})
