// The journey on Node: the gateway as its own edge starts it, on the run's PostgreSQL.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { channels } from '../../../src/channels.ts'
import { loadConfig } from '../../../src/config.ts'
import { type RunningGateway, startNode } from '../../../src/node.ts'
import { startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { declareJourney } from '../../runtime/journey.ts'
import { telegramVariables } from '../../runtime/worker-settings.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

describeOnPostgres('the journey on Node', (adminUrl) => {
  let api: TelegramApi
  let clone: TestDatabase
  let folder: string
  let gateway: RunningGateway
  const silent = { info: () => {}, warn: () => {}, error: () => {} }

  beforeAll(async () => {
    api = await startTelegramApi()
    clone = await takeDatabase(adminUrl)
    folder = await mkdtemp(join(tmpdir(), 'parley-runtime-'))
    const env = {
      ...telegramVariables(api.apiRoot),
      PARLEY_PORT: '0',
      PARLEY_DATA_DIR: folder,
      DATABASE_URL: clone.url,
    }
    gateway = await startNode({ config: loadConfig(env, {}, channels), migrationsFolder, log: silent })
  })
  afterAll(async () => {
    await gateway.stop(2_000)
    await api.close()
    await clone.drop()
    await rm(folder, { recursive: true, force: true })
  })

  declareJourney({
    fetch: (path, init) => fetch(`${gateway.url}${path}`, init),
    sentTo: async (chat) => api.sent.filter((each) => each.chat_id === String(chat)).map((each) => each.text),
  })
})
