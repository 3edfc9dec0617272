// `parley backup` while a gateway runs, `parley restore` elsewhere: what people read, what programs read, how each ends.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresDatabase, describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { createHome, type Home, until } from './parley.ts'

describeOnPostgres('parley backup and restore', (adminUrl) => {
  let home: Home
  let server: TestDatabase
  beforeEach(async () => {
    server = await createPostgresDatabase(adminUrl)
    home = await createHome({}, 'embedded')
  })
  afterEach(async () => {
    await home.close()
    await server.drop()
  })

  test('carry a gateway from its own database to a server and to another folder: the same books, nothing said twice', async () => {
    const onServer = { DATABASE_URL: server.url, PARLEY_DATA_DIR: join(home.folder, 'beside-the-server') }
    const inFolder = { PARLEY_DATA_DIR: join(home.folder, 'elsewhere') }
    const old = await home.start()
    for (const text of ['one', 'two', 'three']) await old.say(text)
    const inFlight = async () => {
      const { stats } = (await old.admin('/admin/stats')) as { stats: { inFlight: number }[] }
      return stats.reduce((sum, line) => sum + line.inFlight, 0)
    }
    await until(30_000, async () => ((await inFlight()) === 0 ? true : undefined))
    const said = home.telegram.sent.length
    const running = (await home.json(['backup', '--out', 'running.tar.gz'])) as Record<string, unknown>
    expect(running).toMatchObject({ ok: true, live: true, file: join(home.folder, 'running.tar.gz'), filesMissing: 0 })
    await old.stop()
    expect(await home.json(['backup', '--out', 'stopped.tar.gz'])).toMatchObject({ ok: true, live: false })
    const books = await home.json(['stats'])

    const restored = await home.parley(['restore', 'running.tar.gz', '--yes'], onServer)
    expect({ code: restored.code, stderr: restored.stderr }).toEqual({ code: 0, stderr: '' })
    expect(restored.stdout).toContain(`What came after ${String(running['snapshotAt']).slice(0, 19)}Z is unknown`)
    expect(await home.json(['stats'], onServer)).toEqual(books)
    const audit = await home.json(['audit', '--action', 'database.restore'], onServer)
    expect(audit).toMatchObject({ lines: [{ outcome: 'done', actor: 'operator' }] })

    const moved = await home.parley(['restore', 'stopped.tar.gz', '--yes'], inFolder)
    expect(moved.stdout).toContain('everything goes on where it stood')
    expect(await home.json(['stats'], inFolder)).toEqual(books)
    const now = await home.start(inFolder)
    await now.say('four')
    await until(30_000, () => (home.telegram.sent.length > said ? true : undefined))
    expect(home.telegram.sent).toHaveLength(said + 1)
  }, 120_000)

  test('say what is wrong and what to do, with the exit codes of the help', async () => {
    const told = async (words: string[], env: Record<string, string> = {}) => {
      const { code, stderr } = await home.parley(words, env)
      return `${code} ${stderr.trim()}`
    }
    const onServer = { DATABASE_URL: server.url }
    expect(await told(['backup'])).toMatch(/^1 parley: .*nothing to back up; check PARLEY_DATA_DIR/)
    expect(await told(['backup'], onServer)).toMatch(/^1 parley: .*nothing to back up; check DATABASE_URL/)
    expect((await home.parley(['migrate'], onServer)).code).toBe(0)
    expect((await home.parley(['backup', '--out', 'b.tar.gz'], onServer)).stdout).toMatch(
      /Keep the file as secret as the gateway/,
    )
    expect(await told(['backup', '--out', 'b.tar.gz'], onServer)).toMatch(
      /^1 .*exists already; choose another name with --out/,
    )
    expect(await told(['restore', 'none.tar.gz', '--yes'])).toMatch(/^3 .*there is no file/)
    expect(await told(['restore', 'b.tar.gz'])).toMatch(/^2 .*no terminal.*--yes/)
    expect(await told(['restore', 'b.tar.gz', '--old-gateway', 'maybe', '--yes'], onServer)).toMatch(
      /^2 .*ran, stopped/,
    )
    await writeFile(join(home.folder, 'bad.tar.gz'), 'no archive')
    expect(await told(['restore', 'bad.tar.gz', '--yes'], onServer)).toMatch(/^1 .*no backup.*use another copy/)
    const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    expect(await told(['backup'], nowhere)).toMatch(/^4 .*no database answers at 127.0.0.1:1/)
    expect(await told(['restore', 'b.tar.gz', '--yes'], nowhere)).toMatch(/^4 .*no database answers at 127.0.0.1:1/)
    const restored = await home.json(['restore', 'b.tar.gz', '--yes', '--old-gateway', 'stopped'], onServer)
    expect(restored).toMatchObject({ ok: true, isStale: false, live: true, doubted: 0 })
    // The restore itself left a line in the audit log.
    expect(await told(['restore', 'b.tar.gz', '--yes'], onServer)).toMatch(/^1 .*not empty \(rows in audit_log\)/)
    expect((await readdir(home.folder)).filter((name) => name.endsWith('.part'))).toEqual([])
  }, 120_000)
})
