// Turns on which a process died, in a gateway that has no other process for them: they have this one to themselves. Explained
// to the operator, and ended with an apology.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { countSuspectTurnsByCrashes } from '../../src/db/suspect-turns.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import type { Isolation } from '../../src/turns/suspects.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

/** As if so many processes had died on it, one after the other. */
const die = nameStatement(
  'test_die',
  `update turns t set crash_epochs = array(select generate_series(1, $2::int)), epoch = 99, state = 'running'
   from inbox x where x.turn_id = t.id and x.message_id = $1`,
)
const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second', holder = null")

describeOnDatabase('a suspect', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const stop = new AbortController()
  const running = new Set<string>()
  const company: Record<string, readonly string[]> = {}
  let isHanging = true

  beforeEach(async () => {
    vendor = await startVendorStub()
    isHanging = true
    running.clear()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const run: AgentDefinition['run'] = async (message) => {
    const text = textOf(message.parts)
    // Never comes back in its first process.
    if (isHanging) return new Promise(() => {})
    running.add(text)
    for (const each of running) company[each] = [...new Set([...(company[each] ?? []), ...running])].toSorted()
    await new Promise((resolve) => setTimeout(resolve, 100))
    running.delete(text)
    return `re: ${text}`
  }
  const start = (isolation?: Isolation): TestGateway => {
    gateway = createTestGateway(
      database(),
      { agents: [defineAgent({ slug: 'demo', run })], connections: loopbackConnections(vendor.origin) },
      isolation === undefined ? {} : { isolation },
    )
    return gateway
  }
  const say = (text: string) => gateway.deliver({ id: text, from: 'ada', conversation: text, text })
  /** Begun by a process that is gone now. */
  const begin = async (crashes: Readonly<Record<string, number>>) => {
    const first = start()
    for (const id of Object.keys(crashes)) await say(id)
    const deadline = new AbortController()
    void first.gateway.drain({ deadline: deadline.signal }).catch(() => undefined)
    const isBegun = async () => {
      const rows = await database().query(
        nameStatement('test_begun', "select 1 from inbox where state = 'in_turn'"),
        [],
      )
      return rows.length === Object.keys(crashes).length
    }
    while (!(await isBegun())) await new Promise((resolve) => setTimeout(resolve, 10))
    deadline.abort()
    first.stop()
    for (const [id, count] of Object.entries(crashes)) await database().query(die, [id, count])
    await database().query(expire, [])
    isHanging = false
  }
  const work = (ms: number) =>
    gateway.gateway.drain({ deadline: AbortSignal.any([stop.signal, AbortSignal.timeout(ms)]) })
  const answered = () => vendor.messages.map(({ text }) => text).toSorted()

  test('on which two died runs alone; the others before it and after it', async () => {
    await begin({ s1: 2, s2: 3, once: 1 })
    start()
    for (const id of ['a', 'b', 'c']) await say(id)
    const late = setTimeout(() => void say('d'), 300)
    await work(2_500)
    clearTimeout(late)
    expect(answered()).toEqual(['a', 'b', 'c', 'd', 'once', 's1', 's2'].map((id) => `re: ${id}`))
    expect(company['s1']).toEqual(['s1'])
    expect(company['s2']).toEqual(['s2'])
  })

  test('is left to those who run it elsewhere, who are told; on which four died it is ended here, with an apology', async () => {
    await begin({ s1: 1, s2: 2, dead: 4 })
    start({ from: 1, isOffered: () => true, wake: () => {} })
    await say('a')
    await work(1_000)
    expect(answered()).toContain('re: a')
    expect(answered()).toHaveLength(2)
    expect(await countSuspectTurnsByCrashes(gateway.deps.db)).toEqual(
      expect.arrayContaining([
        { crashes: 1, turns: 1 },
        { crashes: 2, turns: 1 },
      ]),
    )
    for (const suspects of ['together', 'alone'] as const)
      await gateway.gateway.drain({ deadline: stop.signal, untilIdle: true, suspects })
    await gateway.settle()
    expect(answered()).toEqual(expect.arrayContaining(['re: a', 're: s1', 're: s2']))
    expect(answered()).toHaveLength(4)
  })

  test('is explained by the crashes of its processes', async () => {
    await begin({ s1: 0 })
    await database().query(
      nameStatement(
        'test_vanish',
        "update lanes set holder = 'gone', epoch = 99, lease_until = now() - interval '1 s'",
      ),
      [],
    )
    start()
    await gateway.settle()
    expect(answered()).toEqual(['re: s1'])
    expect(gateway.logged).toContainEqual(
      expect.objectContaining({ event: 'turn_suspected', facts: expect.objectContaining({ crashes: 1 }) }),
    )
    const store = openTenantDb(database(), 'default')
    const told = await explainById({ db: store, agents: ['demo'], rejections: createRejectionLog() }, 's1', undefined)
    expect(JSON.stringify(told)).toContain('Its process died once')
  })
})
