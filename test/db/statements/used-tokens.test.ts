// Tokens that count once: one of many who show the same one at the same time is the first, and what has expired is forgotten.
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { createSweepStore, defaultRetention } from '../../../src/db/retention.ts'
import { createUsedTokenStore } from '../../../src/db/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const left = nameStatement('test_used', 'select tenant, key from used_tokens order by tenant, key')
const later = () => Date.now() / 1000 + 300

describeOnDatabase('tokens that count once', (database) => {
  test('are used by one of twenty who come at the same time, in each tenant', async () => {
    const used = createUsedTokenStore(database(), 'default')
    const first = await Promise.all(Array.from({ length: 20 }, () => used.use('key', later())))
    expect(first.filter(Boolean)).toHaveLength(1)
    expect(await used.use('key', later())).toBe(false)
    expect(await used.use('other', later())).toBe(true)
    expect(await createUsedTokenStore(database(), 'second').use('key', later())).toBe(true)
  })

  test('are forgotten when they have expired, by their own tenant', async () => {
    const used = createUsedTokenStore(database(), 'default')
    await used.use('old', Date.now() / 1000 - 300)
    await used.use('young', later())
    await createUsedTokenStore(database(), 'second').use('old', Date.now() / 1000 - 300)
    await createSweepStore(database(), 'default').sweep(defaultRetention)
    expect(await database().query(left, [])).toEqual([
      { tenant: 'default', key: 'young' },
      { tenant: 'second', key: 'old' },
    ])
  })
})
