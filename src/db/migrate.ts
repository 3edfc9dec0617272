// Migrations at start: one replica migrates while the others wait; a schema that this release does not know is refused.
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { type Database, nameStatement, type Sql } from './client.ts'
import { readAppliedMigrations, refuseUnknownSchema } from './schema-version.ts'

// Any constant will do, as long as every release uses the same one.
const migrationLock = 7_305_118

const lock = nameStatement('migrate_lock', `select pg_advisory_xact_lock(${migrationLock})`)
const prepare = nameStatement(
  'migrate_prepare',
  `create table if not exists parley_migrations (
     made_at bigint primary key, is_compatible boolean not null default false, applied_at timestamptz not null default now())`,
)
const record = nameStatement('migrate_record', 'insert into parley_migrations (made_at, is_compatible) values ($1, $2)')

/** First line of a migration that the release before it survives; every other one locks older releases out. */
const compatibleMark = '-- compatible'

export type MigrationReport = { readonly applied: number; readonly total: number }

/** Applies what is missing, all in one transaction under an advisory lock. */
export async function migrate(database: Database, folder: string): Promise<MigrationReport> {
  return database.transaction((sql) => applyMigrations(sql, folder))
}

/** The same inside a transaction of the caller's. `wanted`: only these, by when they were made. */
export async function applyMigrations(
  sql: Sql,
  folder: string,
  wanted?: ReadonlySet<number>,
): Promise<MigrationReport> {
  const files = readMigrationFiles({ migrationsFolder: folder })
  await sql.query(lock, [])
  await sql.query(prepare, [])
  const known = await readAppliedMigrations(sql)
  refuseUnknownSchema(known, new Set(files.map((file) => file.folderMillis)))
  const done = new Set(known.map((row) => row.madeAt))
  let count = 0
  for (const file of files) {
    if (done.has(file.folderMillis) || wanted?.has(file.folderMillis) === false) continue
    await applyMigration(sql, file)
    count += 1
  }
  return { applied: count, total: files.length }
}

/** When the migrations of this release were made. */
export function readMigrationTimes(folder: string): readonly number[] {
  return readMigrationFiles({ migrationsFolder: folder }).map((file) => file.folderMillis)
}

async function applyMigration(sql: Sql, file: { sql: string[]; folderMillis: number }): Promise<void> {
  await sql.script(nameStatement('migrate_apply', file.sql.join('\n')))
  const isCompatible = file.sql[0]?.startsWith(compatibleMark) ?? false
  await sql.query(record, [file.folderMillis, isCompatible])
}
