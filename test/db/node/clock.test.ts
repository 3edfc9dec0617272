// The database's clock was ahead and went back: what was written meanwhile holds up nothing.
import postgres from 'postgres'
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import { startNode } from '../../../src/node.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { loopbackChannels, loopbackConnections } from '../../doubles/test-gateway.ts'
import { startVendorStub } from '../../doubles/vendor-stub.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

/** Within seconds; the slack is for machines that run other tests on the same cores. */
const seconds = { timeout: 15_000, interval: 50 }

describeOnPostgres('a clock that was two hours ahead', (adminUrl) => {
  let cleanUp: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanUp.toReversed()) await step()
    cleanUp = []
  })

  const scene = async () => {
    const clone = await takeDatabase(adminUrl)
    cleanUp.push(clone.drop)
    const vendor = await startVendorStub()
    cleanUp.push(vendor.close)
    const sql = postgres(clone.url, { max: 1, onnotice: () => {} })
    cleanUp.push(() => sql.end({ timeout: 1 }))
    const lines: { event: string; facts: LogFields }[] = []
    const write = (event: string, facts: LogFields = {}) => void lines.push({ event, facts })
    const limits = { connection: { count: 20, perMs: 1_000 }, conversation: { count: 5, perMs: 1_000 } }
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: clone.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' },
      {
        agents: [defineAgent({ slug: 'demo', run: () => 'ok' })],
        connections: loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 600, limits } }),
        turns: { leaseMs: 2_000, pollMs: 200 },
      },
      loopbackChannels,
    )
    const start = async () => {
      const gateway = await startNode({ config, migrationsFolder, log: { info: write, warn: write, error: write } })
      const stop = () => gateway.stop(1_000)
      cleanUp.push(stop)
      const say = async (id: string, conversation: string) => {
        const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text: id, conversation })
        const url = `${gateway.url}/hooks/loopback-client-id/loopback-client-id`
        expect((await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })).status).toBe(200)
      }
      return {
        say,
        async stop() {
          cleanUp = cleanUp.filter((step) => step !== stop)
          await stop()
        },
      }
    }
    const answers = () => vendor.messages.map(({ conversation }) => conversation).toSorted()
    return { sql, start, answers, lines }
  }
  type Scene = Awaited<ReturnType<typeof scene>>

  /** As all that was written in the last minutes would be. */
  const writeAhead = async ({ sql }: Scene) => {
    await sql`update connection_limits set spent_until = now() + interval '2 hours'`
    await sql`update lanes set next_at = now() + interval '2 hours'`
    await sql`update send_lanes set next_at = now() + interval '2 hours'`
    await sql`update storage_probes set seen_at = now() + interval '2 hours'`
  }
  const answerTwo = async ({ start, answers }: Scene) => {
    const gateway = await start()
    await gateway.say('m1', 'one')
    await gateway.say('m2', 'two')
    await expect.poll(answers, seconds).toEqual(['one', 'two'])
    return gateway
  }
  const wentBack = {
    event: 'clock_went_back',
    facts: { ms: expect.closeTo(7_200_000, -4), rows: expect.any(Number) },
  }

  test('goes on sending in conversations that were busy meanwhile, and says why', async () => {
    const on = await scene()
    const gateway = await answerTwo(on)
    await writeAhead(on)
    await gateway.say('m3', 'one')
    await gateway.say('m4', 'three')
    await expect.poll(on.answers, seconds).toEqual(['one', 'one', 'three', 'two'])
    expect(on.lines).toContainEqual(wentBack)
    expect(on.lines.filter(({ event }) => event === 'clock_went_back')).toHaveLength(1)
  })

  test('goes on after a restart', async () => {
    const on = await scene()
    await (await answerTwo(on)).stop()
    await writeAhead(on)
    const gateway = await on.start()
    await gateway.say('m3', 'one')
    await expect.poll(on.answers, seconds).toEqual(['one', 'one', 'two'])
    expect(on.lines).toContainEqual(wentBack)
  })

  test('frees within a lease what a dead process held', async () => {
    const on = await scene()
    const gateway = await answerTwo(on)
    await gateway.stop()
    await writeAhead(on)
    const dead = '00000000-0000-7000-8000-00000000dead'
    for (const table of ['lanes', 'send_lanes'])
      await on.sql.unsafe(`update ${table} set holder = '${dead}', lease_until = now() + interval '2 hours'`)
    const again = await on.start()
    await again.say('m3', 'one')
    await expect.poll(on.answers, seconds).toEqual(['one', 'one', 'two'])
  })

  test('leaves no bucket that is further ahead than it can be, however short it was', async () => {
    const on = await scene()
    const gateway = await answerTwo(on)
    // Too short to be seen by the look at the clock.
    await on.sql`update connection_limits set spent_until = now() + interval '2 hours'`
    await gateway.say('m3', 'one')
    await gateway.say('m4', 'two')
    await expect.poll(on.answers, seconds).toEqual(['one', 'one', 'two', 'two'])
    const [row] = await on.sql`
      select coalesce(max(extract(epoch from spent_until - now())), 0)::float8 as ahead from connection_limits`
    expect(row?.['ahead']).toBeLessThan(10)
  })
})
