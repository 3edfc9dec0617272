// What a restore refuses, and that it leaves the target as it was: empty.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../../../src/db/migrate.ts'
import { openPostgres } from '../../../../src/db/postgres.ts'
import {
  type BackupScene,
  backUp,
  createBackupScene,
  type Entry,
  type Place,
  restore,
  rewriteBackup,
} from '../../../doubles/backup-setup.ts'
import { migrationsFolder } from '../../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../../setup/databases.ts'

const changed = (name: string, change: (text: string) => string) => (entries: readonly Entry[]) =>
  entries.map(([each, body]): Entry => [each, each === name ? Buffer.from(change(body.toString('utf8'))) : body])
const without = (pattern: RegExp) => (entries: readonly Entry[]) => entries.filter(([name]) => !pattern.test(name))

describeOnPostgres('a restore', (adminUrl) => {
  let scene: BackupScene
  let file: string
  let into: Place
  const rows = 'tables/connection_limits.copy.0001'

  beforeAll(async () => {
    scene = await createBackupScene(adminUrl)
    file = scene.path('good.tar.gz')
    const from = await scene.used()
    await run(
      from,
      `insert into connection_limits (tenant, connection, scope) select 't', 'c', n::text from generate_series(1, 5000) n`,
    )
    await backUp(from, file)
    into = await scene.fresh()
  })
  afterAll(() => scene.close())
  // The one target of all these: whatever was refused left no table, no row and no file in it.
  afterEach(async () => {
    expect(await run(into, `select relname from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([])
    expect(await readdir(into.dataDir)).toEqual([])
  })

  async function run(place: Place, text: string): Promise<readonly unknown[]> {
    const sql = postgres(place.url, { max: 1, onnotice: () => {} })
    try {
      return [...(await sql.unsafe(text))]
    } finally {
      await sql.end({ timeout: 5 })
    }
  }

  async function refusal(bytes: Buffer): Promise<{ code: string; message: string }> {
    const path = scene.path('bad.tar.gz')
    await writeFile(path, bytes)
    return restore(path, into).then(
      () => ({ code: 'restored', message: '' }),
      (error: { code: string; message: string }) => error,
    )
  }

  test('finds a changed byte, wherever it is', async () => {
    const good = await readFile(file)
    for (const part of [0.2, 0.5, 0.9, 1]) {
      const bad = Buffer.from(good)
      const at = Math.min(good.length - 5, Math.floor(good.length * part))
      bad[at] = (bad[at] ?? 0) ^ 0x10
      expect((await refusal(bad)).code, `byte ${at} of ${good.length}`).toBe('backup_damaged')
    }
  })

  test('finds that a file was cut off, wherever it was', async () => {
    const good = await readFile(file)
    for (const part of [0, 0.3, 0.8]) {
      const found = await refusal(good.subarray(0, Math.floor(good.length * part)))
      expect(found.code, `cut at ${part}`).toBe('backup_damaged')
    }
    expect((await refusal(good.subarray(0, good.length - 1))).code).toBe('backup_damaged')
  })

  test.each([
    ['a table that is missing', without(/^tables\/connection_limits/), 'connection_limits is not whole'],
    [
      'a row that is missing',
      changed(rows, (text) => text.slice(text.indexOf('\n') + 1)),
      'not whole in it: 4999 of 5000',
    ],
    [
      'a value that was changed',
      changed(rows, (text) => text.replace('\t4711\t', '\t4711x\t')),
      'is not whole|is damaged',
    ],
    ['another value of the same length', changed(rows, (text) => text.replace('\t4711\t', '\t9711\t')), 'is damaged'],
    ['the end that is missing', without(/^contents/), 'list of contents is missing'],
    [
      'a table that is not listed',
      changed('contents.json', (text) => text.replace('"connection_limits"', '"other"')),
      'is missing in it',
    ],
    [
      'an entry that does not belong there',
      (entries: readonly Entry[]) => [
        ...entries.slice(0, 2),
        ['../evil', Buffer.from('x')] as const,
        ...entries.slice(2),
      ],
      'no part of a backup',
    ],
    [
      'a file outside of its folder',
      (entries: readonly Entry[]) => [
        ...entries.slice(0, 2),
        ['files/../../evil', Buffer.from('x')] as const,
        ...entries.slice(2),
      ],
      'no key',
    ],
    ['a first entry that is no manifest', without(/^manifest/), 'no backup'],
  ] as const)('finds %s, also where the archive itself is sound', async (_what, change, words) => {
    expect((await refusal(await rewriteBackup(file, change))).message).toMatch(new RegExp(words))
  })

  test('refuses a newer format, and migrations it does not know, and says which release helps', async () => {
    const newer = await rewriteBackup(
      file,
      changed('manifest.json', (text) => text.replace('"format": 1', '"format": 2')),
    )
    expect(await refusal(newer)).toMatchObject({ code: 'schema_too_new', message: expect.stringContaining('format 2') })
    const later = (text: string) => text.replace('"migrations": [', '"migrations": [9999999999999,')
    const migrated = await refusal(await rewriteBackup(file, changed('manifest.json', later)))
    expect(migrated).toMatchObject({ code: 'schema_too_new', message: expect.stringContaining('release 0.0.0-test') })
  })

  test('refuses a backup from before the first release, and says so', async () => {
    const old = (text: string) => text.replace('"migrations": [', '"migrations": [1794876492005,')
    expect(await refusal(await rewriteBackup(file, changed('manifest.json', old)))).toMatchObject({
      code: 'schema_too_old',
      message: expect.stringContaining('before the first release'),
    })
  })

  test('refuses a file that is no backup at all', async () => {
    expect((await refusal(Buffer.from('hello'))).code).toBe('backup_damaged')
  })
})

describeOnPostgres('a target', (adminUrl) => {
  let scene: BackupScene
  let file: string
  beforeAll(async () => {
    scene = await createBackupScene(adminUrl)
    file = scene.path('good.tar.gz')
    await backUp(await scene.used(), file)
  })
  afterAll(() => scene.close())

  test('with a row is refused and keeps it; one that was only migrated is filled', async () => {
    const into = await scene.used()
    const sql = postgres(into.url, { max: 1, onnotice: () => {} })
    await sql`insert into principals (tenant, id, subject) values ('t', gen_random_uuid(), 'test:ada')`
    await expect(restore(file, into)).rejects.toMatchObject({
      code: 'restore_refused',
      message: expect.stringContaining('rows in principals'),
    })
    expect(await sql`select subject from principals`).toEqual([{ subject: 'test:ada' }])
    await sql`delete from principals`
    await restore(file, into)
    await sql.end()
  })

  test('with tables of another program by the same names is refused', async () => {
    const into = await scene.fresh()
    const sql = postgres(into.url, { max: 1, onnotice: () => {} })
    await sql`create table messages (id int)`
    await expect(restore(file, into)).rejects.toMatchObject({ message: expect.stringContaining('table messages') })
    await sql.end()
  })

  test('with files of another gateway, or another seal key, is refused', async () => {
    const from = await scene.used()
    const [into, other] = [await scene.fresh(), scene.path('with-key.tar.gz')]
    await mkdir(from.dataDir)
    await writeFile(`${from.dataDir}/seal-key`, `${'ab'.repeat(32)}\n`)
    await backUp(from, other)
    await mkdir(into.dataDir)
    await writeFile(`${into.dataDir}/seal-key`, `${'cd'.repeat(32)}\n`)
    await expect(restore(other, into)).rejects.toMatchObject({ message: expect.stringContaining('another key') })
    expect(await readFile(`${into.dataDir}/seal-key`, 'utf8')).toBe(`${'cd'.repeat(32)}\n`)
    await mkdir(`${into.dataDir}/attachments/local-files`, { recursive: true })
    await writeFile(`${into.dataDir}/attachments/local-files/one`, '')
    await expect(restore(other, into)).rejects.toMatchObject({ message: expect.stringContaining('files of another') })
    const database = openPostgres({ url: into.url, maxConnections: 1 })
    // Not even a table was left: everything can be migrated from the start.
    expect((await migrate(database, migrationsFolder)).applied).toBeGreaterThan(0)
    await database.close()
  })
})
