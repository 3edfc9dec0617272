// A gateway on a restored database: what was sent stays sent, what was open goes on, what may have left since is in doubt.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { type BackupScene, backUp, createBackupScene, type Place, restore } from '../doubles/backup-setup.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnPostgres } from '../setup/databases.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const sends = nameStatement(
  'test_sends',
  `select connection, state, reason from outbox where purpose = 'reply' order by connection`,
)
const open = nameStatement('test_open', 'select id from outbox where settled_at is null')
const fates = nameStatement('test_fates', 'select message_id as id, state from inbox order by message_id')
// A vendor asked us to wait for an hour, which no test does.
const hurry = nameStatement(
  'test_hurry',
  `update outbox set not_before = null where settled_at is null; update send_lanes set next_at = now(); delete from connection_limits`,
)
const anHour = { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '3600' } } as const
const connections = ['loopback-client-id', 'loopback-edit', 'loopback-lookup', 'loopback-none']

describeOnPostgres('a restored gateway', (adminUrl) => {
  let scene: BackupScene
  let vendor: VendorStub
  let opened: { gateway: TestGateway; database: Database }[]

  const start = (place: Place, run: AgentDefinition['run'] = (message) => `re: ${textOf(message.parts)}`) => {
    const database = openPostgres({ url: place.url, maxConnections: 4 })
    const agents = [defineAgent({ slug: 'demo', run })]
    const gateway = createTestGateway(database, { agents, connections: loopbackConnections(vendor.origin) })
    opened.push({ gateway, database })
    return { gateway, database }
  }
  const sentTexts = () => vendor.messages.map(({ text }) => text).toSorted()
  const statesOf = async (database: Database) =>
    (await database.query<{ state: string; reason: string | null }>(sends, [])).map(({ state, reason }) =>
      reason === null ? state : `${state}(${reason})`,
    )

  beforeEach(async () => {
    scene = await createBackupScene(adminUrl)
    vendor = await startVendorStub()
    opened = []
  })
  afterEach(async () => {
    for (const { gateway, database } of opened) {
      gateway.stop()
      await database.close()
    }
    await vendor.close()
    await scene.close()
  })

  test('sends nothing again that was sent before, and knows a message that its platform delivers again', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    const old = start(from)
    for (const id of ['m1', 'm2', 'm3']) await old.gateway.deliver({ id, from: `person-${id}`, text: id })
    await settleUntil(old.gateway, () => vendor.messages.length === 3)
    await backUp(from, scene.path('b.tar.gz'), true)
    await restore(scene.path('b.tar.gz'), into)
    const now = start(into)
    expect(await listMessageCountsByConnection(openTenantDb(now.database, 'default'))).toEqual(
      await listMessageCountsByConnection(openTenantDb(old.database, 'default')),
    )
    expect(await now.gateway.deliver({ id: 'm2', from: 'person-m2', text: 'm2' })).toMatchObject({
      acceptances: [{ kind: 'duplicate' }],
    })
    await now.gateway.settle()
    expect(sentTexts()).toEqual(['re: m1', 're: m2', 're: m3'])
    await now.gateway.deliver({ id: 'm4', from: 'ada', text: 'm4' })
    await settleUntil(now.gateway, () => vendor.messages.length === 4)
  })

  test('goes on with an open turn from its journal: a finished step is not made again', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    let orders = 0
    let isAway = true
    const run: AgentDefinition['run'] = async (_message, { step }) => {
      const number = await step('order', async () => {
        orders += 1
        return `order ${orders}`
      })
      if (isAway) throw new GatewayError('provider_unavailable', 'the model does not answer', { retryable: true })
      return `done: ${number}`
    }
    const old = start(from, run)
    await old.gateway.deliver({ id: 'm1', from: 'ada', text: 'tea' })
    await old.gateway.deliver({ id: 'm2', from: 'bob', text: 'waits' }, 'loopback-none')
    await settleUntil(old.gateway, () => orders === 2)
    old.gateway.stop()
    await backUp(from, scene.path('b.tar.gz'), false)
    expect(await restore(scene.path('b.tar.gz'), into)).toMatchObject({ isStale: false, openTurns: 2 })
    isAway = false
    const now = start(into, run)
    await settleUntil(now.gateway, () => vendor.messages.length === 2)
    expect({ orders, said: sentTexts() }).toEqual({ orders: 2, said: ['done: order 1', 'done: order 2'] })
    expect(await now.database.query(fates, [])).toEqual([
      { id: 'm1', state: 'answered' },
      { id: 'm2', state: 'answered' },
    ])
  })

  const settleAll = ({ gateway, database }: { gateway: TestGateway; database: Database }) =>
    settleUntil(gateway, async () => {
      await database.script(hurry)
      return (await database.query(open, [])).length === 0
    })

  /** One answer per way of sending waits at the vendor's wish when the backup is made. */
  async function backUpWaiting(from: Place, isLive: boolean) {
    const old = start(from)
    for (const route of ['send', 'edit']) vendor.failAlways(route, anHour)
    for (const connection of connections) {
      await old.gateway.deliver({ id: `m-${connection}`, from: 'ada', text: connection }, connection)
    }
    await settleUntil(old.gateway, async () =>
      (await statesOf(old.database)).every((state) => state.startsWith('retry')),
    )
    expect(await statesOf(old.database)).toHaveLength(4)
    await backUp(from, scene.path('b.tar.gz'), isLive)
    for (const route of ['send', 'edit']) vendor.failAlways(route, undefined)
    return old
  }

  test('doubts what waited in a backup of a running gateway: none of it is seen twice, what cannot be told is unknown', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    const old = await backUpWaiting(from, true)
    // The old gateway went on after the snapshot.
    await old.database.script(hurry)
    await settleUntil(old.gateway, () => vendor.messages.length === 4)
    expect(await restore(scene.path('b.tar.gz'), into)).toMatchObject({ isStale: true, doubted: 4, openDeliveries: 4 })
    const now = start(into)
    await settleAll(now)
    expect(await statesOf(now.database)).toEqual([
      'delivered',
      'delivered',
      'delivered(found_by_lookup)',
      'unknown(restored)',
    ])
    expect(sentTexts()).toEqual(connections.map((connection) => `re: ${connection}`))
  })

  test('finds out, where the platform can tell, that what waited had not left', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await backUpWaiting(from, true)
    await restore(scene.path('b.tar.gz'), into)
    const now = start(into)
    await settleAll(now)
    expect(sentTexts()).toEqual(connections.slice(0, 3).map((connection) => `re: ${connection}`))
  })

  test('sends what waited in a backup of a gateway that had stopped, once', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    const old = await backUpWaiting(from, false)
    old.gateway.stop()
    expect(await restore(scene.path('b.tar.gz'), into)).toMatchObject({ isStale: false, doubted: 0, openDeliveries: 4 })
    const now = start(into)
    await now.database.script(hurry)
    await settleUntil(now.gateway, () => vendor.messages.length === 4)
    expect(sentTexts()).toEqual(connections.map((connection) => `re: ${connection}`))
  })
})
