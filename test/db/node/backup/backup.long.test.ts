// A backup is one moment of everything, and restored it is that moment again: rows, sequences, files, on a server of one's own.

import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import postgres from 'postgres'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeInboxDrafts } from '../../../../src/db/inbox.ts'
import { openPostgres } from '../../../../src/db/postgres.ts'
import { listMessageCountsByConnection } from '../../../../src/db/receipts.ts'
import { readManifest } from '../../../../src/node/backup/read-archive.ts'
import {
  type BackupScene,
  backUp,
  createBackupScene,
  type Place,
  readTables,
  restore,
} from '../../../doubles/backup-setup.ts'
import { aDraft } from '../../../doubles/inbox-drafts.ts'
import { migrationsFolder } from '../../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../../setup/databases.ts'
import { openTenantDb } from '../../../setup/tenant-db.ts'

/** Text that a careless format would break: tabs, line ends, backslashes, quotes, scripts, a value that reads like an end mark. */
const awkward = 'tab\t line\nreturn\r back\\slash \\. \\N "quoted" \'single\' ελληνικά 日本語 😀'

async function withSql<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function accept(place: Place, count: number, text = 'hello'): Promise<void> {
  const database = openPostgres({ url: place.url, maxConnections: 1 })
  const drafts = Array.from({ length: count }, () => {
    const id = randomUUID()
    return aDraft({ id, messageId: id, dedupe: id, content: id, message: { note: text } })
  })
  for (let at = 0; at < count; at += 50) await storeInboxDrafts(openTenantDb(database), drafts.slice(at, at + 50))
  await database.close()
}

async function books(place: Place): Promise<unknown> {
  const database = openPostgres({ url: place.url, maxConnections: 1 })
  const lines = await listMessageCountsByConnection(openTenantDb(database, 'default'))
  await database.close()
  return lines
}

/** A file as the gateway stores it: its bytes in the folder, its row beside the others. */
async function addFile(place: Place, bytes: Buffer, path = `agent-inputs/${randomUUID()}.bin`): Promise<string> {
  const target = join(place.dataDir, 'attachments', 'local-files', path)
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await withSql(
    place.url,
    (sql) => sql`insert into blobs (id, tenant, store, bucket, path, status, sha256, bytes)
      values (${randomUUID()}, 'default', 'folder', 'local-files', ${path}, 'ready', ${sha256}, ${bytes.length})`,
  )
  return target
}

/** The migrations of a release after this one. */
async function withNextMigration(folder: string): Promise<string> {
  await cp(migrationsFolder, folder, { recursive: true })
  const journalPath = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(await readFile(journalPath, 'utf8'))
  journal.entries.push({ ...journal.entries.at(-1), idx: journal.entries.length, when: 9_000_000_000_000, tag: 'next' })
  await writeFile(journalPath, JSON.stringify(journal))
  await writeFile(join(folder, 'next.sql'), `alter table inbox add column next_release text not null default 'yes'`)
  return folder
}

