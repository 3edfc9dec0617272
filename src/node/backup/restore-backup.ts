// Restores a backup into an empty database: everything is read and checked while it is written, in one transaction and beside
// the target of the files, so that a backup that is not whole leaves nothing behind.
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  analyzeTablesStatement,
  countOpenWork,
  describeServer,
  doubtWaitingSends,
  emptyTablesStatement,
  impatientLocks,
  listNonEmptyTablesStatement,
  listTables,
  lockTablesForRestoreStatement,
  recordRestore,
  setSequence,
  steadySettings,
  switchTriggersStatement,
} from '../../db/backup.ts'
import { storableJson } from '../../db/client.ts'
import { applyMigrations, readMigrationTimes } from '../../db/migrate.ts'
import { freeLanes, freeSendLanes } from '../../db/open-turn.ts'
import { type CopySql, type CopyTable, inCopyTransaction, quoteIdentifier } from '../../db/postgres-copy.ts'
import { isBeforeFirstRelease, readAppliedMigrations } from '../../db/schema-version.ts'
import { freeSources } from '../../db/sources.ts'
import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import { makeDataDir } from '../data-dir.ts'
import { attachmentsFolder, folderBucket } from '../folder-blob-store.ts'
import { sealKeyPath } from '../gateway-secrets.ts'
import { type BackupProgress, type Contents, type Manifest, restoreRefusedError } from './manifest.ts'
import { loadArchiveEntries, openArchive, readManifestEntry, toDamageError } from './read-archive.ts'

export type RestoreOptions = {
  readonly file: string
  readonly databaseUrl: string
  readonly dataDir: string
  readonly migrationsFolder: string
  /** Whose audit log gets the line, besides those of the tenants in the backup. */
  readonly tenant: string
  /** Whether a gateway worked on the old database after the backup. Absent: what the backup says. */
  readonly hasWorkedSince?: boolean
  readonly onProgress?: (progress: BackupProgress) => void
}

export type RestoreReport = {
  readonly manifest: Manifest
  readonly contents: Contents
  /** What came after the backup is unknown. */
  readonly isStale: boolean
  /** Deliveries that waited, and may have left since. */
  readonly doubted: number
  readonly openTurns: number
  readonly waitingMessages: number
  readonly openDeliveries: number
  /** Migrations of this release that the backup did not have. */
  readonly migrated: number
  /** Tables in the backup that are not the gateway's. */
  readonly skippedTables: readonly string[]
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const entries = openArchive(options.file)
  const dataDir = await makeDataDir(options.dataDir)
  const staging = join(dataDir, `attachments.${randomBytes(6).toString('hex')}.restoring`)
  let undo: (() => Promise<void>) | undefined
  try {
    const manifest = await readManifestEntry(entries)
    refuseUnknownMigrations(manifest, options.migrationsFolder)
    await refuseExistingAttachments(dataDir)
    const target = { url: options.databaseUrl, applicationName: 'parley restore', mode: 'write' } as const
    return await inCopyTransaction(target, async (sql) => {
      const skippedTables = await prepareTargetTables(sql, manifest, options.migrationsFolder)
      const { onProgress = () => {} } = options
      const loading = { manifest, skippedTables, staging, onProgress }
      const { contents, sealKey } = await loadArchiveEntries(sql, entries, loading)
      const ours = manifest.tables.map(({ name }) => name).filter((name) => !skippedTables.includes(name))
      const work = await finishRestoredRows(sql, manifest, ours, options)
      undo = await moveFilesIntoPlace(dataDir, staging, sealKey)
      return { manifest, contents, skippedTables, ...work }
    })
  } catch (error) {
    // Where the answer to the commit was lost the rows may be there, so the files stay.
    if (!isGatewayError(error, 'storage_unavailable')) await undo?.()
    throw toDamageError(options.file, error)
  } finally {
    await entries.return()
    await rm(staging, { recursive: true, force: true })
  }
}

type OpenWork = Pick<RestoreReport, 'openTurns' | 'waitingMessages' | 'openDeliveries'>

async function finishRestoredRows(
  sql: CopySql,
  manifest: Manifest,
  tables: readonly string[],
  { migrationsFolder, tenant, hasWorkedSince }: RestoreOptions,
): Promise<Omit<RestoreReport, 'manifest' | 'contents' | 'skippedTables'>> {
  for (const { name, lastValue, isCalled } of manifest.sequences) {
    await sql.query(setSequence, [quoteIdentifier(name), lastValue, isCalled])
  }
  await sql.script(switchTriggersStatement(tables, 'enable'))
  const { applied: migrated } = await applyMigrations(sql, migrationsFolder)
  // The gateway that held them worked on another database.
  for (const free of [freeLanes, freeSendLanes, freeSources]) await sql.query(free, [])
  const isStale = hasWorkedSince ?? manifest.live
  const [marked] = isStale ? await sql.query<{ doubted: number }>(doubtWaitingSends, []) : []
  const [open] = await sql.query<OpenWork>(countOpenWork, [])
  const work = { isStale, doubted: marked?.doubted ?? 0, migrated, ...(open ?? nothingOpen) }
  const { version, snapshotAt } = manifest
  await sql.query(recordRestore, [tenant, storableJson({ version, snapshotAt, ...work })])
  await sql.script(analyzeTablesStatement(tables))
  return work
}

