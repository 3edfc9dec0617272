// Notes of a connection: for one taker, until they end, sealed where they are secret, gone with whom they are about.
import { expect, test } from 'vitest'
import type { TtlEntry } from '../../../src/contract/channel.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createEraseStore } from '../../../src/db/erase-person.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { createTtlStore } from '../../../src/db/ttl-store.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const rows = nameStatement('test_notes', 'select key, value::text as value from ttl_entries order by key')
const seal = createSeal(async () => [new Uint8Array(32).fill(1)])
const notesOf = (database: Database, { tenant = 'default', connection = 'loop/main' } = {}) =>
  createTtlStore(database, { tenant, connection, seal })
const note = (changes: Partial<TtlEntry> = {}): TtlEntry => ({
  family: 'place',
  key: 'a',
  value: { said: 'canary' },
  lifeMs: 60_000,
  ...changes,
})

describeOnDatabase('notes', (database) => {
  test('are read by every replica of their connection, and by no other', async () => {
    await notesOf(database()).keep(note())
    await notesOf(database()).keep(note({ value: { said: 'newer' } }))
    expect(await notesOf(database()).read('place', 'a')).toEqual({ said: 'newer' })
    for (const other of [{ tenant: 'other' }, { connection: 'loop/other' }])
      expect(await notesOf(database(), other).read('place', 'a')).toBeUndefined()
    expect(await notesOf(database()).read('other', 'a')).toBeUndefined()
  })

  test('are taken by one of many who ask at the same moment', async () => {
    await notesOf(database()).keep(note())
    const taken = await Promise.all(Array.from({ length: 8 }, () => notesOf(database()).take('place', 'a')))
    expect(taken.filter((value) => value !== undefined)).toEqual([{ said: 'canary' }])
  })

  test('that are kept once are kept by the first, until they end', async () => {
    const keep = (lifeMs: number) => notesOf(database()).keep(note({ isOnce: true, lifeMs }))
    expect([await keep(-1), await keep(60_000), await keep(60_000)]).toEqual([true, true, false])
  })

  test('that have ended are as if they were not there, and are swept', async () => {
    await notesOf(database()).keep(note({ lifeMs: -1 }))
    await notesOf(database()).keep(note({ key: 'b' }))
    expect([await notesOf(database()).read('place', 'a'), await notesOf(database()).take('place', 'c')]).toEqual([
      undefined,
      undefined,
    ])
    await createSweepStore(database(), 'default').sweep({
      contentDays: 90,
      refusedHours: 24,
      receiptDays: 120,
      auditDays: 400,
      batch: 10,
    })
    expect(await database().query(rows, [])).toMatchObject([{ key: 'b' }])
  })

  test('are not kept beyond how many there may be; those that have ended do not count', async () => {
    const keep = (key: string, lifeMs = 60_000) => notesOf(database()).keep(note({ key, lifeMs, atMost: 2 }))
    expect([await keep('old', -1), await keep('a'), await keep('b'), await keep('c')]).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  test('that are secret are unreadable in their rows, and open in their own place only', async () => {
    await notesOf(database()).keep(note({ isSecret: true }))
    expect(JSON.stringify(await database().query(rows, []))).not.toContain('canary')
    expect(await notesOf(database()).read('place', 'a')).toEqual({ said: 'canary' })
    await database().query(nameStatement('test_move', `update ttl_entries set key = 'b'`), [])
    await expect(notesOf(database()).read('place', 'b')).rejects.toThrow(/do not open/)
  })

  test('about somebody are forgotten with them', async () => {
    await notesOf(database()).keep(note({ subject: 'chat:1' }))
    await notesOf(database()).keep(note({ key: 'b', subject: 'chat:2' }))
    await createEraseStore(database(), 'default').eraseWritten(['chat:1'])
    expect(await database().query(rows, [])).toMatchObject([{ key: 'b' }])
  })
})
