// Retention and drift: content goes, receipts and their keys stay; a lane that miscounts is corrected and reported.
import { expect, test } from 'vitest'
import { sweepOnce } from '../../../src/inbound/retention.ts'
import { statement } from '../../../src/storage/database.ts'
import { createInboxStore } from '../../../src/storage/inbox-store.ts'
import { createSweepStore } from '../../../src/storage/sweep-store.ts'
import { aDraft } from '../../doubles/drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const policy = { contentDays: 90, receiptDays: 120, auditDays: 400, batch: 10 }
const age = (days: number) =>
  statement('test_age', `update inbox set state = 'answered', ended_at = now() - interval '${days} days'`)
const kept = statement('test_kept', 'select message is null as forgotten, raw is null as bare from inbox')

describeOnDatabase('the sweeper', (database) => {
  const accept = () => createInboxStore(database()).accept([aDraft()])
  const sweep = () => createSweepStore(database(), 'default').sweep(policy)

  test('forgets what was said after its time, and still knows a redelivery', async () => {
    await accept()
    await database().query(age(100), [])
    expect(await sweep()).toBe(1)
    expect(await database().query(kept, [])).toEqual([{ forgotten: true, bare: true }])
    expect(await accept()).toMatchObject([{ kind: 'duplicate' }])
  })

  test('leaves younger content alone', async () => {
    await accept()
    await database().query(age(10), [])
    expect(await sweep()).toBe(0)
  })

  test('forgets receipts last, and with them how often they came again', async () => {
    await accept()
    await accept()
    await database().query(age(121), [])
    await sweep()
    expect(await database().query(kept, [])).toEqual([])
    expect(await database().query(statement('test_counts', 'select 1 from duplicates'), [])).toEqual([])
  })

  test('forgets with whom a thread talked once nobody can mean it any more', async () => {
    const threads = `insert into thread_agents (tenant, connection, external_id, agent, updated_at)
      select 'default', 'test', name, 'demo', now() - days * interval '1 day' from (values ('old', 121), ('new', 119)) t(name, days)`
    await database().query(statement('test_threads', threads), [])
    await sweep()
    const left = await database().query(statement('test_left', 'select external_id as name from thread_agents'), [])
    expect(left).toEqual([{ name: 'new' }])
  })

  test('corrects a lane that miscounts, and says so as a fault', async () => {
    const errors: string[] = []
    const quiet = () => {}
    await accept()
    await database().query(statement('test_drift', 'update lanes set pending = 0'), [])
    await sweepOnce(
      createSweepStore(database(), 'default'),
      { ...policy, idleMs: 60_000 },
      {
        info: quiet,
        warn: quiet,
        error: (event) => errors.push(event),
      },
    )
    expect(errors).toEqual(['lane_drift_corrected'])
    expect(await database().query(statement('test_pending', 'select pending from lanes'), [])).toEqual([{ pending: 1 }])
  })
})
