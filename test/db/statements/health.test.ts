// Vital signs: exactly the books, whatever happens to a message, and read by index however long the tables are.

import { expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { type HealthSample, sampleHealth } from '../../../src/db/health.ts'
import { readHealthSample } from '../../../src/db/health-sample.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { listMessageCountsByConnection } from '../../../src/db/receipts.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { claimTurns } from '../../../src/db/turns.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const keep = { contentDays: 9_999, refusedHours: 99_999, receiptDays: 9_999, auditDays: 9_999, batch: 10 }
const run = (database: Database, text: string) => database.query(nameStatement('test_change', text), [])

/** The books as the signs have them, in the words of the view. */
function booksOf(signs: readonly HealthSample[], connection: string): Record<string, number> {
  const count = (...states: string[]) =>
    signs
      .filter((sign) => sign.kind === 'message' && sign.connection === connection && states.includes(sign.state))
      .reduce((sum, sign) => sum + sign.current, 0)
  const [answered, merged, refused, dead] = [count('answered'), count('merged'), count('refused'), count('dead')]
  const inFlight = count('queued', 'in_turn')
  const received = answered + merged + refused + dead + inFlight
  return { received, answered, merged, refused, dead, inFlight, ignored: count('ignored') }
}

describeOnDatabase('vital signs', (database) => {
  const read = () => sampleHealth(openTenantDb(database(), 'default'), keep)
  const accept = (messageId: string, changes: Parameters<typeof aDraft>[0] = {}) =>
    storeInboxDrafts(openTenantDb(database()), [
      aDraft({ messageId, dedupe: messageId, content: messageId, ...changes }),
    ])
  const expectTheBooks = async () => {
    const lines = await listMessageCountsByConnection(openTenantDb(database(), 'default'))
    const signs = await read()
    for (const { tenant: _tenant, duplicates: _counted, connection, ...line } of lines)
      expect(booksOf(signs, connection)).toEqual(line)
    return lines
  }

  test('agree with the books after every kind of change, folded or not', async () => {
    for (const id of ['m1', 'm2', 'm3', 'm4', 'm5']) await accept(id)
    await accept('i1', { state: 'ignored', reason: 'nothing_said' })
    await accept('d1', { state: 'dead', reason: 'unreadable' })
    await accept('o1', { connection: 'other' })
    await accept('m1')
    await expectTheBooks()
    const end = (id: string, state: string, reason = 'null') =>
      run(
        database(),
        `update inbox set state = '${state}', reason = ${reason}, ended_at = now() where message_id = '${id}'`,
      )
    await end('m1', 'answered')
    await end('m2', 'merged')
    await end('m3', 'refused', "'not_paired'")
    await end('m4', 'dead', "'agent_failed'")
    await createSweepStore(database(), 'default').sweep(keep)
    await expectTheBooks()
    // The second chance, a change of mind after the end, and retention.
    await run(database(), `update inbox set state = 'queued', reason = null, ended_at = null where message_id = 'm4'`)
    await run(database(), `update inbox set state = 'ignored', reason = 'redriven' where message_id = 'd1'`)
    await expectTheBooks()
    await run(database(), `delete from inbox where message_id = 'm1'`)
    await createSweepStore(database(), 'default').sweep(keep)
    const lines = await expectTheBooks()
    expect(lines).toMatchObject([
      { connection: 'other', received: 1 },
      { connection: 'test', received: 4, answered: 0, merged: 1, refused: 1, dead: 0, inFlight: 2, ignored: 2 },
    ])
  })

  test('remember every end, also when its row is gone', async () => {
    await accept('m1')
    await run(database(), `update inbox set state = 'answered', ended_at = now()`)
    await createSweepStore(database(), 'default').sweep(keep)
    await run(database(), 'delete from inbox')
    const answered = (await read()).find((sign) => sign.state === 'answered')
    expect(answered).toMatchObject({ current: 0, total: 1 })
    expect(answered?.lastMs).toBeGreaterThanOrEqual(0)
  })

  test('fold changes away without losing one, also when two fold at once', async () => {
    for (let index = 0; index < 20; index += 1) await accept(`m${index}`)
    await run(database(), `update inbox set state = 'answered', ended_at = now()`)
    await Promise.all([1, 2, 3].map(() => createSweepStore(database(), 'default').sweep(keep)))
    const [left] = await database().query<{ left: number }>(
      nameStatement('test_left', 'select count(*)::int as left from counter_changes'),
      [],
    )
    expect(left).toEqual({ left: 0 })
    expect((await read()).find((sign) => sign.state === 'answered')).toMatchObject({ current: 20, total: 20 })
  })

  test('tell how long the oldest waits, what is held, and whose lease ran out', async () => {
    await accept('m1', { candidates: ['c1'], newThreadKey: 'c1' })
    await accept('m2', { candidates: ['c2'], newThreadKey: 'c2' })
    await accept('m3', { candidates: ['c3'], newThreadKey: 'c3' })
    await run(database(), `update inbox set received_at = now() - interval '1 hour' where message_id = 'm1'`)
    await claimTurns(openTenantDb(database(), { holder: 'me', leaseMs: 60_000, tenant: 'default' }), 1)
    await claimTurns(openTenantDb(database(), { holder: 'gone', leaseMs: -1_000, tenant: 'default' }), 1)
    const signs = await read()
    const lanes = signs.filter((sign) => sign.kind === 'lane').map((sign) => [sign.state, sign.current])
    expect(lanes.toSorted()).toEqual([
      ['due', 1],
      ['expired', 1],
      ['held', 1],
    ])
    const waiting = signs.find((sign) => sign.kind === 'message' && sign.state === 'queued')
    expect(waiting?.oldestMs).toBeGreaterThanOrEqual(3_600_000)
    expect(waiting?.lastMs).toBeLessThan(3_600_000)
  })

  test('count calls, open and ended, and timers that are late', async () => {
    const call = async (state: string, settled: string) => {
      await run(
        database(),
        `insert into outbox (id, tenant, connection, origin, ordinal, order_key, "primary", purpose, v, call, client_id,
           state, trace_id)
         values (gen_random_uuid(), 'default', 'test', gen_random_uuid(), 0, 'k', true, 'reply', 1, '{}', 'c', 'queued', 't')`,
      )
      await run(database(), `update outbox set state = '${state}', settled_at = ${settled} where state = 'queued'`)
    }
    await call('delivered', 'now()')
    await call('unknown', 'now()')
    await call('unknown', 'null')
    await run(
      database(),
      `insert into timers (id, tenant, conversation_id, origin, name, kind, due_at)
       values (gen_random_uuid(), 'default', gen_random_uuid(), gen_random_uuid(), 'n', 'timer', now() - interval '1 minute')`,
    )
    const signs = await read()
    const calls = signs.filter((sign) => sign.kind === 'call').map((sign) => [sign.state, sign.current, sign.total])
    expect(calls.toSorted()).toEqual([
      ['delivered', 1, 1],
      ['reconciling', 1, 0],
      ['unknown', 1, 1],
    ])
    expect(signs.find((sign) => sign.kind === 'timer')).toMatchObject({ current: 1 })
    expect(signs.find((sign) => sign.kind === 'timer')?.oldestMs).toBeGreaterThanOrEqual(60_000)
  })

  test('count drift that was corrected', async () => {
    await accept('m1')
    await run(database(), 'update lanes set pending = 3')
    await createSweepStore(database(), 'default').correctDrift(10)
    expect((await read()).filter((sign) => sign.kind === 'drift')).toMatchObject([
      { connection: 'test', state: 'lane', reason: 'swept', total: 1 },
    ])
  })

  test('come from partial indexes on a server, never from a whole table', async () => {
    const explained = nameStatement(
      'test_explain',
      `explain (format json) ${readHealthSample.text.replaceAll('$1', "'default'").replaceAll(/\$[23]/g, '90')}`,
    )
    const [plan] = await database().observing.query<{ 'QUERY PLAN': unknown }>(explained, [])
    const text = JSON.stringify(plan)
    const scanned = [...text.matchAll(/"Node Type":"Seq Scan"[^{}]*?"Relation Name":"(\w+)"/g)].map((match) => match[1])
    expect(scanned).toEqual(['counter_changes'])
    const used = new Set([...text.matchAll(/"Index Name":"(\w+)"/g)].map((match) => match[1]))
    expect([...used].toSorted()).toEqual([
      'counters_kind_tenant_connection_state_reason_pk',
      'inbox_content',
      'inbox_emptied',
      'inbox_in_flight',
      'lanes_due',
      'outbox_open',
      'outbox_settled',
      'pairings_group_slot',
      'send_lanes_due',
      'stranger_usage_tenant_connection_day_kind_pk',

      'timers_due',
      'turns_ended',
      'turns_suspected',
    ])
  })
})
