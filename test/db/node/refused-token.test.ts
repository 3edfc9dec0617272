// A gateway whose bot token was revoked: it starts, says so to an operator, and goes on answering everywhere else.
import { expect, test } from 'vitest'
import { telegramChannel } from '../../../adapters/telegram/index.ts'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import { startNode } from '../../../src/node.ts'
import { startTelegramApi } from '../../doubles/telegram-api.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const token = 'admin-token-of-this-test'
const quiet = { info: () => {}, warn: () => {}, error: () => {} }

describeOnPostgres('a refused token', (adminUrl) => {
  test('makes readiness degraded with what to do, and does not take the gateway out of rotation', async () => {
    const clone = await takeDatabase(adminUrl)
    const api = await startTelegramApi()
    const env = {
      PARLEY_PORT: '0',
      DATABASE_URL: clone.url,
      PARLEY_ADMIN_TOKEN: token,
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_BOT_TOKEN: '7000001:AAE-revoked-token-000000000000000',
      TELEGRAM_MODE: 'polling',
    }
    const config = loadConfig(env, { agents: [defineAgent({ slug: 'demo', run: () => 'ok' })] }, [telegramChannel])
    const gateway = await startNode({ config, migrationsFolder, log: quiet })
    const get = async (path: string) => {
      const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
      return { status: response.status, text: await response.text() }
    }
    try {
      await expect
        .poll(async () => JSON.parse((await get('/readyz')).text), { timeout: 10_000, interval: 100 })
        .toMatchObject({
          status: 'degraded',
          problems: [{ code: 'connection_failed', connection: 'telegram/default' }],
          connections: [{ state: 'failed', reason: 'token_refused', remedy: expect.stringContaining('BotFather') }],
        })
      expect((await get('/readyz')).status).toBe(200)
      expect((await get('/metrics')).text).toContain('parley_connection_up{connection="telegram/default"} 0')
      expect(JSON.parse((await get('/admin/connections')).text)).toMatchObject({
        connections: [{ connection: 'telegram/default', agent: 'demo', access: 'pairing', state: 'failed' }],
      })
    } finally {
      await gateway.stop(1_000)
      await api.close()
      await clone.drop()
    }
  })
})
