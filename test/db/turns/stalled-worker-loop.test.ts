// A loop that hangs is seen: by its silence, not by an error it never throws.
import { expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Database } from '../../../src/db/client.ts'
import { type Assembled, assembleGateway } from '../../../src/gateway/assemble.ts'
import { loopbackChannels } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }

/** The same database, whose claims of turns never return while `isHanging`. */
function hanging(database: Database, isHanging: () => boolean): Database {
  return {
    ...database,
    query: (asked, params) =>
      asked.name === 'claim_lanes' && isHanging() ? new Promise(() => {}) : database.query(asked, params),
  }
}

describeOnDatabase('a stalled pump', (database) => {
  test('grows old while its neighbours stay young', async () => {
    let now = 1_000
    let isStopping = false
    const runtime = { fetch, now: Date.now, monotonicMs: () => now, random: Math.random, log: quiet }
    const file = { agents: [defineAgent({ slug: 'demo', run: () => 'ok' })], turns: { pollMs: 5 } }
    const { gateway, stop, wake }: Assembled = assembleGateway(
      loadConfig({}, file, loopbackChannels),
      hanging(database(), () => !isStopping),
      runtime,
    )
    expect(gateway.workerAges()).toEqual({ turns: null, sends: null, timers: null })
    const deadline = new AbortController()
    void gateway.drain({ deadline: deadline.signal })
    await expect.poll(() => gateway.workerAges().sends, { timeout: 10_000 }).toBe(0)
    now += 60_000
    // Its neighbours go round by themselves and are young again at the new time.
    await expect.poll(gateway.workerAges, { timeout: 10_000 }).toEqual({ turns: 60_000, sends: 0, timers: 0 })
    isStopping = true
    deadline.abort()
    wake()
    stop()
  })
})
