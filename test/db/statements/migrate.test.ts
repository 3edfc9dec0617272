// Migrations: safe when replicas start together, and never while an older release still needs the old schema.
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { migrationsFolder } from '../../setup/cloned-database.ts'
import { createPostgresDatabase, describeOnPostgres } from '../../setup/databases.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const total = readMigrationFiles({ migrationsFolder }).length

/** The first of the steps that are one migration now. */
const beforeFirstRelease = 1_794_876_492_005

const pretend = (madeAt: number, isCompatible: boolean) =>
  nameStatement(
    'test_pretend',
    `insert into parley_migrations (made_at, is_compatible) values (${madeAt}, ${isCompatible})`,
  )
const forget = nameStatement(
  'test_forget',
  `delete from parley_migrations where made_at > 9000000000000 or made_at = ${beforeFirstRelease}`,
)

describeOnDatabase('migrations', (database) => {
  test('have nothing to do the second time', async () => {
    expect(await migrate(database(), migrationsFolder)).toEqual({ applied: 0, total })
  })

  test('refuse a schema this release does not know', async () => {
    await database().query(pretend(9_999_999_999_999, false), [])
    await expect(migrate(database(), migrationsFolder)).rejects.toMatchObject({ code: 'schema_too_new' })
    await database().query(forget, [])
  })

  test('refuse a database that was made before the first release, and say what to do with it', async () => {
    await database().query(pretend(beforeFirstRelease, true), [])
    await expect(migrate(database(), migrationsFolder)).rejects.toMatchObject({
      code: 'schema_too_old',
      message: expect.stringMatching(/before the first release.*dump what you need.*move the data folder away/),
    })
    await database().query(forget, [])
  })

  test('accept a newer schema that was marked as compatible', async () => {
    await database().query(pretend(9_999_999_999_999, true), [])
    expect(await migrate(database(), migrationsFolder)).toEqual({ applied: 0, total })
    await database().query(forget, [])
  })
})

describeOnPostgres('migrations of replicas that start together', (adminUrl) => {
  test('are applied exactly once', async () => {
    const empty = await createPostgresDatabase(adminUrl)
    const replicas = Array.from({ length: 4 }, () => openPostgres({ url: empty.url }))
    const reports = await Promise.all(replicas.map((replica) => migrate(replica, migrationsFolder)))
    expect(reports.map((report) => report.applied).toSorted()).toEqual([0, 0, 0, total])
    await Promise.all(replicas.map((replica) => replica.close()))
    await empty.drop()
  })
})
