// The Worker under `wrangler dev`: a signed update is answered over real HTTP, queue and PostgreSQL; then it is killed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { newChat, textUpdate, untilSent, webhook } from '../../runtime/journey.ts'
import { telegramVariables } from '../../runtime/worker-settings.ts'
import { workerdProblem } from '../../runtime/workerd-problem.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { startWranglerDev, type WranglerDev } from './wrangler-dev.ts'

const expire = ['lanes', 'send_lanes'].map((table) =>
  nameStatement(
    'test_expire',
    `update ${table} set lease_until = now() - interval '1 second' where holder is not null`,
  ),
)
const open = nameStatement('test_open', "select count(*)::int as open from inbox where state in ('queued', 'in_turn')")
const problem = workerdProblem()

describeOnPostgres('the Worker under wrangler dev', (adminUrl) => {
  let api: TelegramApi
  let clone: TestDatabase
  let database: Database
  let dev: WranglerDev
  const start = (changes: { script?: string } = {}) =>
    startWranglerDev({ databaseUrl: clone.url, variables: telegramVariables(api.apiRoot), ...changes })

  beforeAll(async () => {
    if (problem !== undefined) return
    api = await startTelegramApi()
    clone = await takeDatabase(adminUrl)
    database = openPostgres({ url: clone.url })
    dev = await start()
  }, 180_000)
  afterAll(async () => {
    if (problem !== undefined) return
    await dev.kill()
    await api.close()
    await database.close()
    await clone.drop()
  }, 60_000)

  const sentTo = async (chat: number) =>
    api.sent.filter((each) => each.chat_id === String(chat)).map((each) => each.text)
  const harness = { fetch: (path: string, init?: RequestInit) => fetch(`${dev.url}${path}`, init), sentTo }
  const say = (chat: number, text: string) =>
    harness.fetch('/hooks/telegram/default', webhook(textUpdate(chat, 1, text)))

  test.skipIf(problem !== undefined)(
    'answers a signed update, and refuses a forged one',
    { timeout: 120_000 },
    async () => {
      const chat = newChat()
      expect((await say(chat, 'hello')).status).toBe(200)
      expect(await untilSent(harness, chat, 1)).toEqual([expect.stringContaining('You said: hello')])
      const forged = webhook(textUpdate(chat, 2, 'hello'), 'not-the-secret-of-this-connection-0000')
      expect((await harness.fetch('/hooks/telegram/default', forged)).status).toBe(401)
      expect((await harness.fetch('/admin/stats')).status).toBe(404)
    },
  )

  const killed = 'killed in the middle of a send goes on after its start: nothing lost, nothing sent twice'
  test.skipIf(problem !== undefined)(killed, { timeout: 240_000 }, async () => {
    const [interrupted, waiting] = [newChat(), newChat()]
    api.failNext('sendMessage', { kind: 'hang', applied: true })
    await say(interrupted, 'first')
    await untilSent(harness, interrupted, 1)
    expect((await say(waiting, 'second')).status).toBe(200)
    await dev.kill()
    for (const each of expire) await database.query(each, [])
    dev = await start()
    // Local queues forget with their process; the clock does not.
    for (let tries = 0; tries < 60; tries += 1) {
      await harness.fetch('/cdn-cgi/handler/scheduled')
      const [row] = await database.query<{ open: number }>(open, [])
      if (row?.open === 0) break
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    expect(await sentTo(interrupted)).toHaveLength(1)
    expect(await sentTo(waiting)).toEqual([expect.stringContaining('You said: second')])
  })

  test.skipIf(problem !== undefined)(
    'runs an agent of the developer, from the package',
    { timeout: 240_000 },
    async () => {
      await dev.kill()
      dev = await start({ script: 'examples/worker/worker.ts' })
      const chat = newChat()
      expect((await say(chat, 'hello')).status).toBe(200)
      expect(await untilSent(harness, chat, 1)).toEqual([expect.stringContaining('Hello from a Worker')])
    },
  )
})
