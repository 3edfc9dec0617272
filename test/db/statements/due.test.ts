// When the next drain has something to do: what waits, what waits for later, and what somebody holds.

import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { readMsUntilNextDue } from '../../../src/db/turns.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const lane = nameStatement(
  'test_lane',
  `insert into lanes (conversation_id, tenant, connection, pending, next_at, lease_until)
   values ($1, 'default', 'x/y', $2, now() + $3::float8 * interval '1 s', now() + $4::float8 * interval '1 s')`,
)
const sends = nameStatement(
  'test_sends',
  `insert into send_lanes (tenant, connection, order_key, pending, next_at)
   values ('default', 'x/y', 'k', 1, now() + $1::float8 * interval '1 s')`,
)
const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`

describeOnDatabase('the next due time', (database) => {
  test('is unknown while nothing waits', async () => {
    await database().query(lane, [id(1), 0, 0, null])
    expect(await readMsUntilNextDue(openTenantDb(database(), 'default'))).toBeUndefined()
  })

  test('is the earliest of turns and sends, and now for what is overdue', async () => {
    await database().query(lane, [id(1), 1, 3_600, null])
    await database().query(sends, [600])
    const dueInMs = (await readMsUntilNextDue(openTenantDb(database(), 'default'))) ?? 0
    expect(dueInMs).toBeGreaterThan(500_000)
    expect(dueInMs).toBeLessThanOrEqual(600_000)
    await database().query(lane, [id(2), 1, -5, null])
    expect(await readMsUntilNextDue(openTenantDb(database(), 'default'))).toBe(0)
  })

  test('leaves out what somebody holds, and counts it again when the lease is over', async () => {
    await database().query(lane, [id(1), 1, -5, 60])
    expect(await readMsUntilNextDue(openTenantDb(database(), 'default'))).toBeUndefined()
    await database().query(lane, [id(2), 1, -5, -1])
    expect(await readMsUntilNextDue(openTenantDb(database(), 'default'))).toBe(0)
  })
})
