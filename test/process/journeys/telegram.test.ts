// A Telegram update over real HTTP, through the gateway process as users start it, to the Bot API and back.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { namingBot } from '../../doubles/bot-mention.ts'
import { ownEnvironment } from '../../doubles/clean-environment.ts'
import { startTelegramApi, testBotToken } from '../../doubles/telegram-api.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const secret = 'a-webhook-secret-of-forty-characters-xyz'
const adminToken = 'an-admin-token-for-this-test'

type Running = { readonly url: string; readonly child: ChildProcess; readonly output: () => string }

describe('the gateway as a process', () => {
  let api: Awaited<ReturnType<typeof startTelegramApi>>
  let folder: string
  let gateway: Running
  let nextId = 1

  beforeAll(async () => {
    api = await startTelegramApi()
    folder = await mkdtemp(join(tmpdir(), 'parley-test-'))
    gateway = await start()
  })
  afterAll(async () => {
    // In order: a database that outlives its gateway would still write into the folder.
    const gone = new Promise((resolve) => gateway.child.once('exit', resolve))
    gateway.child.kill('SIGTERM')
    await gone
    expect(api.unexpected).toEqual([])
    await api.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })

  const start = async (): Promise<Running> => {
    const env = {
      ...ownEnvironment(),
      PARLEY_PORT: '0',
      PARLEY_DATA_DIR: folder,
      PARLEY_ADMIN_TOKEN: adminToken,
      TELEGRAM_BOT_TOKEN: testBotToken,
      TELEGRAM_WEBHOOK_SECRET: secret,
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_ALLOW: '7',
    }
    return waitUntilUp(spawn(process.execPath, [join(root, 'bin/parley.js'), 'start'], { env, cwd: folder }))
  }
  const post = (body: BodyInit, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/hooks/telegram/default`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret, ...headers },
      body,
    })
  const update = (message: object, id = nextId++) =>
    JSON.stringify({
      update_id: 1000 + id,
      message: {
        message_id: id,
        date: Math.floor(Date.now() / 1000),
        // A group of its own for every update: Telegram's limit of one message a second holds per chat.
        chat: { id: -id, type: 'group', title: 'Test' },
        from: { id: 7, is_bot: false, first_name: 'Ada' },
        entities: namingBot(),
        ...message,
      },
    })
  const outcomes = async (response: Response) => ((await response.json()) as { outcomes: string[] }).outcomes
  const until = async (isTrue: () => boolean) => {
    for (let tries = 0; tries < 1_500 && !isTrue(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(isTrue()).toBe(true)
  }
  const answers = () => api.payloads('sendMessage').map((payload) => String(payload['text']))

  test('answers a message in its chat, once, however often it is delivered', async () => {
    const body = update({ text: 'hello' })
    expect(await outcomes(await post(body))).toEqual(['accepted'])
    await until(() => answers().length === 1)
    const again = await Promise.all(Array.from({ length: 20 }, () => post(body)))
    expect(again.map((response) => response.status)).toEqual(Array(20).fill(200))
    expect(answers()).toEqual([expect.stringContaining('You said: hello')])
    expect(api.payloads('sendMessage')[0]).toMatchObject({ chat_id: -1 })
  })

  test('explains a message by chat and message id, by its update and by the id of its reply', async () => {
    const explained = async (id: string) => {
      const path = `/admin/explain/${encodeURIComponent(id)}`
      const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${adminToken}` } })
      return { status: response.status, body: await response.text() }
    }
    const before = answers().length
    const id = nextId++
    await post(update({ text: 'tell me about this' }, id))
    await until(() => answers().length > before)
    await expect.poll(async () => (await explained(`-${id}:${id}`)).body, { timeout: 15_000 }).toContain('Answered:')
    const { body } = await explained(String(1000 + id))
    expect(body).toContain('Answered:')
    expect(body).not.toContain('tell me about this')
    const reply = /"vendorId":"(\d+)"/.exec(body)?.[1] ?? ''
    expect((await explained(reply)).body).toContain('vendor message id')
    expect(await explained('nobody')).toMatchObject({ status: 404, body: expect.stringContaining('give an inbox') })
  })

  test('tells the story on the command line too, and says when there is none', async () => {
    const env = {
      ...ownEnvironment(),
      PARLEY_PORT: new URL(gateway.url).port,
      PARLEY_DATA_DIR: folder,
      PARLEY_ADMIN_TOKEN: adminToken,
    }
    const run = (id: string) =>
      ended(spawn(process.execPath, [join(root, 'bin/parley.js'), 'explain', '--', id], { env, cwd: folder }))
    const told = await run('-1:1')
    expect(told).toMatchObject({ code: 0, output: expect.stringContaining('Answered: the reply arrived') })
    expect(told.output).toContain('Duplicate')
    expect(told.output).not.toContain('\u001b[')
    expect(await run('nobody')).toMatchObject({
      code: 3,
      output: expect.stringContaining('nothing here goes by that id'),
    })
  }, 60_000)

  test('tells a stranger once whom to ask, and nothing more however often they write', async () => {
    const before = answers().length
    const from = { id: 8, is_bot: false, first_name: 'Mallory' }
    const chat = { id: 8, type: 'private', first_name: 'Mallory' }
    await post(update({ text: 'let me in', from, chat }))
    await until(() => answers().length > before)
    expect(answers().at(-1)).toContain('ask an admin to let you in, as telegram:8')
    await post(update({ text: 'let me in now', from, chat }))
    await until(() => gateway.output().includes('not_on_allow_list'))
    expect(answers()).toHaveLength(before + 1)
  })

  test('goes on after kill -9 where it was, without answering anything twice', async () => {
    await until(() => answers().length > 0)
    const before = answers().length
    const body = update({ text: 'survive this' })
    await post(body)
    gateway.child.kill('SIGKILL')
    gateway = await start()
    await post(body)
    await until(() => answers().some((text) => text.includes('survive this')))
    await post(body)
    expect(answers().length - before).toBe(1)
  }, 60_000)

  const deep = `{"update_id":1,"message":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`
  const garbage: readonly { name: string; send: () => Promise<Response>; status: number; says: string }[] = [
    {
      name: 'a wrong secret',
      send: () => post('{}', { 'x-telegram-bot-api-secret-token': 'wrong' }),
      status: 401,
      says: 'wrong_credential',
    },
    {
      name: 'an empty secret',
      send: () => post('{}', { 'x-telegram-bot-api-secret-token': '' }),
      status: 401,
      says: 'credential',
    },
    { name: 'a body of 10 MB', send: () => post('x'.repeat(10_000_000)), status: 413, says: 'body_too_large' },
    { name: 'invalid JSON', send: () => post('{"update_id": 1,'), status: 200, says: 'invalid_json' },
    {
      name: 'bytes that are no text',
      send: () => post(new Uint8Array([0xff, 0xfe, 0x00, 0x80])),
      status: 200,
      says: 'invalid_utf8',
    },
    { name: 'deep nesting', send: () => post(deep), status: 200, says: 'too_deep' },
    { name: 'an array', send: () => post('[1,2,3]'), status: 200, says: 'not_an_object' },
    {
      name: 'wrong types',
      send: () => post('{"update_id":"one","message":{"message_id":{},"chat":7}}'),
      status: 200,
      says: 'dead',
    },
    { name: 'an update without a message', send: () => post('{"update_id":77}'), status: 200, says: 'outcomes' },
    {
      name: 'a message without text',
      send: () => post(update({ location: { latitude: 1, longitude: 2 } })),
      status: 200,
      says: 'accepted',
    },
    {
      name: 'unknown fields',
      send: () => post(update({ text: 'hi', future: { field: [1] } })),
      status: 200,
      says: 'accepted',
    },
    {
      name: 'NUL and lone surrogates',
      send: () => post(update({ text: 'a\u0000b\ud800c' })),
      status: 200,
      says: 'accepted',
    },
    {
      name: 'an unknown connection',
      send: () => fetch(`${gateway.url}/hooks/telegram/nobody`, { method: 'POST', body: '{}' }),
      status: 404,
      says: 'not_found',
    },
    {
      name: 'an admin call without a token',
      send: () => fetch(`${gateway.url}/admin/stats`),
      status: 401,
      says: 'Bearer',
    },
    {
      name: 'a call through a foreign name',
      send: () => viaHost('evil.example'),
      status: 401,
      says: 'missing_credential',
    },
  ]
  const viaHost = (host: string) =>
    fetch(`${gateway.url}/api/v1/agent/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': host },
      body: '{}',
    })

  test.each(garbage)('answers $name with a typed outcome', async ({ send, status, says }) => {
    const response = await send()
    const text = await response.text()
    expect(text).toContain(says)
    expect(text).not.toMatch(/ at .*\.[jt]s:\d+/)
    expect(response.status).toBe(status)
  })

  test('is still up after all of it, with its memory flat', async ({ skip }) => {
    if (process.platform !== 'linux') skip('reads the process memory from /proc')
    const round = async () => {
      for (const { send } of garbage) await (await send()).arrayBuffer()
    }
    const growth = async (rounds: number) => {
      const before = await residentMegabytes(gateway.child)
      for (let done = 0; done < rounds; done += 1) await round()
      return (await residentMegabytes(gateway.child)) - before
    }
    let grown = await growth(10)
    // A leak grows every time. On a busy machine garbage that nobody had time to collect yet grows once or twice.
    for (let tries = 0; tries < 4 && (tries === 0 || grown >= 100); tries += 1) grown = await growth(30)
    expect(grown).toBeLessThan(100)
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
  }, 240_000)

  test('balances its books and shows no secret in anything it printed', async () => {
    const books = async () => {
      const response = await fetch(`${gateway.url}/admin/stats`, { headers: { authorization: `Bearer ${adminToken}` } })
      const { stats: lines } = (await response.json()) as { stats: Record<string, number>[] }
      return lines.find((line) => String(line['connection']) === 'telegram/default') ?? {}
    }
    let line = await books()
    for (let tries = 0; tries < 300 && (line['inFlight'] ?? 0) > 0; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      line = await books()
    }
    const { received, answered, merged, refused, dead, inFlight } = line
    expect(inFlight).toBe(0)
    expect(received).toBe((answered ?? 0) + (merged ?? 0) + (refused ?? 0) + (dead ?? 0))
    for (const hidden of [secret, testBotToken, adminToken, 'survive this'])
      expect(gateway.output()).not.toContain(hidden)
  }, 60_000)

  test('refuses a second process on the same folder, and says what to do', async () => {
    const second = spawn(process.execPath, [join(root, 'bin/parley.js'), 'start'], {
      env: { ...ownEnvironment(), PARLEY_PORT: '0', PARLEY_DATA_DIR: folder },
    })
    const { code, output } = await ended(second)
    expect(code).toBe(1)
    expect(output).toContain('another Parley process uses')
  })

  test('stops in order when asked to', async () => {
    gateway.child.kill('SIGTERM')
    const { code } = await ended(gateway.child)
    expect(code).toBe(0)
    gateway = await start()
  }, 30_000)
})

async function waitUntilUp(child: ChildProcess): Promise<Running> {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  for (let tries = 0; tries < 1_000; tries += 1) {
    const url = /Parley is up at (\S+)/.exec(output)?.[1]
    if (url !== undefined) return { url, child, output: () => output }
    if (child.exitCode !== null) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`the gateway did not come up: ${output}`)
}

function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  return new Promise((resolve) => child.once('exit', (code) => resolve({ code, output })))
}

async function residentMegabytes(child: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}
