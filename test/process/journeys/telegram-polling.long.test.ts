// A bot that polls, as a person starts it: nothing is skipped and nothing is answered twice, also when it is killed in between.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'
import { startTelegramApi, type TelegramApi, testBotToken } from '../../doubles/telegram-api.ts'

let api: TelegramApi
let dataDir: string
let gateway: ParleyProcess | undefined

const start = () =>
  startParley({
    dataDir,
    env: {
      TELEGRAM_BOT_TOKEN: testBotToken,
      TELEGRAM_MODE: 'polling',
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_ALLOW: '7',
    },
  })

beforeEach(async () => {
  api = await startTelegramApi()
  // A server that has nothing keeps the question for a while.
  api.failAlways('getUpdates', { kind: 'delay', ms: 100 })
  dataDir = await mkdtemp(join(tmpdir(), 'parley-polling-'))
})
afterEach(async () => {
  await gateway?.kill()
  await api.close()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
})

function says(id: number, text: string): { update_id: number } {
  // A chat of its own for each: one message a second is all a chat takes.
  const chat = { id: 100 + id, type: 'private' }
  const from = { id: 7, is_bot: false, first_name: 'Ada' }
  const message = { message_id: id, date: Math.floor(Date.now() / 1000), chat, from, text }
  return Object.assign({ update_id: id }, { message })
}

const answered = (text: string): number => api.sent.filter((sent) => sent.text.includes(`You said: ${text}`)).length

test('what waits at the platform is answered once, across kill -9, and taken off only when it is stored', async () => {
  api.updates.push(says(1, 'first'), says(2, 'second'))
  gateway = await start()
  await expect.poll(() => [answered('first'), answered('second')], { timeout: 60_000 }).toEqual([1, 1])
  await gateway.kill()
  api.updates.push(says(3, 'third'))
  gateway = await start()
  await expect.poll(() => answered('third'), { timeout: 60_000 }).toBe(1)
  expect(['first', 'second', 'third'].map(answered)).toEqual([1, 1, 1])
  // The next question says that everything before it is stored.
  await expect.poll(() => api.payloads('getUpdates').at(-1)?.['offset'], { timeout: 30_000 }).toBe(4)
  expect(api.unexpected).toEqual([])
}, 180_000)
