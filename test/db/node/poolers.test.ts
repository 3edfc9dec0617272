// Poolers before the database: one in session mode works, one in transaction mode is refused at the start with a remedy.
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import { requireSessionPerConnection } from '../../../src/db/own-sessions.ts'
import { startNode } from '../../../src/node.ts'
import { freePort } from '../../doubles/free-port.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { type Choice, startPooler } from '../../doubles/pooler.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const refused = { code: 'config_invalid', message: expect.stringMatching(/transaction mode.*session mode/) }

describeOnPostgres('a pooler', (adminUrl) => {
  let cleanUp: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanUp.toReversed()) await step()
    cleanUp = []
  })
  const startGateway = async (url: string) => {
    const vendor = await startVendorStub()
    cleanUp.push(vendor.close)
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' },
      { agents: [defineAgent({ slug: 'demo', run: () => 'ok' })], connections: loopbackConnections(vendor.origin) },
      loopbackChannels,
    )
    const gateway = await startNode({ config, migrationsFolder, log: quiet })
    cleanUp.push(() => gateway.stop(1_000))
    return { gateway, vendor }
  }
  const pool = async (...options: Parameters<typeof startPooler> extends [string, infer Rest] ? [Rest] : never) => {
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    const pooler = await startPooler(clone.url, ...options)
    cleanUp.push(pooler.close)
    return pooler
  }

  test.each(['last', 'longest', 'any'] as const satisfies readonly Choice[])(
    'in transaction mode that hands out the session that rested %s is refused at the start',
    async (choice) => {
      const { url } = await pool({ mode: 'transaction', size: 20, choice })
      await expect(startGateway(url)).rejects.toMatchObject(refused)
    },
  )

  test.each([1, 2, 3, 4, 5, 6, 7])('in transaction mode with %i sessions is refused', async (size) => {
    for (const choice of ['last', 'longest', 'any'] as const) {
      const { url } = await pool({ mode: 'transaction', size, choice })
      await expect(requireSessionPerConnection(url)).rejects.toMatchObject(refused)
    }
  })

  test('in session mode starts and answers', async () => {
    const { url } = await pool({ mode: 'session', size: 20 })
    const { gateway, vendor } = await startGateway(url)
    const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hello', conversation: 'm1' })
    const hook = `${gateway.url}/hooks/loopback-client-id/loopback-client-id`
    expect((await fetch(hook, { method: 'POST', headers, body: Buffer.from(bytes) })).status).toBe(200)
    await expect.poll(() => vendor.messages.length, { timeout: 15_000, interval: 50 }).toBe(1)
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
  })

  test('that is not needed: a database that cannot be opened is named by host and port, and by nothing secret', async () => {
    const port = await freePort()
    const opening = requireSessionPerConnection(`postgres://someone:hunter2@127.0.0.1:${port}/parley`)
    await expect(opening).rejects.toMatchObject({
      code: 'storage_unavailable',
      message: `[storage] the database at 127.0.0.1:${port} cannot be opened (ECONNREFUSED); start it, or correct the host and port in DATABASE_URL`,
    })
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    const url = new URL(clone.url)
    url.pathname = '/no-such-database'
    const message = await requireSessionPerConnection(url.href).catch(String)
    expect(message).toContain(' cannot be opened (3D000); there is no such database; correct DATABASE_URL or create it')
    expect(message).not.toContain(url.username === '' ? 'hunter2' : `${url.username}:`)
  })

  test('is not suspected where there is none', async () => {
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    await requireSessionPerConnection(clone.url)
  })
})
