// The database kit itself: templates are prepared once, clones are separate, names are safe.
import postgres from 'postgres'
import { expect, test } from 'vitest'
import {
  createPostgresDatabase,
  describeOnPostgres,
  dropPostgresDatabase,
  prepareTemplate,
} from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe(text)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

describeOnPostgres('test databases', (adminUrl) => {
  test('five workers at once prepare a template once, and each gets its own clone', async () => {
    let prepared = 0
    const prepare = async (url: string) => {
      prepared += 1
      await query(url, 'create table note (text text)')
    }
    const clones = await Promise.all(
      Array.from({ length: 5 }, async () => {
        await prepareTemplate(adminUrl, 'kit_template', prepare)
        return createPostgresDatabase(adminUrl, 'kit_template')
      }),
    )
    expect(prepared).toBe(1)
    await query(clones[0]?.url ?? '', "insert into note values ('mine')")
    const counts = await Promise.all(clones.map(({ url }) => query(url, 'select count(*)::int as n from note')))
    expect(counts.map(([row]) => row?.['n'])).toEqual([1, 0, 0, 0, 0])
    for (const clone of clones) await clone.drop()
    const left = await query(adminUrl, "select datname from pg_database where datname like 'test\\_%'")
    for (const clone of clones) expect(left).not.toContainEqual({ datname: clone.name })
  })

  test('a preparation that failed is done again', async () => {
    const failing = prepareTemplate(adminUrl, 'kit_broken', () => Promise.reject(new Error('migration broke')))
    await expect(failing).rejects.toThrow('migration broke')
    await prepareTemplate(adminUrl, 'kit_broken', async (url) => void (await query(url, 'create table note ()')))
    const clone = await createPostgresDatabase(adminUrl, 'kit_broken')
    expect(await query(clone.url, 'select * from note')).toEqual([])
    await clone.drop()
  })

  test('dropping a database ends its connections', async () => {
    const database = await createPostgresDatabase(adminUrl)
    const sql = postgres(database.url, { max: 1, onnotice: () => {} })
    await sql`select 1`
    await database.drop()
    await expect(sql`select 1`).rejects.toThrow()
    await sql.end({ timeout: 1 })
  })

  test('a database that was used is given again: empty, with nobody connected, and not before it was given back', async () => {
    const first = await takeDatabase(adminUrl)
    const beside = await takeDatabase(adminUrl)
    expect(beside.name).not.toBe(first.name)
    await query(first.url, "insert into connection_limits (tenant, connection, scope) values ('a', 'b', 'c')")
    const left = postgres(first.url, { max: 1, onnotice: () => {} })
    const [backend] = await left`select pg_backend_pid() as pid`
    await first.drop()
    const alive = await query(adminUrl, `select pid from pg_stat_activity where pid = ${backend?.['pid']}`)
    expect(alive).toEqual([])
    await left.end({ timeout: 1 })
    const again = await takeDatabase(adminUrl)
    expect(again.name).toBe(first.name)
    expect(await query(again.url, 'select * from connection_limits')).toEqual([])
    await again.drop()
    await beside.drop()
  })

  test.each(['create index on inbox (message_id)', 'drop table timers'])(
    'a database that is built differently afterwards is not given again: %s',
    async (change) => {
      const taken = await takeDatabase(adminUrl)
      await query(taken.url, change)
      await taken.drop()
      const next = await takeDatabase(adminUrl)
      expect(next.name).not.toBe(taken.name)
      await next.drop()
    },
  )

  test('rejects a name that would need quoting', async () => {
    await expect(dropPostgresDatabase(adminUrl, 'x"; drop table y; --')).rejects.toThrow('not a database name')
  })
})
