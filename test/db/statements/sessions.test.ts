// Deleting a session through the whole gateway: afterwards nobody finds in any table what was said, and the books balance.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { textOf } from '../../../src/contract/index.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { listMessageCountsByConnection } from '../../../src/db/receipts.ts'
import { deleteSession, listSessions } from '../../../src/db/sessions.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const tables = nameStatement(
  'test_tables',
  "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
)
const page = { limit: 50, before: null, agent: null } as const

describeOnDatabase('a deleted session', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  beforeEach(async () => {
    vendor = await startVendorStub()
    gateway = createTestGateway(database(), {
      agents: [
        defineAgent({
          slug: 'demo',
          async run(message, { step, show }) {
            show(textOf(message.parts))
            const found = await step('look', async () => `found ${textOf(message.parts)}`)
            return `you said ${found}`
          },
        }),
      ],
      connections: loopbackConnections(vendor.origin),
    })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  /** Where in the database a text stands. */
  const tablesWith = async (text: string) => {
    const names = (await database().query<{ name: string }>(tables, [])).map(({ name }) => name)
    const holds = async (name: string) => {
      const search = nameStatement('test_search', `select 1 as hit from "${name}" t where t::text like $1 limit 1`)
      return (await database().query(search, [`%${text}%`])).length > 0
    }
    const found = []
    for (const name of names) if (await holds(name)) found.push(name)
    return found
  }
  const say = async (id: string, text: string) => {
    await gateway.deliver({ id, from: 'ada', text, conversation: 'c1' })
    const isAnswered = async () => {
      const [books] = await listMessageCountsByConnection(gateway.deps.db)
      return books !== undefined && books.inFlight === 0 && books.answered === Number(id.slice(1))
    }
    await settleUntil(gateway, isAnswered, 60_000)
  }

  test('leaves no word of it anywhere, and the next message begins a new one', async () => {
    await say('m1', 'the secret plan')
    expect((await tablesWith('secret plan')).length).toBeGreaterThan(3)
    const store = openTenantDb(database(), 'default')
    const [session] = await listSessions(store, {}, page)
    expect(await deleteSession(store, {}, session?.id ?? '', 'operator:test')).toBe('deleted')
    expect(await tablesWith('secret plan')).toEqual([])
    expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([
      { received: 1, answered: 1, inFlight: 0 },
    ])
    await say('m2', 'hello again')
    const left = await listSessions(store, {}, page)
    expect(left.map(({ id, lines }) => [id === session?.id, lines])).toEqual([[false, 2]])
  }, 120_000)
})
