// The database stuck or gone: refused in time, readiness red, nothing acknowledged that was not stored, and back by itself.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { loadConfig } from '../../src/config.ts'
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { type RunningGateway, startNode } from '../../src/node.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../doubles/database-proxy.ts'
import { loopbackArrival } from '../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'
import { describeOnPostgres, type TestDatabase } from '../setup/databases.ts'
import { takeDatabase } from '../setup/pooled-database.ts'

const ids = nameStatement('test_ids', 'select message_id as id from inbox')
const operator = { headers: { authorization: 'Bearer admin-token-of-this-test' } }
const quiet = { info: () => {}, warn: () => {}, error: () => {} }

// The promise is 2.5 s; the slack is for machines that run other tests on the same cores.
const promisedMs = 2_500
const slackMs = 5_000

describeOnPostgres('a database outage', (adminUrl) => {
  let clone: TestDatabase
  let proxy: DatabaseProxy
  let vendor: VendorStub
  let gateway: RunningGateway

  beforeEach(async () => {
    clone = await takeDatabase(adminUrl)
    proxy = await startDatabaseProxy(clone.url)
    vendor = await startVendorStub()
    const env = { PARLEY_PORT: '0', DATABASE_URL: proxy.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' }
    const file = {
      agents: [defineAgent({ slug: 'demo', run: () => 'ok' })],
      connections: loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 600 } }),
      turns: { leaseMs: 2_000, pollMs: 50 },
    }
    gateway = await startNode({ config: loadConfig(env, file, loopbackChannels), migrationsFolder, log: quiet })
  })
  afterEach(async () => {
    proxy.thaw()
    proxy.restore()
    await gateway.stop(1_000)
    await proxy.close()
    await vendor.close()
    await clone.drop()
  })

  const deliver = async (id: string) => {
    const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: id, conversation: id })
    const started = performance.now()
    const url = `${gateway.url}/hooks/loopback-client-id/loopback-client-id`
    const response = await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })
    return { id, status: response.status, ms: performance.now() - started }
  }
  const stored = async () => {
    const direct = openPostgres({ url: clone.url })
    const rows = await direct.query<{ id: string }>(ids, [])
    await direct.close()
    return new Set(rows.map((row) => row.id))
  }
  const ready = async () => (await fetch(`${gateway.url}/readyz`)).status
  const isBack = async () => {
    for (let tries = 0; tries < 100; tries += 1) {
      if ((await ready()) === 200) return true
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return false
  }

  test('a table that arrivals need and cannot have is red, and nothing is stored by asking', async () => {
    const locking = openPostgres({ url: clone.url })
    await locking.transaction(async (sql) => {
      await sql.script(nameStatement('test_lock', 'lock table inbox in share mode'))
      expect(await ready()).toBe(503)
    })
    await locking.close()
    expect(await isBack()).toBe(true)
    expect(await stored()).toEqual(new Set())
  }, 60_000)

  test.each(['freeze', 'cut'] as const)(
    '%s: refused in time, then everything is as it was',
    async (how) => {
      const acknowledged = [(await deliver('before')).id]
      // So that every connection there is stands when it happens.
      expect((await fetch(`${gateway.url}/metrics`, operator)).status).toBe(200)
      proxy[how]()
      const during = await Promise.all(Array.from({ length: 40 }, (_, index) => deliver(`during-${index}`)))
      expect(new Set(during.map((answer) => answer.status))).toEqual(new Set([503]))
      expect(Math.max(...during.map((answer) => answer.ms))).toBeLessThan(promisedMs + slackMs)
      expect(await ready()).toBe(503)
      const red = (await (await fetch(`${gateway.url}/readyz`, operator)).json()) as {
        error: { code: string; remedy: string }
      }
      expect(red.error.code).toMatch(/^(storage_unavailable|db_unresponsive)$/)
      // The process still tells what it counted, and that the database is away.
      const metrics = async () => (await fetch(`${gateway.url}/metrics`, operator)).text()
      await expect.poll(metrics, { timeout: 10_000, interval: 200 }).toContain('parley_database_up 0')
      expect(await metrics()).toMatch(/parley_inbound_events_total\{[^}]*outcome="failed"[^}]*\} 40/)
      const later = await deliver('later')
      expect(later).toMatchObject({ status: 503 })
      proxy.thaw()
      proxy.restore()
      expect(await isBack()).toBe(true)
      // As a platform does it: whatever got no 2xx comes again, until it does.
      const untilTaken = async (id: string): Promise<void> => {
        for (let tries = 0; tries < 20; tries += 1) if ((await deliver(id)).status === 200) return
        throw new Error(`${id} was never taken`)
      }
      await Promise.all(during.map((answer) => untilTaken(answer.id)))
      acknowledged.push(...during.map((answer) => answer.id))
      const kept = await stored()
      expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
      // What was refused may have been stored all the same and be answered too: it is the names that count.
      const answered = () => vendor.messages.map((message) => message.conversation)
      const unanswered = () => acknowledged.filter((id) => !answered().includes(id))
      await expect.poll(unanswered, { timeout: 60_000, interval: 50 }).toEqual([])
      expect(new Set(answered()).size).toBe(answered().length)
    },
    120_000,
  )
})