describeOnPostgres('a backup', (adminUrl) => {
  let scene: BackupScene
  beforeEach(async () => {
    scene = await createBackupScene(adminUrl)
  })
  afterEach(() => scene.close())

  test('restored elsewhere has every table byte for byte, the same books, and a line about it in the audit log', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await accept(from, 120, awkward)
    await withSql(
      from.url,
      (sql) => sql`update inbox set state = 'dead', reason = 'test', ended_at = now() where seq % 3 = 0`,
    )
    const file = scene.path('one.tar.gz')
    const made = await backUp(from, file)
    const report = await restore(file, into)
    const [before, after] = [await readTables(from.url), await readTables(into.url)]
    expect(before['inbox']).toHaveLength(120)
    expect(before['counter_changes']?.length).toBe(40)
    expect({ ...after, audit_log: [] }).toEqual({ ...before, audit_log: [] })
    expect(await books(into)).toEqual(await books(from))
    expect(after['audit_log']).toEqual([expect.stringContaining('\tdatabase.restore\tdone\t')])
    expect(report).toMatchObject({ isStale: false, doubted: 0, waitingMessages: 80, migrated: 0, skippedTables: [] })
    expect(made.contents.tables.find(({ name }) => name === 'inbox')?.rows).toBe(120)
  })

  test('is a file for its owner alone that the tools of the system open', async () => {
    const from = await scene.used()
    await accept(from, 3)
    const file = scene.path('one.tar.gz')
    await backUp(from, file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const rows = execFileSync('tar', ['-xzOf', file, 'tables/inbox.copy.0001'], { encoding: 'utf8' })
    expect(rows.split('\n')).toHaveLength(4)
  })

  test('holds a table that no release knew, and a table in several parts', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await withSql(from.url, async (sql) => {
      await sql`create table newcomer (id int, note text, twice int generated always as (id * 2) stored)`
      await sql`insert into newcomer (id, note) select n, repeat('x', 1000) from generate_series(1, 9000) n`
    })
    const file = scene.path('one.tar.gz')
    const { contents } = await backUp(from, file)
    const table = contents.tables.find(({ name }) => name === 'newcomer')
    expect({ rows: table?.rows, isSplit: (table?.parts ?? 0) > 1 }).toEqual({ rows: 9000, isSplit: true })
    expect((await readManifest(file)).tables.find(({ name }) => name === 'newcomer')?.columns).toEqual(['id', 'note'])
    // It is no table of this release, so a restore leaves it out and says so.
    expect(await restore(file, into)).toMatchObject({ skippedTables: ['newcomer'] })
  })

  test('is one moment, while others write as fast as they can and wait for no lock', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await withSql(from.url, async (sql) => {
      await sql`insert into connection_limits (tenant, connection, scope) select 'a', 'first', n::text from generate_series(1, 20000) n`
      await sql`insert into room_status (tenant, connection, room, changed_at) select 'a', 'last', n::text, now() from generate_series(1, 20000) n`
    })
    let isDone = false
    let written = 0
    // Two tables change together, always: a backup that reads them at two moments has them apart.
    const writer = withSql(from.url, async (sql) => {
      await sql`set lock_timeout = '50ms'`
      while (!isDone) {
        written += 1
        const mark = `t${written}`
        await sql.begin(async (tx) => {
          await tx`insert into connection_limits (tenant, connection, scope) values ('pair', 'first', ${mark})`
          await tx`insert into room_status (tenant, connection, room, changed_at) values ('pair', 'last', ${mark}, now())`
        })
      }
    })
    const file = scene.path('one.tar.gz')
    await backUp(from, file, true)
    isDone = true
    await writer
    await restore(file, into)
    const pairs = await withSql(into.url, async (sql) => ({
      first: (await sql`select scope as mark from connection_limits where tenant = 'pair' order by 1`).map(
        (row) => row['mark'],
      ),
      last: (await sql`select room as mark from room_status where tenant = 'pair' order by 1`).map(
        (row) => row['mark'],
      ),
    }))
    expect(pairs.first).toEqual(pairs.last)
    expect(written).toBeGreaterThan(pairs.first.length)
  })

  test('goes on counting where the old database stood', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await accept(from, 7)
    await withSql(from.url, (sql) => sql`delete from inbox where seq > 5`)
    const file = scene.path('one.tar.gz')
    await backUp(from, file)
    await restore(file, into)
    await accept(into, 1)
    const [row] = await withSql(into.url, (sql) => sql`select max(seq)::int as seq from inbox`)
    expect(row).toEqual({ seq: 8 })
  })

  test('of an older release is brought up to this one', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await accept(from, 3)
    const file = scene.path('one.tar.gz')
    await backUp(from, file)
    const report = await restore(file, into, { migrationsFolder: await withNextMigration(scene.path('migrations')) })
    expect(report).toMatchObject({ migrated: 1 })
    expect(await withSql(into.url, (sql) => sql`select distinct next_release from inbox`)).toEqual([
      { next_release: 'yes' },
    ])
  })

  test('is restored by the owner of the database, who is no superuser', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    await accept(from, 5)
    const file = scene.path('one.tar.gz')
    await backUp(from, file)
    const role = `owner_${randomUUID().slice(0, 8)}`
    await withSql(adminUrl, async (sql) => {
      await sql.unsafe(`create role ${role} login nosuperuser password 'only-for-tests'`)
      await sql.unsafe(`alter database ${into.name} owner to ${role}`)
    })
    const url = new URL(into.url)
    url.username = role
    url.password = 'only-for-tests'
    try {
      await restore(file, { ...into, url: url.href })
      expect(await books(into)).toEqual(await books(from))
      // Triggers are on again.
      const kept = withSql(into.url, (sql) => sql`delete from audit_log`)
      await expect(kept).rejects.toThrow('append-only')
    } finally {
      await into.drop()
      await withSql(adminUrl, (sql) => sql.unsafe(`drop role ${role}`))
    }
  })

  test('has the files of the data folder and the seal key, and counts those that are gone', async () => {
    const [from, into] = [await scene.used(), await scene.fresh()]
    const big = Buffer.alloc(3_000_000, 'a file larger than a chunk ')
    const [kept, gone] = [await addFile(from, big), await addFile(from, Buffer.from('gone'))]
    await rm(gone)
    await writeFile(join(from.dataDir, 'seal-key'), `${'ab'.repeat(32)}\n`)
    await writeFile(join(from.dataDir, 'admin-token'), 'not in a backup')
    const file = scene.path('one.tar.gz')
    const { manifest, contents } = await backUp(from, file)
    expect({ sealKey: manifest.sealKey, ...contents.files }).toEqual({
      sealKey: 'included',
      count: 1,
      bytes: big.length,
      lists: 1,
      missing: 1,
    })
    await restore(file, into)
    const moved = kept.replace(from.dataDir, into.dataDir)
    expect((await readFile(moved)).equals(big)).toBe(true)
    expect(await readFile(join(into.dataDir, 'seal-key'), 'utf8')).toBe(`${'ab'.repeat(32)}\n`)
    expect(await stat(join(into.dataDir, 'admin-token')).catch(() => 'none')).toBe('none')
    expect((await stat(moved)).mode & 0o777).toBe(0o600)
  })

  test('names the buckets whose files it does not have', async () => {
    const from = await scene.used()
    await withSql(
      from.url,
      (sql) => sql`insert into blobs (id, tenant, store, bucket, path, status)
        select gen_random_uuid(), 'default', 's3', 'agent-files', 'p' || n, 'ready' from generate_series(1, 3) n`,
    )
    const { manifest } = await backUp(from, scene.path('one.tar.gz'))
    expect(manifest.filesElsewhere).toEqual([{ store: 's3', bucket: 'agent-files', files: 3 }])
  })

  test('never replaces a file, and leaves none behind where the database is no gateway’s', async () => {
    const file = scene.path('one.tar.gz')
    await expect(backUp(await scene.fresh(), file)).rejects.toMatchObject({ code: 'schema_missing' })
    expect(await readdir(dirname(file))).toEqual([])
    await writeFile(file, 'precious')
    await expect(backUp(await scene.used(), file)).rejects.toMatchObject({ code: 'conflict' })
    expect(await readFile(file, 'utf8')).toBe('precious')
  })

  test('may be restored in any order of tables: none refers to another', async () => {
    const { url } = await scene.used()
    expect(await withSql(url, (sql) => sql`select conname from pg_constraint where contype = 'f'`)).toHaveLength(0)
  })
})
