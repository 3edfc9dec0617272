// Declares a suite once and runs it on both databases: PGlite in memory, and a clone of a migrated PostgreSQL template.
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type Database, statement } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPglite } from '../../src/storage/pglite.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { clonedDatabase, migrationsFolder } from './cloned-database.ts'
import { describeOnPostgres, type TestDatabase } from './databases.ts'

// Opening PGlite takes a second; the files of one worker share it and leave it empty behind them.
let sharedPglite: Promise<Database> | undefined

/** `emptied`: after every test, or once after all of them, for suites whose gateway stays at work in between. */
export function describeOnEachDatabase(
  name: string,
  declareTests: (database: () => Database) => void,
  emptied: 'each' | 'all' = 'each',
): void {
  const afterTests = emptied === 'each' ? afterEach : afterAll
  describe(`${name} on PGlite`, () => {
    let database: Database
    beforeAll(async () => {
      sharedPglite ??= openMigratedPglite()
      database = await sharedPglite
    })
    afterTests(() => empty(database))
    declareTests(() => database)
  })
  describeOnPostgres(`${name} on PostgreSQL`, (adminUrl) => {
    let clone: TestDatabase
    let database: Database
    beforeAll(async () => {
      clone = await clonedDatabase(adminUrl)
      database = openPostgres({ url: clone.url })
    })
    if (emptied === 'each') afterEach(() => empty(database))
    afterAll(async () => {
      await database.close()
      await clone.drop()
    })
    declareTests(() => database)
  })
}

async function openMigratedPglite(): Promise<Database> {
  const database = await openPglite({ isNew: true })
  await migrate(database, migrationsFolder)
  return database
}

const tables = statement(
  'test_tables',
  `select string_agg(format('%I', tablename), ', ') as names from pg_tables
   where schemaname = 'public' and tablename <> 'parley_migrations'`,
)

async function empty(database: Database): Promise<void> {
  const [row] = await database.query<{ names: string }>(tables, [])
  // The audit log gives nothing up unless retention says so in the same transaction.
  await database.transaction(async (sql) => {
    await sql.query(statement('test_retention', `select set_config('parley.retention', 'on', true)`), [])
    await sql.query(statement('test_empty', `truncate ${row?.names} restart identity`), [])
  })
}
