// Answers are counted once for all, also by the first ones, which find no row to lock.

import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countReplyAgainstLimits } from '../../../src/db/reply-limits.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

describeOnDatabase('limits of answers', (database) => {
  test('let no more through than they say when two replicas count for the first time at once', async () => {
    const limits = [
      { per: 'sender' as const, count: 1, perMs: 60_000, scope: 'sender', share: 'own' as const, group: null },
    ]
    const ask = () => ({
      connection: 'loopback/default',
      agent: 'demo',
      subject: null,
      traceId: 'trace',
      isAdmitted: false,
      limits,
      inboxId: crypto.randomUUID(),
      conversationId: crypto.randomUUID(),
    })
    let other: Promise<readonly unknown[]> = Promise.resolve([])
    await database().transaction(async (sql) => {
      const one = openTenantDb({ ...database(), ...sql }, 'default')
      expect(await countReplyAgainstLimits(one, ask())).toEqual([])
      other = countReplyAgainstLimits(openTenantDb(database(), 'default'), ask())
      // It has looked, and waits for what is not committed yet.
      await delay(300)
    })
    expect(await other).toMatchObject([{ per: 'sender' }])
  })
})
