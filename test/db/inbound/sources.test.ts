// Pull sources: one process at a time, nothing acknowledged before it is stored, nothing lost and nothing doubled.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { textOf } from '../../../src/contract/index.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import type { RunningSources } from '../../../src/inbound/sources.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { createNodePollingSources } from '../../../src/node/ingress.ts'
import { sourceAndListenerProblems } from '../../../src/observability/connection-health.ts'
import { createDoor, until } from '../../doubles/background-gateway.ts'
import { createPulledPlatform, type PulledPlatform } from '../../doubles/loopback/source.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const stored = nameStatement('test_stored', 'select message_id as id from inbox order by seq')
const place = nameStatement(
  'test_place',
  'select cursor, holder is not null as held, epoch::int as epoch from pull_cursors',
)
const expire = nameStatement('test_expire', "update pull_cursors set lease_until = now() - interval '1 second'")

describeOnDatabase('a pull source', (database) => {
  let vendor: VendorStub
  let platform: PulledPlatform
  const open: (() => Promise<void>)[] = []
  const start = (
    on: Database = database(),
    leaseMs = 15_000,
  ): Pick<RunningSources, 'states' | 'stop'> & Pick<TestGateway, 'logged'> => {
    const [connection] = loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 100 } })
    const assembled = createTestGateway(
      on,
      {
        agents: [defineAgent({ slug: 'demo', run: (message) => `re: ${textOf(message.parts)}` })],
        connections: connection === undefined ? [] : [connection],
        turns: { leaseMs },
      },
      {},
      [platform.definition],
    )
    const sources = createNodePollingSources(assembled)
    sources.start()
    open.push(async () => {
      await sources.stop()
      assembled.stop()
    })
    return { ...sources, logged: assembled.logged }
  }
  const ids = async () => (await database().query<{ id: string }>(stored, [])).map(({ id }) => id)
  const sayAll = (...said: readonly string[]) => {
    for (const id of said) platform.say({ id, from: 'ada', text: id })
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
    platform = createPulledPlatform(2)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((close) => close()))
    await vendor.close()
  })

  test('is stored in order, and acknowledged batch by batch', async () => {
    start()
    sayAll('m1', 'm2', 'm3', 'm4', 'm5')
    await until(() => platform.acknowledged.at(-1)?.cursor === '5')
    expect(await ids()).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
    expect(platform.acknowledged.map(({ answers }) => answers.map(({ status }) => status))).toEqual([
      [200, 200],
      [200, 200],
      [200],
    ])
    expect(await database().query(place, [])).toEqual([{ cursor: '5', held: true, epoch: 1 }])
  })

  test('acknowledges nothing that could not be stored, and gets it again', async () => {
    let faults = 2
    const real = database()
    const accepting: Database['accepting'] = {
      ...real.accepting,
      async query<Row>(...asked: Parameters<Database['query']>) {
        // The second message of the batch fails after the first one was committed.
        if (String(asked[1][0]).includes('m2') && faults > 0) {
          faults -= 1
          throw new GatewayError('storage_unavailable', 'planted')
        }
        return real.accepting.query<Row>(...asked)
      },
    }
    const sources = start({ ...real, accepting })
    sayAll('m1', 'm2', 'm3')
    await until(() => sources.states()[0]?.state === 'failing')
    expect(platform.acknowledged).toEqual([])
    expect(sources.states()).toEqual([
      {
        connection: 'loopback-client-id/loopback-client-id',
        state: 'failing',
        code: 'storage_unavailable',
        failures: 1,
      },
    ])
    await until(() => platform.acknowledged.at(-1)?.cursor === '3')
    expect(await ids()).toEqual(['m1', 'm2', 'm3'])
    expect(platform.askedFrom).toEqual([undefined, undefined, undefined])
    expect(sources.states()).toMatchObject([{ state: 'pulling' }])
  })

  test('that keeps failing is told by its name, and the next batch ends it', async () => {
    let isBroken = true
    const real = database()
    const accepting: Database['accepting'] = {
      ...real.accepting,
      async query<Row>(...asked: Parameters<Database['query']>) {
        if (isBroken && asked[0].name === 'accept') throw new GatewayError('storage_unavailable', 'planted')
        return real.accepting.query<Row>(...asked)
      },
    }
    const sources = start({ ...real, accepting })
    const key = 'loopback-client-id/loopback-client-id'
    const problems = () => sourceAndListenerProblems(key, sources.states(), [])
    sayAll('m1')
    expect(problems()).toEqual([])
    // Promised in 5 s; the slack is for machines that run other tests on the same cores.
    await expect.poll(problems, { timeout: 10_000, interval: 50 }).toEqual([
      {
        state: 'failed',
        reason: 'source_failing',
        problem: 'messages cannot be fetched (storage_unavailable)',
        remedy: expect.stringContaining('source_failed'),
      },
    ])
    isBroken = false
    await expect.poll(problems, { timeout: 20_000, interval: 50 }).toEqual([])
    expect(await ids()).toEqual(['m1'])
  })

  test('that keeps failing is logged once for each reason, and once when it works again', async () => {
    let code: 'storage_unavailable' | 'storage_overloaded' | undefined = 'storage_unavailable'
    const real = database()
    const accepting: Database['accepting'] = {
      ...real.accepting,
      async query<Row>(...asked: Parameters<Database['query']>) {
        if (code !== undefined && asked[0].name === 'accept') throw new GatewayError(code, 'planted')
        return real.accepting.query<Row>(...asked)
      },
    }
    const { logged, states } = start({ ...real, accepting })
    const told = () =>
      logged
        .filter(({ event }) => event === 'source_failed' || event === 'source_recovered')
        .map(({ event, facts }) => [event, facts['code'] ?? facts['attempt']].join(' '))
    sayAll('m1')
    const failures = () => states()[0]?.failures ?? 0
    await expect.poll(failures, { timeout: 10_000, interval: 20 }).toBeGreaterThanOrEqual(3)
    expect(told()).toEqual(['source_failed storage_unavailable'])
    code = 'storage_overloaded'
    await expect.poll(() => told().length, { timeout: 10_000, interval: 20 }).toBe(2)
    code = undefined
    await expect.poll(failures, { timeout: 20_000, interval: 50 }).toBe(0)
    expect(told()).toEqual([
      'source_failed storage_unavailable',
      'source_failed storage_overloaded',
      expect.stringMatching(/^source_recovered \d+$/),
    ])
  })

  test('comes again to the next process when the first died between the commit and the acknowledgement', async () => {
    const dead = createDoor()
    let isAtTheEdge = false
    start(
      watchedDatabase(database(), async (name) => {
        if (name !== 'before:advance_source') return
        isAtTheEdge = true
        await dead.passed
      }),
    )
    sayAll('m1', 'm2')
    await until(() => isAtTheEdge)
    expect(await ids()).toEqual(['m1', 'm2'])
    expect(platform.acknowledged).toEqual([])
    await database().query(expire, [])
    start()
    await until(() => platform.acknowledged.length === 1)
    dead.open()
    expect(await ids()).toEqual(['m1', 'm2'])
    expect(platform.askedFrom).toEqual([undefined, undefined])
    await until(async () => (await database().query<{ epoch: number }>(place, []))[0]?.epoch === 2)
    // What the first one wanted to write afterwards is fenced.
    expect(platform.acknowledged).toHaveLength(1)
  })

  test('is pulled by one of two processes, and by the other as soon as that one stops', async () => {
    const first = start()
    await until(() => platform.pulling.now === 1)
    const second = start()
    await until(() => second.states()[0]?.state === 'standby')
    sayAll('m1', 'm2', 'm3')
    await until(() => platform.acknowledged.at(-1)?.cursor === '3')
    await first.stop()
    await until(() => second.states()[0]?.state === 'pulling')
    sayAll('m4')
    await until(() => platform.acknowledged.at(-1)?.cursor === '4')
    expect(await ids()).toEqual(['m1', 'm2', 'm3', 'm4'])
    expect(platform.pulling.most).toBe(1)
    expect(platform.askedFrom).toEqual([undefined, '3'])
  })

  test('is given up by a process that cannot renew its hold', async () => {
    const sources = start(
      watchedDatabase(database(), (name) => {
        if (name === 'before:renew_source') throw new GatewayError('storage_unavailable', 'planted')
      }),
      600,
    )
    await until(() => platform.pulling.now === 1)
    await until(() => sources.states()[0]?.state === 'failing')
    expect(platform.pulling.now).toBe(0)
  })
})
