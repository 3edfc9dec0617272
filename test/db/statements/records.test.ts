// Records of a connection: there until they are removed, listed in pages, gone with whom they are about.
import { expect, test } from 'vitest'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createEraseStore } from '../../../src/db/erase-person.ts'
import { createRecordStore } from '../../../src/db/records.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const rows = nameStatement('test_records', 'select key, subject from channel_records order by key')
const recordsOf = (database: Database, { tenant = 'default', connection = 'loop/main' } = {}) =>
  createRecordStore(database, { tenant, connection })

describeOnDatabase('records', (database) => {
  const records = () => recordsOf(database())

  test('are read by every replica of their connection, and by no other', async () => {
    await records().put('peer', 'a', { inbox: 'old' })
    await records().put('peer', 'a', { inbox: 'new' })
    expect(await records().get('peer', 'a')).toEqual({ inbox: 'new' })
    for (const other of [{ tenant: 'other' }, { connection: 'loop/other' }])
      expect(await recordsOf(database(), other).get('peer', 'a')).toBeUndefined()
    expect(await records().get('other', 'a')).toBeUndefined()
  })

  test('that are asked for meanwhile are read by one statement, and as they are by then', async () => {
    const names: string[] = []
    const asking = recordsOf(
      watchedDatabase(database(), async (name) => {
        if (name.startsWith('before:get')) names.push(name.slice('before:'.length))
      }),
    )
    for (const key of ['a', 'b', 'c']) await records().put('peer', key, { key })
    const first = asking.get('peer', 'a')
    const others = ['b', 'c', 'nobody', 'b'].map((key) => asking.get('peer', key))
    expect(await first).toEqual({ key: 'a' })
    expect(await Promise.all(others)).toEqual([{ key: 'b' }, { key: 'c' }, undefined, { key: 'b' }])
    expect(names).toEqual(['get_record', 'get_records'])
    await records().put('peer', 'b', { key: 'new' })
    expect(await Promise.all([asking.get('peer', 'b'), asking.get('other', 'b')])).toEqual([{ key: 'new' }, undefined])
  })

  test('that are asked for together with a key no database can read are read all the same', async () => {
    await records().put('peer', 'a', { key: 'a' })
    const asking = records()
    const asked = ['nobody', '\u0000', 'a'].map((key) => asking.get('peer', key))
    const [nobody, broken, a] = await Promise.allSettled(asked)
    expect([nobody, a].map((each) => each?.status === 'fulfilled' && each.value)).toEqual([undefined, { key: 'a' }])
    expect(broken?.status).toBe('rejected')
  })

  test('that are put once stay as the first of many wrote them', async () => {
    const put = (value: number) => records().put('peer', 'a', { value }, { isOnce: true })
    const done = await Promise.all([1, 2, 3, 4].map(put))
    expect(done.filter(Boolean)).toHaveLength(1)
    expect(await records().get('peer', 'a')).toEqual({ value: done.indexOf(true) + 1 })
  })

  test('are listed and counted by family and agent, page after page, with the time they were first put', async () => {
    for (const key of ['c', 'a', 'b']) await records().put('follower', key, { key }, { agent: 'demo' })
    await records().put('follower', 'd', {}, { agent: 'other' })
    await records().put('peer', 'e', {})
    const first = await records().list('follower', { limit: 2, agent: 'demo' })
    const rest = await records().list('follower', { limit: 2, agent: 'demo', after: first.at(-1)?.key ?? '' })
    expect([...first, ...rest].map(({ key, value }) => [key, value])).toEqual([
      ['a', { key: 'a' }],
      ['b', { key: 'b' }],
      ['c', { key: 'c' }],
    ])
    await records().put('follower', 'a', { key: 'again' }, { agent: 'demo' })
    expect((await records().list('follower', { limit: 1 }))[0]).toEqual({
      key: 'a',
      value: { key: 'again' },
      at: first[0]?.at,
    })
    expect([await records().count('follower'), await records().count('follower', { agent: 'demo' })]).toEqual([4, 3])
    expect(await records().list('follower', { limit: 5_000 })).toHaveLength(4)
  })

  test('are removed once', async () => {
    await records().put('peer', 'a', {})
    expect([await records().remove('peer', 'a'), await records().remove('peer', 'a')]).toEqual([true, false])
    expect(await records().get('peer', 'a')).toBeUndefined()
  })

  test.each([
    ['no key', 'peer', '', {}],
    ['a key that no index takes', 'peer', 'k'.repeat(2_001), {}],
    ['a long family', 'f'.repeat(101), 'a', {}],
    ['a large value', 'peer', 'a', { text: 'x'.repeat(70_000) }],
  ])('with %s are refused with a remedy', async (_what, family, key, value) => {
    await expect(records().put(family, key, value)).rejects.toMatchObject({ code: 'storage_refused_row' })
    expect(await database().query(rows, [])).toEqual([])
  })

  test('with the longest key there may be are kept', async () => {
    const key = `https://peer.test/${Array.from({ length: 1_982 }, (_, at) => String.fromCodePoint(97 + ((at * 7919) % 26))).join('')}`
    expect(await records().put('peer', key, {})).toBe(true)
    expect(await records().get('peer', key)).toEqual({})
  })

  test('about somebody are forgotten with them', async () => {
    await records().put('peer', 'a', {}, { subject: 'chat:1' })
    await records().put('peer', 'b', {}, { subject: 'chat:2' })
    expect(await createEraseStore(database(), 'default').count(['chat:1'])).toMatchObject({ records: 1 })
    expect(await createEraseStore(database(), 'default').eraseWritten(['chat:1'])).toMatchObject({ records: 1 })
    expect(await database().query(rows, [])).toEqual([{ key: 'b', subject: 'chat:2' }])
  })
})
