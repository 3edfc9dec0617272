// A revoked grant is gone at the very next decision, in every replica: nobody remembers one between two messages.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { type AtWork, putToWork, until } from '../../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const give = nameStatement(
  'test_give',
  `insert into grants (tenant, id, subject, effect, role, source, created_by)
   values ('default', $1, 'loopback:ada', $2, null, 'test', 'test')`,
)
const revoke = nameStatement('test_revoke', 'update grants set revoked_at = now() where id = $1')
const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const audits = nameStatement(
  'test_audits',
  "select outcome, code, rule from audit_log where action = 'message.admit' order by seq",
)

describeOnPostgres('a revoked grant', (adminUrl) => {
  let clone: TestDatabase
  let vendor: VendorStub
  let operator: Database
  let replicas: readonly { readonly gateway: TestGateway; readonly database: Database; readonly work: AtWork }[]
  let ran = 0

  beforeEach(async () => {
    ran = 0
    clone = await takeDatabase(adminUrl)
    vendor = await startVendorStub()
    operator = openPostgres({ url: clone.url, maxConnections: 1 })
    replicas = [1, 2].map(() => {
      const database = openPostgres({ url: clone.url, maxConnections: 4 })
      const run = () => {
        ran += 1
        return 'yes'
      }
      const gateway = createTestGateway(database, {
        agents: [defineAgent({ slug: 'demo', run })],
        connections: loopbackConnections(vendor.origin, { access: { mode: 'allow_list', allow: [] } }),
      })
      return { gateway, database, work: putToWork(gateway) }
    })
  })
  afterEach(async () => {
    for (const { gateway, database, work } of replicas) {
      await work.stop()
      gateway.stop()
      await database.close()
    }
    await operator.close()
    await vendor.close()
    await clone.drop()
  })

  const fateOf = async (id: string) => {
    const rows = await operator.query<{ id: string; state: string; reason: string | null }>(fates, [])
    const row = rows.find((each) => each.id === id)
    return row === undefined ? 'none' : `${row.state}${row.reason === null ? '' : `(${row.reason})`}`
  }
  const say = async (replica: number, id: string) => {
    // A conversation of its own: whichever replica takes it up decides.
    await replicas[replica]?.gateway.deliver({ id, from: 'ada', text: 'hello', conversation: id })
    await until(async () => /answered|refused/.test(await fateOf(id)))
    return fateOf(id)
  }

  test('refuses the very next message, at every replica; a new one admits the very next', async () => {
    for (const round of [1, 2, 3]) {
      const id = randomUUID()
      expect(await say(0, `before ${round}a`)).toBe('refused(not_on_allow_list)')
      await operator.query(give, [id, 'allow'])
      for (const replica of [0, 1]) expect(await say(replica, `with ${round} ${replica}`)).toBe('answered')
      await operator.query(revoke, [id])
      for (const replica of [0, 1])
        expect(await say(replica, `after ${round} ${replica}`)).toBe('refused(not_on_allow_list)')
    }
    expect(ran).toBe(6)
    const lines = await operator.query<{ outcome: string; code: string | null; rule: string }>(audits, [])
    expect(lines.filter(({ outcome }) => outcome === 'admitted').every(({ rule }) => rule.startsWith('grant '))).toBe(
      true,
    )
    expect(lines.filter(({ outcome }) => outcome === 'refused')).toHaveLength(9)
  })

  test('and a block count for what waits already: it is decided about when it is taken up', async () => {
    const id = randomUUID()
    await operator.query(give, [id, 'allow'])
    for (const { work } of replicas) await work.stop()
    await replicas[0]?.gateway.deliver({ id: 'waiting', from: 'ada', text: 'hello' })
    await operator.query(revoke, [id])
    await operator.query(give, [randomUUID(), 'deny'])
    replicas = replicas.map((each) => ({ ...each, work: putToWork(each.gateway) }))
    await until(async () => (await fateOf('waiting')) !== 'queued')
    await until(async () => /refused/.test(await fateOf('waiting')))
    expect(await fateOf('waiting')).toBe('refused(blocked)')
    expect(ran).toBe(0)
  })
})
