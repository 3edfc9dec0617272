// /healthz, /readyz and /metrics on the Node edge: who may read them, and what they say when all is well.
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig, type ParleyConfig } from '../../../src/config.ts'
import { type RunningGateway, startNode } from '../../../src/node.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { readPrometheusText } from '../../doubles/prometheus-text.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const token = 'admin-token-of-this-test'
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const connection = 'loopback-client-id/loopback-client-id'
/** What a proxy in front of the gateway adds: the caller is no longer on this machine. */
const elsewhere = { 'x-forwarded-for': '192.0.2.7' }
const operator = { authorization: `Bearer ${token}` }

describeOnPostgres('health', (adminUrl) => {
  let gateway: RunningGateway | undefined
  let cleanUp: (() => Promise<void>)[] = []
  const start = async (env: Record<string, string> = {}, more: ParleyConfig = {}) => {
    const clone = await takeDatabase(adminUrl)
    const vendor = await startVendorStub()
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: clone.url, PARLEY_ADMIN_TOKEN: token, ...env },
      {
        agents: [defineAgent({ slug: 'demo', run: () => 'ok' })],
        connections: loopbackConnections(vendor.origin),
        ...more,
      },
      loopbackChannels,
    )
    gateway = await startNode({ config, migrationsFolder, log: quiet })
    cleanUp = [() => gateway?.stop(2_000) ?? Promise.resolve(), vendor.close, clone.drop]
  }
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${gateway?.url}${path}`, { headers })
    return { status: response.status, text: await response.text(), type: response.headers.get('content-type') }
  }
  const say = async (id: string) => {
    const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: 'hello', conversation: id })
    const url = `${gateway?.url}/hooks/${connection}`
    expect((await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })).status).toBe(200)
  }
  afterEach(async () => {
    for (const step of cleanUp) await step()
    cleanUp = []
  })

  test('metrics are for an operator token, also on this machine', async () => {
    await start()
    expect((await get('/metrics')).status).toBe(401)
    expect((await get('/metrics', operator)).status).toBe(200)
    const refused = await get('/metrics', elsewhere)
    expect(refused.status).toBe(401)
    expect(JSON.parse(refused.text)).toMatchObject({
      error: { code: 'unauthorized', remedy: expect.stringContaining('PARLEY_METRICS=public') },
    })
    expect((await get('/metrics', { ...elsewhere, authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await get('/metrics', { ...elsewhere, ...operator })).status).toBe(200)
  })

  test.each([
    ['public', 200],
    ['off', 404],
  ])('PARLEY_METRICS=%s answers everybody with %i', async (value, status) => {
    await start({ PARLEY_METRICS: value })
    expect((await get('/metrics', elsewhere)).status).toBe(status)
  })

  test('metrics conform to the format and count a message through every hop', async () => {
    await start()
    await say('m1')
    const count = async (name: string, labels: Record<string, string>) => {
      const { text, type } = await get('/metrics', operator)
      expect(type).toBe('text/plain; version=0.0.4; charset=utf-8')
      const samples = readPrometheusText(text).get(name)?.samples ?? []
      return samples.find((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))?.value
    }
    await expect
      .poll(() => count('parley_messages', { connection, state: 'answered' }), { timeout: 15_000, interval: 200 })
      .toBe(1)
    expect(await count('parley_inbound_events_total', { connection, outcome: 'accepted' })).toBe(1)
    expect(await count('parley_turns_total', { connection, outcome: 'replied' })).toBe(1)
    expect(await count('parley_sends_total', { connection, outcome: 'delivered' })).toBe(1)
    expect(await count('parley_calls_ended_total', { connection, state: 'delivered' })).toBe(1)
    expect(await count('parley_claims_total', { loop: 'turns', found: 'yes' })).toBe(1)
    expect(await count('parley_last_inbound_age_seconds', { connection })).toBeGreaterThanOrEqual(0)
    expect(await count('parley_messages', { connection: 'loopback-none/loopback-none', state: 'answered' })).toBe(0)
  })

  test.each([
    [{ lowBytes: Number.MAX_SAFE_INTEGER, fullBytes: 0 }, 'disk_low'],
    [{ lowBytes: Number.MAX_SAFE_INTEGER, fullBytes: Number.MAX_SAFE_INTEGER }, 'disk_full'],
  ])('readiness is degraded, and stays in rotation, with a floor of %j above what is free', async (disk, code) => {
    await start({}, { disk })
    const { status, text } = await get('/readyz', { ...elsewhere, ...operator })
    expect(JSON.parse((await get('/readyz', elsewhere)).text)).toEqual({ status: 'degraded' })
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      { status: 'degraded', problems: [{ code, remedy: expect.stringContaining('free some') }] },
    ])
  })

  test('readiness shows the world a colour, and the operator why', async () => {
    await start()
    await say('m1')
    const shown = async (headers: Record<string, string>) => JSON.parse((await get('/readyz', headers)).text) as object
    for (const stranger of [elsewhere, {}]) expect(await shown(stranger)).toEqual({ status: 'ready' })
    await expect
      .poll(() => shown({ ...elsewhere, ...operator }), { timeout: 15_000, interval: 200 })
      .toMatchObject({
        status: 'ready',
        database: { answers: true },
        loops: {
          turns: expect.any(Number),
          sends: expect.any(Number),
          timers: expect.any(Number),
          leases: expect.any(Number),
        },
        lastInboundAge: expect.any(Number),
        lastOutboundAge: expect.any(Number),
        lag: null,
        connections: expect.arrayContaining([expect.objectContaining({ connection, waiting: 0, openCalls: 0 })]),
      })
  })

  test('health says only that the process is up', async () => {
    await start()
    expect(JSON.parse((await get('/healthz', elsewhere)).text)).toEqual({ status: 'up' })
  })
})
