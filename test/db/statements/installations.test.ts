// Accounts an app was installed into: found by their account alone, sealed at rest, erased when they end.
import { expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createInstallationStore } from '../../../src/db/installations.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const rows = nameStatement('test_rows', 'select id, channel, status, sealed_credentials::text as kept from connections')
const swap = nameStatement(
  'test_swap',
  `update connections c set sealed_credentials = (select o.sealed_credentials from connections o where o.id <> c.id limit 1)`,
)
const key = (fill: number) => new Uint8Array(32).fill(fill)
const store = (database: Database, keys: readonly Uint8Array<ArrayBuffer>[] = [key(1)], tenant = 'default') => {
  const seal = createSeal(async () => keys)
  return createInstallationStore(database, { tenant, connection: 'loop/main', agent: 'demo', seal })
}
const installed = (account: string, token: string) =>
  ({ account, credentials: { token }, facts: { name: account }, status: 'active' }) as const

describeOnDatabase('installations', (database) => {
  test('are found by their account, and nothing of their credentials is in the rows', async () => {
    await store(database()).save(installed('T1', 'canary-one'))
    await store(database()).save(installed('T2', 'canary-two'))
    expect(await store(database()).find('T1')).toEqual(installed('T1', 'canary-one'))
    expect(await store(database()).list()).toEqual([installed('T1', 'canary-one'), installed('T2', 'canary-two')])
    expect(await store(database()).find('T3')).toBeUndefined()
    expect(await store(database(), [key(1)], 'other').find('T1')).toBeUndefined()
    expect(JSON.stringify(await database().query(rows, []))).not.toContain('canary')
  })

  test('are replaced by a newer save, and erased when they end', async () => {
    await store(database()).save(installed('T1', 'old'))
    await store(database()).save(installed('T1', 'new'))
    expect((await store(database()).find('T1'))?.credentials).toEqual({ token: 'new' })
    await store(database()).end('T1', 'removed', 'app_uninstalled')
    expect(await store(database(), []).find('T1')).toEqual({
      account: 'T1',
      status: 'removed',
      credentials: {},
      facts: { name: 'T1' },
    })
    expect(await database().query(rows, [])).toMatchObject([
      { id: 'loop/main/T1', channel: 'loop', status: 'removed', kept: expect.stringContaining('app_uninstalled') },
    ])
    await store(database()).save(installed('T1', 'again'))
    expect((await store(database()).find('T1'))?.status).toBe('active')
  })

  test('open with an older key beside the new one, and say which key is missing without it', async () => {
    await store(database(), [key(1)]).save(installed('T1', 'secret'))
    expect(await store(database(), [key(2), key(1)]).find('T1')).toEqual(installed('T1', 'secret'))
    await expect(store(database(), [key(2)]).find('T1')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/add the key [0-9a-f]{8} .*PARLEY_SEAL_KEY/),
    })
  })

  test('are never stored without a key', async () => {
    await expect(store(database(), []).save(installed('T1', 'secret'))).rejects.toMatchObject({
      code: 'config_invalid',
    })
    expect(await database().query(rows, [])).toEqual([])
  })

  test('do not open under another account', async () => {
    await store(database()).save(installed('T1', 'one'))
    await store(database()).save(installed('T2', 'two'))
    await database().query(swap, [])
    await expect(store(database()).find('T1')).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
