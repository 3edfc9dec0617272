// `parley telegram connect` and `check`, against a stand-in for the Bot API: what they tell Telegram and what they tell a person.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { telegramChannel } from '../../../../adapters/telegram/index.ts'
import { telegramCommands } from '../../../../adapters/telegram/setup.ts'
import type {
  Adapter,
  ChannelDeps,
  CommandContext,
  CommandFlags,
  CommandResult,
  ProbeRequest,
} from '../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../src/lib/index.ts'
import type { Fault } from '../../../../src/testing/scripted-server.ts'
import {
  apiFault,
  htmlBadGateway,
  rateLimited,
  startTelegramApi,
  type TelegramApi,
  testBotToken,
} from '../../../doubles/telegram-api.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const url = 'https://bots.example.org'
const hook = `${url}/hooks/telegram/default`

const channelDeps: ChannelDeps = {
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  fetch,
  now: Date.now,
  hmac: createWebHmac(),
}

let api: TelegramApi
beforeEach(async () => {
  api = await startTelegramApi()
})
afterEach(async () => {
  expect(api.unexpected).toEqual([])
  await api.close()
})

function deskOf(changes: Record<string, string | undefined> = {}): CommandContext {
  const environment = {
    TELEGRAM_BOT_TOKEN: testBotToken,
    TELEGRAM_WEBHOOK_SECRET: webhookSecret,
    TELEGRAM_API_ROOT: api.apiRoot,
    TELEGRAM_BOT_USERNAME: 'gw_bot',
    ...changes,
  }
  return {
    environment,
    fetch,
    async settings(connection, instead = {}) {
      const reading = telegramChannel.fromEnvironment({ ...environment, ...instead })
      if (connection !== 'default' || reading === undefined || !('settings' in reading)) return undefined
      return { settings: telegramChannel.settingsSchema.parse(reading.settings), publicUrl: undefined }
    },
  }
}

async function run(name: string, flags: CommandFlags, desk = deskOf()): Promise<CommandResult> {
  const command = telegramCommands.commands.find((each) => each.name === name)
  if (command === undefined) return expect.unreachable(`no command ${name}`)
  return command.run(flags, desk)
}

const info = (fields: object) =>
  ({
    kind: 'answer',
    status: 200,
    body: JSON.stringify({
      ok: true,
      result: { url: '', pending_update_count: 0, has_custom_certificate: false, ...fields },
    }),
  }) as const
const polling = { TELEGRAM_MODE: 'polling' }
const called = () => api.calls.map(({ route }) => route)

describe('connect', () => {
  test('sets webhook, secret, updates and commands, and says how the bot stands', async () => {
    const { allowed_updates } = await registered()
    api.failAlways('getWebhookInfo', info({ url: hook, allowed_updates }))
    const result = await run('connect', { url })
    expect(result.problem).toBeUndefined()
    expect(result.text).toContain('Bot         @gw_bot (7000001)')
    expect(result.text).toContain(`Delivery    ${hook}`)
    expect(result.value).toMatchObject({ mode: 'webhook', webhook: hook, waiting: 0, lastError: null, problems: [] })
    expect(api.payloads('setWebhook').at(-1)).toMatchObject({ url: hook, secret_token: webhookSecret })
    expect(api.payloads('setMyCommands').at(-1)?.['commands']).toContainEqual(
      expect.objectContaining({ command: 'approve' }),
    )
    for (const shown of [result.text, JSON.stringify(result.value)]) {
      expect(shown).not.toContain(testBotToken.split(':')[1])
      expect(shown).not.toContain(webhookSecret)
    }
  })

  test('makes a secret where there is none and says where to put it', async () => {
    const result = await run('connect', { url }, deskOf({ TELEGRAM_WEBHOOK_SECRET: undefined }))
    const given = api.payloads('setWebhook')[0]?.['secret_token']
    expect(given).toMatch(/^[0-9a-f]{64}$/)
    expect(result.text).toContain(`TELEGRAM_WEBHOOK_SECRET=${String(given)}`)
  })

  test('switches to polling: the webhook goes, what waits stays', async () => {
    const result = await run('connect', { polling: true }, deskOf({ TELEGRAM_WEBHOOK_SECRET: undefined }))
    expect(called()).not.toContain('setWebhook')
    expect(api.payloads('deleteWebhook')).toEqual([{ drop_pending_updates: false }])
    expect(result.problem).toBeUndefined()
    expect(result.text).toContain('TELEGRAM_MODE=polling')
  })

  test.each(['http://bots.example.org', 'https://bots.example.org:8080', 'bots.example.org'])(
    'refuses %s before anything is set',
    async (wrong) => {
      await expect(run('connect', { url: wrong })).rejects.toThrow('https only')
      expect(called()).not.toContain('setWebhook')
    },
  )

  test('asks for an address where it knows none', async () => {
    await expect(run('connect', {})).rejects.toThrow('give --url, or --polling')
  })

  test.each<[string, number, string, string]>([
    ['getMe', 401, 'Unauthorized', 'the token is not valid'],
    ['setWebhook', 400, 'Bad Request: bad webhook: Failed to resolve host', 'Failed to resolve host'],
    ['setMyCommands', 500, 'Internal Server Error', 'Internal Server Error'],
  ])('says what %s came to, without the token', async (method, code, said, expected) => {
    api.failNext(method, apiFault(code, said))
    const problem = await run('connect', { url }).catch((error: unknown) => error)
    expect(String(problem)).toContain(expected)
    expect(String(problem) + JSON.stringify(problem)).not.toContain(testBotToken.split(':')[1])
  })

  test('says what to check where nothing answers', async () => {
    await expect(run('connect', { url }, deskOf({ TELEGRAM_API_ROOT: 'http://127.0.0.1:9' }))).rejects.toThrow(
      'the Bot API cannot be reached',
    )
  })
})