const nothingOpen: OpenWork = { openTurns: 0, waitingMessages: 0, openDeliveries: 0 }

/** Before the commit, so that there is no row without its file. Answers how to take them away again. */
async function moveFilesIntoPlace(
  dataDir: string,
  staging: string,
  sealKey: Buffer | undefined,
): Promise<() => Promise<void>> {
  const made: string[] = []
  const removePlacedFiles = async (): Promise<void> => {
    for (const path of made) await rm(path, { recursive: true, force: true })
  }
  try {
    if (sealKey !== undefined && (await restoreSealKey(sealKeyPath(dataDir), sealKey))) made.push(sealKeyPath(dataDir))
    const [from, to] = [join(staging, folderBucket), join(attachmentsFolder(dataDir), folderBucket)]
    if ((await readdir(staging).catch(() => [])).length > 0) {
      await mkdir(attachmentsFolder(dataDir), { recursive: true, mode: 0o700 })
      // Folders without a file may have been left there.
      await rm(to, { recursive: true, force: true })
      await rename(from, to)
      made.push(to)
    }
    return removePlacedFiles
  } catch (error) {
    await removePlacedFiles()
    throw error
  }
}

/** False: the same key is there already. */
async function restoreSealKey(path: string, sealKey: Buffer): Promise<boolean> {
  const there = await readFile(path).catch(() => undefined)
  if (there?.equals(sealKey) === true) return false
  if (there !== undefined) {
    throw restoreRefusedError(
      `${path} is another key than that of the backup; move it away, or choose a new folder with PARLEY_DATA_DIR`,
    )
  }
  await writeFile(path, sealKey, { flag: 'wx', mode: 0o600 })
  return true
}

// The target must be an empty database with the tables of the backup's release, and a folder without files.

function refuseUnknownMigrations({ migrations, version }: Manifest, migrationsFolder: string): void {
  const ours = new Set(readMigrationTimes(migrationsFolder))
  const unknown = migrations.filter((madeAt) => !ours.has(madeAt))
  if (unknown.length === 0) return
  if (isBeforeFirstRelease(unknown, ours)) {
    throw new GatewayError(
      'schema_too_old',
      '[backup] the backup was made before the first release, and no release can restore it; take what you need out of its tables/*.copy files, with tar and the COPY of PostgreSQL',
    )
  }
  throw new GatewayError(
    'schema_too_new',
    `[backup] the backup has ${unknown.length} migration(s) this release does not know; restore it with release ${version} or a newer one`,
  )
}

async function refuseExistingAttachments(dataDir: string): Promise<void> {
  const folder = attachmentsFolder(dataDir)
  const names = await readdir(join(folder, folderBucket), { recursive: true, withFileTypes: true }).catch(() => [])
  if (names.every((each) => each.isDirectory())) return
  throw restoreRefusedError(
    `${folder} holds files of another gateway; choose a new folder with PARLEY_DATA_DIR, or move them away`,
  )
}

/** Inside the transaction. Answers which tables of the backup are not ours. */
async function prepareTargetTables(
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
  await sql.script(lockTablesForRestoreStatement(names))
  if (!isFresh) await refuseNonEmptyTables(sql, names)
  await sql.script(switchTriggersStatement(names, 'disable'))
  if (isFresh) await sql.script(emptyTablesStatement(names))
  return manifest.tables.filter(({ name }) => !there.has(name)).map(({ name }) => name)
}

async function requireSameMigrations(sql: CopySql, { migrations }: Manifest): Promise<void> {
  const applied = (await readAppliedMigrations(sql)).map(({ madeAt }) => madeAt)
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

async function refuseNonEmptyTables(sql: CopySql, tables: readonly string[]): Promise<void> {
  const used = (await sql.query<{ name: string }>(listNonEmptyTablesStatement(tables), [])).map(({ name }) => name)
  if (used.length === 0) return
  const some = `${used.slice(0, 3).join(', ')}${used.length > 3 ? ` and ${used.length - 3} more tables` : ''}`
  throw restoreRefusedError(
    `the database is not empty (rows in ${some}); restore into a new one: another DATABASE_URL or PARLEY_DATA_DIR`,
  )
}
