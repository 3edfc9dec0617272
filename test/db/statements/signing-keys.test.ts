// Keys of handles: one for all replicas, an hour of grace after a change, and a line that says who changed it.
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { createSigningKeyStore } from '../../../src/db/signing-keys.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { newUuid } from '../../doubles/uploads.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const later = (span: string) =>
  nameStatement('test_later', `update signing_keys set retired_at = retired_at - interval '${span}'`)
const stored = nameStatement('test_stored', 'select secret from signing_keys')
const moved = nameStatement('test_moved', 'update signing_keys set id = $1::uuid where id = $2::uuid')
const audited = nameStatement('test_audited', 'select action, actor from audit_log')

describeOnDatabase('signing keys', (database) => {
  const keys = (tenant = 'default') =>
    createSigningKeyStore(database(), {
      tenant,
      newId: newUuid,
      seal: createSeal(async () => [new Uint8Array(32).fill(7)]),
      fillRandom: (bytes) => void crypto.getRandomValues(bytes),
    })

  test('are made once, whichever replica asks, and differ by tenant', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => keys().current()))
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    expect(all[0]?.secret).toHaveLength(32)
    expect(await keys().find(all[0]?.id ?? '')).toEqual(all[0])
    expect(await keys('another').find(all[0]?.id ?? '')).toBeUndefined()
    expect((await keys('another').current()).secret).not.toEqual(all[0]?.secret)
  })

  test('are sealed at rest: neither the row nor a copy of it under another name or tenant tells one', async () => {
    const { id, secret } = await keys().current()
    const [row] = await database().query<{ secret: string }>(stored, [])
    expect(row?.secret).toMatch(/^v1\.[0-9a-f]{8}\./)
    expect(row?.secret).not.toContain(Buffer.from(secret).toString('hex'))
    await database().query(moved, [newUuid(), id])
    await expect(keys().current()).rejects.toThrow('PARLEY_SEAL_KEY')
  })

  test('are honoured for an hour after they were replaced', async () => {
    const old = await keys().current()
    await keys().rotate('operator:desk')
    const fresh = await keys().current()
    expect(fresh.secret).not.toEqual(old.secret)
    await database().query(later('59 minutes'), [])
    expect(await keys().find(old.id)).toEqual(old)
    await database().query(later('2 minutes'), [])
    expect(await keys().find(old.id)).toBeUndefined()
    expect(await keys().find(fresh.id)).toEqual(fresh)
    expect(await database().query(audited, [])).toEqual([{ action: 'signing_key.rotate', actor: 'operator:desk' }])
  })

  test('stay one when several are made at once', async () => {
    await keys().current()
    await Promise.all([1, 2, 3].map(() => keys().rotate('operator')))
    const [first, second] = await Promise.all([keys().current(), keys().current()])
    expect(first).toEqual(second)
  })

  test('are not looked for under a name that is none', async () => {
    expect(await keys().find("x' or true --")).toBeUndefined()
  })
})
