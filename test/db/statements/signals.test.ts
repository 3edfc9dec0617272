// Waking between replicas: a NOTIFY says which pump has work, and its own sender leaves it alone.

import { expect, test } from 'vitest'
import { type Database, nameStatement, type WakingWork } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

/** What an older release says. */
const sayNothing = nameStatement('test_notify', `select pg_notify('parley_wake', '')`)
const say = nameStatement('test_notify', `select pg_notify('parley_wake', $1::text)`)

type Ear = { readonly database: Database; readonly heard: (WakingWork | 'anything')[] }

describeOnPostgres('waking', (adminUrl) => {
  test('tells the others which work there is, not the one who made it', async () => {
    const clone = await takeDatabase(adminUrl)
    const [sender, other] = [await listening(clone.url), await listening(clone.url)]
    // Each is woken once when its subscription stands.
    expect([sender.heard.splice(0), other.heard.splice(0)]).toEqual([['anything'], ['anything']])
    await storeInboxDrafts(openTenantDb(sender.database), [aDraft()])
    // Notifications keep their order: when the last one is there, so are those before it.
    await other.database.query(say, ['sends from-somebody-else'])
    await sender.database.query(sayNothing, [])
    await expect.poll(() => [...other.heard], { timeout: 15_000 }).toEqual(['turns', 'sends', 'anything'])
    await expect.poll(() => [...sender.heard], { timeout: 15_000 }).toEqual(['sends', 'anything'])
    await sender.database.close()
    await other.database.close()
    await clone.drop()
  })
})

async function listening(url: string): Promise<Ear> {
  const database = openPostgres({ url })
  const heard: Ear['heard'] = []
  await database.listen((work) => void heard.push(work ?? 'anything'))
  return { database, heard }
}
