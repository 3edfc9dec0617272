// Retention and drift: content goes, receipts and their keys stay; a lane that miscounts is corrected and reported.

import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { sampleHealth } from '../../../src/db/health.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { createSweepStore, sweepExpiredDataOnce } from '../../../src/db/retention.ts'
import { healthMetrics } from '../../../src/observability/health-metrics.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const policy = { contentDays: 90, refusedHours: 24, receiptDays: 120, auditDays: 400, batch: 10 }
const age = (days: number) =>
  nameStatement('test_age', `update inbox set state = 'answered', ended_at = now() - interval '${days} days'`)
const kept = nameStatement('test_kept', 'select message is null as forgotten, raw is null as bare from inbox')

describeOnDatabase('the sweeper', (database) => {
  const accept = () => storeInboxDrafts(openTenantDb(database()), [aDraft()])
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
    expect(await database().query(nameStatement('test_counts', 'select 1 from duplicates'), [])).toEqual([])
  })

  test('forgets with whom a thread talked once nobody can mean it any more', async () => {
    const threads = `insert into thread_agents (tenant, connection, external_id, agent, updated_at)
      select 'default', 'test', name, 'demo', now() - days * interval '1 day' from (values ('old', 121), ('new', 119)) t(name, days)`
    await database().query(nameStatement('test_threads', threads), [])
    await sweep()
    const left = await database().query(nameStatement('test_left', 'select external_id as name from thread_agents'), [])
    expect(left).toEqual([{ name: 'new' }])
  })

  /** So many messages that ended so many days ago. */
  const pile = async (count: number, days: number) => {
    const drafts = Array.from({ length: count }, (_, n) => {
      const own = `pile-${n}`
      return aDraft({ messageId: own, dedupe: own, content: own, state: 'ignored', reason: 'nothing_said' })
    })
    for (let at = 0; at < count; at += 500) await storeInboxDrafts(openTenantDb(database()), drafts.slice(at, at + 500))
    await database().query(age(days), [])
  }
  const withContent = async () => {
    const asked = `select count(*)::int as count from inbox where ended_at is not null and message is not null`
    return (await database().query<{ count: number }>(nameStatement('test_content', asked), []))[0]?.count
  }
  const overdue = async () => {
    const signs = await sampleHealth(openTenantDb(database(), 'default'), policy)
    const family = healthMetrics(signs, []).find(({ name }) => name === 'parley_oldest_overdue_erasure_seconds')
    return family?.samples.find(({ labels }) => labels['kept'] === 'content')?.value
  }
  const usual = { ...policy, batch: 500 }

  test('forgets 5 000 overdue messages in one run, and the metric tells before and after', async () => {
    await pile(5_000, 91)
    expect(await overdue()).toBeGreaterThanOrEqual(86_400)
    await createSweepStore(database(), 'default').sweep(usual)
    expect(await withContent()).toBe(0)
    expect(await overdue()).toBe(0)
  })

  test('of two replicas sweeps each its own part, and neither waits', async () => {
    await pile(5_000, 91)
    const both = await Promise.all([1, 2].map(() => createSweepStore(database(), 'default').sweep(usual)))
    expect(both.reduce((sum, each) => sum + each, 0)).toBe(5_000)
    expect(Math.min(...both)).toBeGreaterThan(0)
    expect(await withContent()).toBe(0)
  })

  test('is passed by what another sweeper holds, instead of waiting for it', async () => {
    await pile(20, 91)
    await database().transaction(async (other) => {
      await other.query(
        nameStatement('test_hold', `select id from inbox where ended_at is not null limit 7 for update`),
        [],
      )
      expect(await createSweepStore(database(), 'default').sweep(usual)).toBe(13)
    })
    expect(await createSweepStore(database(), 'default').sweep(usual)).toBe(7)
  })

  test('stops when its share of the minute is over, and warns of what is left beyond its time', async () => {
    await pile(50, 91)
    const warnings: unknown[] = []
    const quiet = () => {}
    const pace = { budgetMs: 0, monotonicMs: () => 0, rest: async () => {} }
    await sweepExpiredDataOnce(
      createSweepStore(database(), 'default', pace),
      { ...policy, idleMs: 60_000 },
      { info: quiet, warn: (event, facts) => warnings.push({ event, facts }), error: quiet },
    )
    expect(await withContent()).toBe(40)
    expect(warnings).toEqual([
      { event: 'retention_behind', facts: { reason: 'content', ms: expect.closeTo(86_400_000, -6) } },
    ])
  })

  test('corrects a lane that miscounts, and says so as a fault', async () => {
    const errors: string[] = []
    const quiet = () => {}
    await accept()
    await database().query(nameStatement('test_drift', 'update lanes set pending = 0'), [])
    await sweepExpiredDataOnce(
      createSweepStore(database(), 'default'),
      { ...policy, idleMs: 60_000 },
      {
        info: quiet,
        warn: quiet,
        error: (event) => errors.push(event),
      },
    )
    expect(errors).toEqual(['lane_drift_corrected'])
    expect(await database().query(nameStatement('test_pending', 'select pending from lanes'), [])).toEqual([
      { pending: 1 },
    ])
  })

  test('finds a lane that miscounts behind any number of lanes that are merely busy', async () => {
    for (const messageId of ['m1', 'm2', 'm3'])
      await storeInboxDrafts(openTenantDb(database()), [aDraft({ messageId, candidates: [`thread-${messageId}`] })])
    await database().query(
      nameStatement('test_drift_one', 'update lanes set pending = 7 where ctid = (select max(ctid) from lanes)'),
      [],
    )
    expect(await createSweepStore(database(), 'default').correctDrift(1)).toBe(1)
  })
})
