// A database that answers and takes nothing: readiness is red in seconds and says why, the log names statement and SQLSTATE, and all
// goes on by itself when the database does.
import postgres from 'postgres'
import { afterEach, describe, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import { type RunningGateway, startNode } from '../../../src/node.ts'
import { canMountDisks, mountSmallDisk } from '../../doubles/full-disk.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { startPostgresServer } from '../../setup/postgres-server.ts'

// The promise is 5 s; the slack is for machines that run other tests on the same cores.
const promised = { timeout: 5_000 + 5_000, interval: 100 }

type Line = { readonly event: string; readonly facts: LogFields }
type Readyz = { readonly status: string; readonly problems?: readonly { code: string; remedy: string }[] }

let cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const step of cleanUp.toReversed()) await step()
  cleanUp = []
})

const startAt = async (databaseUrl: string, run: () => Promise<string> | string = () => 'ok') => {
  const lines: Line[] = []
  const write = (event: string, facts: LogFields = {}) => void lines.push({ event, facts })
  const vendor = await startVendorStub()
  cleanUp.push(vendor.close)
  const env = { PARLEY_PORT: '0', DATABASE_URL: databaseUrl, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' }
  const file = {
    agents: [defineAgent({ slug: 'demo', run })],
    connections: loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 600 } }),
    turns: { leaseMs: 2_000, pollMs: 200 },
  }
  const config = loadConfig(env, file, loopbackChannels)
  const gateway = await startNode({ config, migrationsFolder, log: { info: write, warn: write, error: write } })
  cleanUp.push(() => gateway.stop(1_000))
  return { gateway, vendor, lines }
}
const deliver = async (gateway: RunningGateway, id: string) => {
  const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: 'x'.repeat(2_000), conversation: id })
  const url = `${gateway.url}/hooks/loopback-client-id/loopback-client-id`
  return (await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })).status
}
const ready = async (gateway: RunningGateway) => {
  const response = await fetch(`${gateway.url}/readyz`, {
    headers: { authorization: 'Bearer admin-token-of-this-test' },
  })
  const body = (await response.json()) as Readyz
  const { code = '', remedy = '' } = body.problems?.[0] ?? {}
  return `${response.status} ${code} ${remedy}`.trim()
}
const untilTaken = (gateway: RunningGateway, id: string) =>
  expect.poll(() => deliver(gateway, id), { timeout: 20_000, interval: 100 }).toBe(200)
const untilAnswered = (vendor: VendorStub, id: string) =>
  expect
    .poll(() => vendor.messages.map(({ conversation }) => conversation), { timeout: 20_000, interval: 100 })
    .toContain(id)

const problem = (sqlstate: string, advice: string) =>
  new RegExp(`^503 storage_unavailable \\[storage\\] \\w+ failed \\(${sqlstate}\\); .*${advice}`)

const hasDisks = canMountDisks()
describe.skipIf(!hasDisks)(`a full disk${hasDisks ? '' : ' (only root may mount a small one)'}`, () => {
  test('is red with 53100 also while nothing arrives, and green when there is room', async () => {
    const disk = mountSmallDisk(320)
    cleanUp.push(disk.remove)
    const server = await startPostgresServer({ isDurable: false, parent: disk.folder })
    cleanUp.push(server.stop)
    cleanUp.push(disk.makeRoom)
    const { gateway, vendor, lines } = await startAt(server.url)
    await untilTaken(gateway, 'before')
    await untilAnswered(vendor, 'before')
    expect(await ready(gateway)).toBe('200')
    disk.fill()
    // No message has met it yet: the probe does.
    await expect.poll(() => ready(gateway), promised).toMatch(problem('53100', 'disk of the database is full'))
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, index) => deliver(gateway, `during-${index}`)))
    expect(statuses).toContain(503)
    expect(await ready(gateway)).toMatch(problem('53100', 'disk of the database is full'))
    for (const event of ['accept_failed', 'request_failed'])
      expect(lines.filter((line) => line.event === event && line.facts.code === 'storage_unavailable')).toContainEqual({
        event,
        facts: expect.objectContaining({ statement: 'accept', sqlstate: '53100' }),
      })
    disk.makeRoom()
    await expect.poll(() => ready(gateway), promised).toBe('200')
    await untilTaken(gateway, 'after')
    await untilAnswered(vendor, 'after')
  }, 120_000)
})

