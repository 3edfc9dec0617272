// `parley telegram connect` and `check`, against a stand-in for the Bot API: what they tell Telegram and what they tell a person.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { telegramChannel } from '../../../adapters/telegram/index.ts'
import { telegramCommands } from '../../../adapters/telegram/install/commands.ts'
import type { CommandDesk, CommandFlags, CommandResult } from '../../../src/contract/index.ts'
import { apiFault, startTelegramApi, type TelegramApi, testBotToken } from '../../doubles/telegram-api.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const url = 'https://bots.example.org'
const hook = `${url}/hooks/telegram/default`

let api: TelegramApi
beforeEach(async () => {
  api = await startTelegramApi()
})
afterEach(async () => {
  expect(api.unexpected).toEqual([])
  await api.close()
})

function deskOf(changes: Record<string, string | undefined> = {}): CommandDesk {
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
    ['a webhook that keeps polling out', { url: hook }, 'keeps polling out', { TELEGRAM_MODE: 'polling' }],
    ['another name than was told', {}, 'no webhook is set', { TELEGRAM_BOT_USERNAME: 'other' }],
    ['nothing wrong', {}, undefined, { TELEGRAM_MODE: 'polling' }],
    [
      'a name nobody told',
      {},
      'set TELEGRAM_BOT_USERNAME=gw_bot',
      { TELEGRAM_MODE: 'polling', TELEGRAM_BOT_USERNAME: '' },
    ],
    ['many waiting', { pending_update_count: 300 }, '300 updates wait', { TELEGRAM_MODE: 'polling' }],
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

  test('names the connection that does not exist', async () => {
    await expect(run('check', { connection: 'nobody' })).rejects.toThrow('there is no connection nobody')
  })
})

/** What `connect` told Telegram before. */
async function registered(): Promise<Record<string, unknown>> {
  await run('connect', { url })
  return api.payloads('setWebhook')[0] ?? {}
}