describe('check', () => {
  test.each<[string, object, string | undefined, Record<string, string>]>([
    ['no webhook', {}, 'no webhook is set', {}],
    [
      'updates Telegram keeps back',
      { url: hook, allowed_updates: ['message'] },
      'Telegram keeps back edited_message',
      {},
    ],
    ['a webhook that keeps polling out', { url: hook }, 'keeps polling out', polling],
    ['another name than was told', {}, 'no webhook is set', { TELEGRAM_BOT_USERNAME: 'other' }],
    ['nothing wrong', {}, undefined, polling],
    ['nothing wrong without a name: it is asked for', {}, undefined, { ...polling, TELEGRAM_BOT_USERNAME: '' }],
    [
      'another name',
      {},
      'set TELEGRAM_BOT_USERNAME=gw_bot, or leave it out',
      { ...polling, TELEGRAM_BOT_USERNAME: 'other_bot' },
    ],
    ['many waiting', { pending_update_count: 300 }, '300 updates wait', polling],
  ])('finds %s', async (_name, fields, problem, changes) => {
    api.failAlways('getWebhookInfo', info(fields))
    const result = await run('check', {}, deskOf(changes))
    if (problem === undefined) expect(result.problem).toBeUndefined()
    else expect(result.problem).toContain(problem)
    expect(called()).toEqual(['getMe', 'getWebhookInfo'])
  })

  test('shows what Telegram could not deliver, when, and what waits', async () => {
    const last = {
      last_error_date: Math.floor(Date.now() / 1000) - 60,
      last_error_message: 'Wrong response: 502\u001b[2J',
    }
    const { allowed_updates } = await registered()
    api.failAlways('getWebhookInfo', info({ url: hook, allowed_updates, pending_update_count: 3, ...last }))
    const result = await run('check', {})
    expect(result.problem).toContain('within the last hour')
    expect(result.text).toMatch(/Last error {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC Wrong response: 502 \[2J/)
    expect(result.text).toContain('Waiting     3 updates')
  })

  test('tells a refused token with what to set, and nothing of it', async () => {
    const result = await run('check', {}, deskOf({ TELEGRAM_BOT_TOKEN: '7000001:AAE-revoked-token-00000000000' }))
    expect(result.problem).toBe(
      'token refused (401 Unauthorized); set TELEGRAM_BOT_TOKEN to the token BotFather shows for the bot',
    )
    expect(result.value).toMatchObject({ state: 'failed', problems: [{ reason: 'token_refused' }] })
    expect(JSON.stringify(result)).not.toContain('revoked')
  })

  test('names the connection that does not exist', async () => {
    await expect(run('check', { connection: 'nobody' })).rejects.toThrow('there is no connection nobody')
  })
})

describe('the probe of a running gateway', () => {
  const probing = (changes: Record<string, string> = {}, publicUrl: string | undefined = url) => {
    const reading = telegramChannel.fromEnvironment({ ...deskOf().environment, ...changes })
    if (reading === undefined || 'missing' in reading) return expect.unreachable('no settings')
    return telegramChannel.create(reading.settings, { ...channelDeps, publicUrl })
  }
  const ask = (adapter: Adapter, more: Partial<ProbeRequest> = {}) =>
    adapter.probe?.({ signal: AbortSignal.timeout(2_000), ...more })

  test.each<[string, Fault, object]>([
    ['a revoked token', apiFault(401, 'Unauthorized'), { problems: [{ state: 'failed', reason: 'token_refused' }] }],
    ['a limit, which says nothing of the bot', rateLimited(77), { problems: [], retryAfterMs: 77_000 }],
    ['a proxy’s page', htmlBadGateway, { problems: [{ state: 'degraded', reason: 'unreachable' }] }],
  ])('tells %s', async (_name, fault, found) => {
    api.failAlways('getMe', fault)
    expect(await ask(probing(polling))).toMatchObject(found)
  })

  test('ends with its signal where Telegram hangs', async () => {
    api.failAlways('getWebhookInfo', { kind: 'hang' })
    const result = await ask(probing(polling), { signal: AbortSignal.timeout(100) })
    expect(result).toMatchObject({ problems: [{ state: 'degraded', reason: 'unreachable' }] })
  })

  test('tells where Telegram delivers instead of here', async () => {
    const { allowed_updates } = await registered()
    api.failAlways('getWebhookInfo', info({ url: 'https://old.example.org/hook', allowed_updates }))
    expect(await ask(probing())).toMatchObject({
      summary: '@gw_bot, webhook',
      problems: [{ state: 'failed', reason: 'webhook_elsewhere', problem: expect.stringContaining(hook) }],
    })
    expect(probing().notice).toBe(`webhook: ${hook}`)
  })

  test('tells that updates pile up while nothing comes, and not while messages come', async () => {
    const { allowed_updates } = await registered()
    const waits = (count: number) =>
      api.failAlways('getWebhookInfo', info({ url: hook, allowed_updates, pending_update_count: count }))
    const adapter = probing()
    waits(2)
    expect((await ask(adapter, { lastInboundAt: 1 }))?.problems).toEqual([])
    waits(3)
    expect((await ask(adapter, { lastInboundAt: 2 }))?.problems).toEqual([])
    waits(4)
    expect((await ask(adapter, { lastInboundAt: 2 }))?.problems).toMatchObject([
      { reason: 'updates_waiting', problem: '4 updates wait at Telegram and nothing came here since the last check' },
    ])
  })
})

test('a group’s mention is known by a name that nobody set, which is asked for once', async () => {
  const reading = telegramChannel.fromEnvironment({ ...deskOf().environment, TELEGRAM_BOT_USERNAME: '' })
  if (reading === undefined || 'missing' in reading) return expect.unreachable('no settings')
  const adapter = telegramChannel.create(reading.settings, channelDeps)
  const say = async (id: number) => {
    const chat = { id: -5, type: 'supergroup', title: 'Team' }
    const message = {
      message_id: id,
      date: Math.floor(Date.now() / 1000),
      chat,
      text: '@gw_bot hello',
      from: { id: 9, is_bot: false, first_name: 'Ada' },
      entities: [{ type: 'mention', offset: 0, length: 7 }],
    }
    const bytes = new TextEncoder().encode(JSON.stringify({ update_id: id, message }))
    const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': webhookSecret }
    const at = { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' } as const
    return JSON.stringify(await adapter.receive(at, channelDeps.connection))
  }
  expect(await say(1)).toContain('"addressed":"mention"')
  expect(await say(2)).toContain('"addressed":"mention"')
  expect(called()).toEqual(['getMe'])
})

/** What `connect` told Telegram before. */
async function registered(): Promise<Record<string, unknown>> {
  await run('connect', { url })
  return api.payloads('setWebhook')[0] ?? {}
}