describeOnPostgres('a server without connections left', () => {
  const start = async () => {
    const server = await startPostgresServer({ isDurable: false, settings: { max_connections: 24 } })
    cleanUp.push(server.stop)
    const admin = postgres(server.url, { max: 1, onnotice: () => {} })
    cleanUp.push(() => admin.end({ timeout: 1 }))
    await admin`select 1`
    const others: postgres.Sql[] = []
    const free = async () => {
      await Promise.all(others.splice(0).map((other) => other.end({ timeout: 1 })))
    }
    cleanUp.push(free)
    /** Others take every connection there is, and keep it. */
    const takeAll = async () => {
      for (;;) {
        const other = postgres(server.url, { max: 1, onnotice: () => {} })
        others.push(other)
        try {
          await other`select 1`
        } catch {
          return
        }
      }
    }
    return { server, admin, takeAll, free }
  }

  test('is red with 53300 where turns cannot have theirs, and green when there are some', async () => {
    const { server, takeAll, free } = await start()
    const { gateway, vendor, lines } = await startAt(server.url)
    await untilTaken(gateway, 'before')
    expect(await ready(gateway)).toBe('200')
    await takeAll()
    const busy = new AbortController()
    const traffic = (async () => {
      for (let round = 0; !busy.signal.aborted; round += 1)
        await Promise.all(Array.from({ length: 12 }, (_, index) => deliver(gateway, `during-${round}-${index}`)))
    })()
    await expect.poll(() => ready(gateway), promised).toMatch(problem('53300', 'no connections left'))
    // Readiness may find out first; the log says it when the work does.
    await expect.poll(() => lines.some((line) => line.facts.sqlstate === '53300'), promised).toBe(true)
    busy.abort()
    await traffic
    await free()
    await expect.poll(() => ready(gateway), promised).toBe('200')
    await untilTaken(gateway, 'after')
    await untilAnswered(vendor, 'after')
  }, 120_000)

  test('is red with 53300 where messages cannot be stored, and green when there are some', async () => {
    const { server, admin, takeAll, free } = await start()
    const { gateway, vendor, lines } = await startAt(server.url)
    await untilTaken(gateway, 'before')
    // As after a restart of the server: others were quicker.
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`
    await takeAll()
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'parley%'`
    await takeAll()
    await expect.poll(() => ready(gateway), promised).toMatch(problem('53300', 'no connections left'))
    expect(await deliver(gateway, 'during')).toBe(503)
    expect(lines).toContainEqual({
      event: 'accept_failed',
      facts: expect.objectContaining({ statement: 'accept', sqlstate: '53300' }),
    })
    await free()
    await expect.poll(() => ready(gateway), promised).toBe('200')
    await untilTaken(gateway, 'after')
    await untilAnswered(vendor, 'after')
  }, 120_000)
})

describeOnPostgres('a database that only reads', (adminUrl) => {
  test('is red with 25006, and is used again by itself when it is writable', async () => {
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    const admin = postgres(adminUrl, { max: 1, onnotice: () => {} })
    cleanUp.push(() => admin.end({ timeout: 1 }))
    const setReadOnly = (value: 'on' | 'off') =>
      admin.unsafe(`alter database "${clone.name}" set default_transaction_read_only = ${value}`)
    cleanUp.push(() => admin.unsafe(`alter database "${clone.name}" reset default_transaction_read_only`))
    const { gateway, vendor, lines } = await startAt(clone.url)
    await untilTaken(gateway, 'before')
    expect(await ready(gateway)).toBe('200')
    await setReadOnly('on')
    // Sessions keep what they began with: as providers do, they are ended.
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = ${clone.name}`
    await expect.poll(() => ready(gateway), promised).toMatch(problem('25006', 'only reads'))
    await expect.poll(() => deliver(gateway, 'during'), promised).toBe(503)
    for (const event of ['accept_failed', 'drain_failed'])
      expect(lines.filter((line) => line.event === event)).toContainEqual({
        event,
        facts: expect.objectContaining({ code: 'storage_unavailable', sqlstate: '25006' }),
      })
    await setReadOnly('off')
    await expect.poll(() => ready(gateway), promised).toBe('200')
    await untilTaken(gateway, 'after')
    await untilAnswered(vendor, 'after')
  }, 120_000)
})
