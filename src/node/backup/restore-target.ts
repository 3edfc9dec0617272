// Where a backup is restored to: an empty database with the tables of the backup's release, and a folder without files.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { GatewayError } from '../../contract/index.ts'
import {
  describeServer,
  emptyTables,
  impatientLocks,
  listTables,
  lockForRestore,
  steadySettings,
  switchTriggers,
  usedTables,
} from '../../db/backup.ts'
import { applyMigrations, knownMigrations, readApplied } from '../../db/migrate.ts'
import type { CopySql, CopyTable } from '../../db/postgres-copy.ts'
import { attachmentsFolder, folderBucket } from '../open-files.ts'
import { restoreRefusedError } from './backup-errors.ts'
import type { Manifest } from './manifest.ts'

export function refuseUnknownMigrations({ migrations, version }: Manifest, migrationsFolder: string): void {
  const ours = new Set(knownMigrations(migrationsFolder))
  const unknown = migrations.filter((madeAt) => !ours.has(madeAt))
  if (unknown.length === 0) return
  throw new GatewayError(
    'schema_too_new',
    `[backup] the backup has ${unknown.length} migration(s) this release does not know; restore it with release ${version} or a newer one`,
  )
}

export async function refuseFilesInUse(dataDir: string): Promise<void> {
  const folder = attachmentsFolder(dataDir)
  const names = await readdir(join(folder, folderBucket), { recursive: true, withFileTypes: true }).catch(() => [])
  if (names.every((each) => each.isDirectory())) return
  throw restoreRefusedError(
    `${folder} holds files of another gateway; choose a new folder with PARLEY_DATA_DIR, or move them away`,
  )
}

/** Inside the transaction. Answers which tables of the backup are not ours. */
export async function prepareTarget(
  sql: CopySql,
  manifest: Manifest,
  migrationsFolder: string,
): Promise<readonly string[]> {
  await sql.query(steadySettings, [])
  await sql.query(impatientLocks, [])
  const wanted = new Set(manifest.tables.map(({ name }) => name))
  const before = await sql.query<CopyTable>(listTables, [])
  const [facts] = await sql.query<{ isMigrated: boolean }>(describeServer, [])
  const isFresh = facts?.isMigrated !== true
  const clash = isFresh ? before.find(({ name }) => wanted.has(name)) : undefined
  if (clash !== undefined) {
    throw restoreRefusedError(
      `the database has a table ${clash.name} that is not the gateway's; restore into a new, empty database`,
    )
  }
  await applyMigrations(sql, migrationsFolder, new Set(manifest.migrations))
  await requireSameMigrations(sql, manifest)
  const there = new Map((await sql.query<CopyTable>(listTables, [])).map((table) => [table.name, table]))
  const tables = manifest.tables.filter(({ name }) => there.has(name))
  requireColumns(tables, there)
  const names = tables.map(({ name }) => name)
  await sql.script(lockForRestore(names))
  if (!isFresh) await refuseUsedTables(sql, names)
  await sql.script(switchTriggers(names, 'disable'))
  if (isFresh) await sql.script(emptyTables(names))
  return manifest.tables.filter(({ name }) => !there.has(name)).map(({ name }) => name)
}

async function requireSameMigrations(sql: CopySql, { migrations }: Manifest): Promise<void> {
  const applied = (await readApplied(sql)).map(({ madeAt }) => madeAt)
  if (applied.length === migrations.length && applied.every((madeAt) => migrations.includes(madeAt))) return
  throw restoreRefusedError(
    'the database was migrated by another release than the backup; restore into a new, empty database',
  )
}

function requireColumns(tables: Manifest['tables'], there: ReadonlyMap<string, CopyTable>): void {
  for (const { name, columns } of tables) {
    const missing = columns.find((column) => there.get(name)?.columns.includes(column) !== true)
    if (missing === undefined) continue
    throw restoreRefusedError(
      `the column ${name}.${missing} is unknown to this release; restore with the release that made the backup`,
    )
  }
}

async function refuseUsedTables(sql: CopySql, tables: readonly string[]): Promise<void> {
  const used = (await sql.query<{ name: string }>(usedTables(tables), [])).map(({ name }) => name)
  if (used.length === 0) return
  const some = `${used.slice(0, 3).join(', ')}${used.length > 3 ? ` and ${used.length - 3} more tables` : ''}`
  throw restoreRefusedError(
    `the database is not empty (rows in ${some}); restore into a new one: another DATABASE_URL or PARLEY_DATA_DIR`,
  )
}
