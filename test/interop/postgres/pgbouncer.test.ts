// PgBouncer before the database: the recipe of docs/operating.md starts and answers, transaction mode is refused with a remedy.
import { readFileSync } from 'node:fs'
import { afterEach, expect, inject, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import { startNode } from '../../../src/node.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { describeBeside, provePeer } from '../peer.ts'
import { findPgBouncer, startPgBouncer } from './pgbouncer.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const { url: adminUrl, reason } = inject('postgres')
const page = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8')
/** The lines of the recipe as they stand in the page. */
const recipe = /```ini\n\[pgbouncer\]\n([^`]+)```/.exec(page)?.[1]?.trim().split('\n') ?? []
const messages = 150

/** It has answered a query. */
const peer = await provePeer('PgBouncer', await findPgBouncer(), async (files) => {
  if (adminUrl === '') throw new Error(reason)
  await (await startPgBouncer(files, adminUrl, [])).stop()
})

describeBeside('PgBouncer', peer, (files) => {
  let cleanUp: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanUp.toReversed()) await step()
    cleanUp = []
  })
  const start = async (settings: readonly string[]) => {
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    const pooler = await startPgBouncer(files(), clone.url, settings)
    cleanUp.push(pooler.stop)
    const vendor = await startVendorStub()
    cleanUp.push(vendor.close)
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: pooler.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' },
      { agents: [defineAgent({ slug: 'demo', run: () => 'ok' })], connections: loopbackConnections(vendor.origin) },
      loopbackChannels,
    )
    const gateway = await startNode({ config, migrationsFolder, log: quiet })
    cleanUp.push(() => gateway.stop(1_000))
    return { gateway, vendor }
  }

  test('in session mode by the recipe starts, and every message of a burst is answered once', async () => {
    expect(recipe).toContain('pool_mode = session')
    const { gateway, vendor } = await start(recipe)
    const deliver = async (id: string) => {
      const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: id, conversation: id })
      const hook = `${gateway.url}/hooks/loopback-client-id/loopback-client-id`
      return (await fetch(hook, { method: 'POST', headers, body: Buffer.from(bytes) })).status
    }
    const ids = Array.from({ length: messages }, (_, index) => `m${index}`)
    expect(new Set(await Promise.all(ids.map(deliver)))).toEqual(new Set([200]))
    const answered = () => vendor.messages.map(({ conversation }) => conversation).toSorted()
    await expect.poll(answered, { timeout: 60_000, interval: 100 }).toEqual(ids.toSorted())
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
  })

  test.each([
    ['as it comes', []],
    ['that takes turns', ['server_round_robin = 1']],
    ['with one session', ['default_pool_size = 1']],
  ])('in transaction mode %s is refused at the start', async (_how, more) => {
    const settings = [...recipe.filter((line) => !line.startsWith('pool_mode')), 'pool_mode = transaction', ...more]
    await expect(start(settings)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/transaction mode.*session mode/),
    })
  })

  test('without the recipe is refused with what to set', async () => {
    await expect(start(['pool_mode = session'])).rejects.toMatchObject({
      message: expect.stringMatching(/08P01.*ignore_startup_parameters/),
    })
  })
})
