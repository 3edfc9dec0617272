// The database goes away while a result is in hand: the living process stores it when the database is back, whatever its lease came to
// meanwhile. Every effect and every reply happens once, and nothing is told as unknown.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { loadConfig } from '../../src/config.ts'
import { nameStatement } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { LogFields } from '../../src/lib/log.ts'
import { type RunningGateway, startNode } from '../../src/node.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../doubles/database-proxy.ts'
import { loopbackArrival } from '../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'
import { describeOnPostgres, type TestDatabase } from '../setup/databases.ts'
import { takeDatabase } from '../setup/pooled-database.ts'

const leaseMs = 1_500
const outageMs = leaseMs * 1.5
/** A machine that is busy with other tests may keep a process from its lease for longer than half of it: then a turn is rightly given up. */
const patience = { timeout: 60_000, retry: 3 }

const fates = nameStatement(
  'test_fates',
  `select x.state, x.reason, (select json_agg(o.state order by o.ordinal) from outbox o where o.turn_id = x.turn_id) as calls,
     (select json_agg(j.state) from journal j where j.turn_id = x.turn_id) as steps
   from inbox x where x.message_id = $1`,
)

/** It answers nothing, its connections break, or its answers are lost. */
export type How = 'freeze' | 'cut' | 'deafen'

/** What is in hand when the database goes away, and where that is: before the statement is sent, or before its answer is heard. */
const moments = [
  ['a step that is about to begin', 'before:begin_step', 'before:begin_step'],
  ['what a step came to', 'after:effect', 'before:finish_step'],
  ['an answer', 'before:complete_turn', 'before:complete_turn'],
  ['a call that is about to begin', 'before:start_send', 'before:start_send'],
  ['what a vendor answered', 'after:deliver', 'before:settle_send'],
] as const

/** `hows`: in which ways the database goes away. */
export function describeResultsInHand(hows: readonly How[]): void {
  describeOnPostgres('a result in hand', (adminUrl) => resultsInHand(adminUrl, hows))
}

function resultsInHand(adminUrl: string, hows: readonly How[]): void {
  let clone: TestDatabase
  let proxy: DatabaseProxy
  let vendor: VendorStub
  let gateways: RunningGateway[]
  let effects: string[]
  let isArmed: boolean
  let logged: { event: string; facts: LogFields | undefined }[]

  beforeEach(async () => {
    clone = await takeDatabase(adminUrl)
    proxy = await startDatabaseProxy(clone.url)
    vendor = await startVendorStub()
    gateways = []
    effects = []
    isArmed = false
    logged = []
  })
  afterEach(async () => {
    proxy.thaw()
    proxy.restore()
    for (const gateway of gateways) await gateway.stop(1_000)
    await proxy.close()
    await vendor.close()
    await clone.drop()
  })

  /** `pass` is called at every failpoint. */
  const start = async (pass: (name: string) => void, isNarrow = false): Promise<void> => {
    const env = { PARLEY_PORT: '0', DATABASE_URL: proxy.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' }
    const agent = defineAgent({
      slug: 'demo',
      run: async (_message, { step }) => {
        await step('order tea', async ({ key }) => {
          effects.push(key)
          return 'ordered'
        })
        return 'done'
      },
    })
    const file = {
      agents: [agent],
      connections: loopbackConnections(vendor.origin, { settings: { callTimeoutMs: leaseMs / 3 } }),
      turns: { leaseMs, pollMs: 50 },
    }
    const write = (event: string, facts?: LogFields) => void logged.push({ event, facts })
    const log = { info: write, warn: write, error: write }
    const config = loadConfig(env, file, loopbackChannels)
    // Of one connection, so that it has prepared every statement: what it is asked then leaves in one piece, and is committed.
    const open = async () => {
      const database = openPostgres({ url: proxy.url, maxConnections: 1, failpoint: pass })
      return { database, close: database.close }
    }
    const means = isNarrow ? { openDatabase: open } : {}
    gateways.push(await startNode({ config, migrationsFolder, log, failpoint: pass, ...means }))
  }
  /** A vendor that knows no repetition: what is unknown to us stays unknown. */
  const deliver = async (id: string) => {
    const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: 'tea', conversation: id })
    const url = `${gateways[0]?.url}/hooks/loopback-none/loopback-none`
    expect((await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })).status).toBe(200)
  }
  /** A message before the one that counts. */
  const warmUp = async () => {
    await deliver('m0')
    await expect.poll(() => logged.some(({ event }) => event === 'delivery_ended'), { timeout: 20_000 }).toBe(true)
    effects = []
    isArmed = true
  }
  const read = async () => {
    const direct = openPostgres({ url: clone.url })
    try {
      return await direct.query<{ state: string; calls: string[]; steps: string[] }>(fates, ['m1'])
    } finally {
      await direct.close()
    }
  }
  /** The database goes away the first time this point is passed for the message that counts. */
  const awayAt = (moment: string, how: How, forMs = outageMs): ((name: string) => void) => {
    let isOver = false
    return (name) => {
      if (!isArmed || isOver || name !== moment) return
      isOver = true
      proxy[how]()
      // No answer for a while, then no connection: the driver never learns what became of what it asked.
      if (how === 'deafen') setTimeout(proxy.cut, 300)
      setTimeout(() => {
        proxy.thaw()
        proxy.restore()
      }, forMs)
    }
  }
  const expectOnce = async () => {
    await expect
      .poll(async () => (await read()).map(({ state }) => state), { timeout: 15_000, interval: 100 })
      .toEqual(['answered'])
    expect(await read()).toEqual([{ state: 'answered', reason: null, calls: ['delivered'], steps: ['finished'] }])
    expect(effects).toHaveLength(1)
    expect(vendor.messages.map(({ conversation }) => conversation)).toEqual(['m0', 'm1'])
  }
  const cases = hows.flatMap((how) =>
    moments.map(([what, unsent, unheard]) => [how, what, how === 'deafen' ? unheard : unsent] as const),
  )

  test.each(cases)('%s: %s', patience, async (how, _what, moment) => {
    await start(awayAt(moment, how), how === 'deafen')
    await warmUp()
    await deliver('m1')
    await expectOnce()
  })

  test.each(hows.filter((how) => how !== 'deafen'))(
    '%s: other replicas leave the lanes to those who were cut off with them',
    patience,
    async (how) => {
      const pass = awayAt('after:effect', how)
      for (let replicas = 0; replicas < 3; replicas += 1) await start(pass)
      await warmUp()
      await deliver('m1')
      await expectOnce()
    },
  )

  test(
    'a result that could not be stored is logged with its turn when the time to stop is over',
    patience,
    async () => {
      await start(awayAt('after:effect', 'cut', 60_000))
      await warmUp()
      await deliver('m1')
      await expect.poll(() => effects.length, { timeout: 10_000 }).toBe(1)
      await gateways[0]?.stop(500)
      gateways = []
      const [line] = logged.filter(({ event }) => event === 'result_given_up')
      expect(line?.facts).toMatchObject({ reason: 'step', state: 'finished', turn: expect.any(String) })
    },
  )
}
