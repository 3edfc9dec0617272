// `parley backup`, `parley restore` and `parley migrate`: the commands that work on the database itself.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import {
  type BackupDatabase,
  type BackupDatabaseOptions,
  openDatabaseForBackup,
  openDatabaseForRestore,
} from '../node/backup/backup-database.ts'
import type { BackupProgress } from '../node/backup/manifest.ts'
import { readManifest } from '../node/backup/read-archive.ts'
import { type RestoreReport, restoreBackup } from '../node/backup/restore-backup.ts'
import { type BackupReport, writeBackup } from '../node/backup/write-backup.ts'
import { openDatabase } from '../node/open-database.ts'
import { createStartingServer } from '../node/starting-responder.ts'
import { CommandError, exitCodes, isDatabaseUnavailable } from './command-error.ts'
import { defineCommand, version } from './command-line.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { configArg, loadConfigFromDisk, migrationsFolder } from './load-config.ts'
import { formatInstant, jsonArg, printAnswer, printRemark, withProgress } from './output.ts'

export const backupCommand = defineCommand({
  name: 'backup',
  description: 'Write everything the gateway keeps into one file, as of one moment; a gateway may go on meanwhile.',
  examples: [
    'parley backup',
    'parley backup --out /backups/parley-monday.tar.gz',
    'DATABASE_URL=postgres://… parley backup --json',
  ],
  args: {
    out: {
      type: 'string',
      description: 'Where to (default: parley-backup-<time>.tar.gz in this folder); an existing file is not replaced',
      valueHint: 'file',
    },
    ...configArg,
    ...jsonArg,
  },
  async run(args) {
    const config = await loadConfigFromDisk(args.config)
    const out = resolve(args.out ?? defaultBackupName(new Date()))
    let progress: BackupProgress | undefined
    const rememberBackupProgress = (now: BackupProgress): void => {
      progress = now
    }
    const report = await withProgress(
      () => `writing ${out}${backupProgressText(progress)}`,
      () =>
        withBackupDatabase(config, openDatabaseForBackup, ({ databaseUrl, isLive }) =>
          writeBackup({
            databaseUrl,
            isLive,
            dataDir: config.dataDir,
            hasSealKeyElsewhere: config.sealKeys.length > 0,
            out,
            version,
            onProgress: rememberBackupProgress,
          }),
        ),
    )
    printAnswer(args.json, backupReportJson(report, out), backupReportText(report, out))
  },
})

function defaultBackupName(now: Date): string {
  return `parley-backup-${now.toISOString().slice(0, 19).replaceAll(':', '')}Z.tar.gz`
}

/** `: inbox, 120000 rows, 85 MB`; empty before the first row. */
function backupProgressText(progress: BackupProgress | undefined): string {
  if (progress === undefined) return ''
  const { what, rows, bytes } = progress
  return `: ${what}, ${what === 'files' ? `${rows}` : `${rows} rows`}, ${formatMegabytes(bytes)}`
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`
}

function backupReportJson({ manifest, contents }: BackupReport, out: string) {
  return {
    ok: true,
    file: out,
    snapshotAt: manifest.snapshotAt,
    live: manifest.live,
    tables: contents.tables.length,
    rows: totalRows(contents),
    files: contents.files.count,
    filesMissing: contents.files.missing,
    filesElsewhere: manifest.filesElsewhere,
    sealKey: manifest.sealKey,
  }
}

function totalRows({ tables }: BackupReport['contents']): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0)
}

function backupReportText({ manifest, contents }: BackupReport, out: string): string {
  const bytes = contents.tables.reduce((sum, table) => sum + table.bytes, 0)
  const { files } = contents
  const lines = [
    `Wrote ${out}`,
    `  everything as of ${formatInstant(manifest.snapshotAt)}: ${totalRows(contents)} rows of ${contents.tables.length} tables, ${formatMegabytes(bytes)}`,
    `  ${files.count} files, ${formatMegabytes(files.bytes)}`,
  ]
  if (files.missing > 0) {
    lines.push(
      `  ${files.missing} files were not in the data folder: removed since then, or kept by a gateway with another PARLEY_DATA_DIR`,
    )
  }
  for (const { store, bucket, files: count } of manifest.filesElsewhere) {
    lines.push(`  not in it: ${count} files in the bucket ${bucket} (${store}); back the bucket up by its own means`)
  }
  if (manifest.sealKey === 'environment') {
    lines.push('  not in it: PARLEY_SEAL_KEY; keep it, without it stored credentials cannot be opened')
  }
  lines.push(
    manifest.live
      ? 'A gateway may have gone on since: what came after that moment is not in it.'
      : 'No gateway ran meanwhile.',
    `Keep the file as secret as the gateway itself: it holds what people said${manifest.sealKey === 'included' ? ', and the key to stored credentials' : ''}.`,
  )
  return lines.join('\n')
}

// Backup and restore name the database they work on, and say when it is not there.

async function withBackupDatabase<T>(
  config: Config,
  open: (options: BackupDatabaseOptions) => Promise<BackupDatabase>,
  work: (place: BackupDatabase) => Promise<T>,
): Promise<T> {
  const place = await open({ config, tell: printRemark })
  try {
    return await work(place)
  } catch (error) {
    if (!isDatabaseUnavailable(error) || config.databaseUrl === undefined) throw error
    const { host } = new URL(config.databaseUrl.reveal())
    throw new CommandError(
      exitCodes.unreachable,
      'storage_unavailable',
      `no database answers at ${host}; check that it is up, and DATABASE_URL`,
    )
  } finally {
    await place.close()
  }
}

/** Without user and password. */
function databaseLocationText({ databaseUrl, dataDir }: Config): string {
  if (databaseUrl === undefined) return `the data folder ${dataDir}`
  const { host, pathname } = new URL(databaseUrl.reveal())
  return `the database ${pathname.slice(1)} at ${host}`
}

// A restore is checked to the last byte; all of it or nothing.

export const restoreCommand = defineCommand({
  name: 'restore',
  description: 'Fill an empty database from a backup, all of it or nothing; the old gateway must not run any more.',
  examples: [
    'parley restore parley-backup-2026-03-01T040000Z.tar.gz',
    'PARLEY_DATA_DIR=/srv/parley parley restore backup.tar.gz --yes',
    'DATABASE_URL=postgres://… parley restore backup.tar.gz --old-gateway stopped --yes --json',
  ],
  args: {
    file: { type: 'positional', required: true, description: 'A file that parley backup wrote' },
    'old-gateway': {
      type: 'enum',
      options: ['ran', 'stopped'],
      description:
        'Whether a gateway worked on the old database after the backup; then what waited may have been sent (default: as the backup says)',
    },
    ...yesArg,
    ...configArg,
    ...jsonArg,
  },
  async run(args) {
    const config = await loadConfigFromDisk(args.config)
    const file = resolve(args.file)
    if (!existsSync(file)) {
      throw new CommandError(exitCodes.notFound, 'not_found', `there is no file ${file}; correct the path`)
    }
    const { snapshotAt } = await readManifest(file)
    const into = databaseLocationText(config)
    await confirmOrAbort(
      `Restore the backup of ${formatInstant(snapshotAt)} into ${into}? No other gateway may use it`,
      args.yes,
    )
    let progress: BackupProgress | undefined
    const rememberRestoreProgress = (now: BackupProgress): void => {
      progress = now
    }
    const since = args['old-gateway'] === undefined ? {} : { hasWorkedSince: args['old-gateway'] === 'ran' }
    const { dataDir, tenant } = config
    const report = await withProgress(
      () => `restoring into ${into}${backupProgressText(progress)}`,
      () =>
        withBackupDatabase(config, openDatabaseForRestore, ({ databaseUrl }) =>
          restoreBackup({
            file,
            databaseUrl,
            dataDir,
            migrationsFolder,
            tenant,
            ...since,
            onProgress: rememberRestoreProgress,
          }),
        ),
    )
    printAnswer(args.json, restoreReportJson(report), restoreReportText(report, into))
  },
})

function restoreReportJson({ manifest, contents, ...work }: RestoreReport) {
  return {
    ok: true,
    snapshotAt: manifest.snapshotAt,
    live: manifest.live,
    tables: contents.tables.length,
    rows: totalRows(contents),
    files: contents.files.count,
    filesMissing: contents.files.missing,
    filesElsewhere: manifest.filesElsewhere,
    sealKey: manifest.sealKey,
    ...work,
  }
}

function restoreReportText(report: RestoreReport, into: string): string {
  const { manifest, contents } = report
  const lines = [
    `Restored into ${into}: ${totalRows(contents)} rows of ${contents.tables.length} tables and ${contents.files.count} files, each checked.`,
    `  as of ${formatInstant(manifest.snapshotAt)}; whatever was sent before is not sent again`,
    `  open turns: ${report.openTurns}, messages that wait: ${report.waitingMessages}, deliveries that wait: ${report.openDeliveries}; they go on when a gateway starts`,
  ]
  if (report.migrated > 0) lines.push(`  brought up to this release by ${report.migrated} migrations`)
  if (report.skippedTables.length > 0)
    lines.push(`  left out, as they are not the gateway's: ${report.skippedTables.join(', ')}`)
  for (const { store, bucket, files } of manifest.filesElsewhere)
    lines.push(`  ${files} files are in the bucket ${bucket} (${store}), which the configuration must name`)
  if (manifest.sealKey === 'environment') lines.push('  stored credentials need the PARLEY_SEAL_KEY of the old gateway')
  lines.push(...(report.isStale ? staleBackupLines(report) : freshBackupLines))
  return lines.join('\n')
}

function staleBackupLines({ manifest, doubted }: RestoreReport): readonly string[] {
  return [
    `What came after ${formatInstant(manifest.snapshotAt)} is unknown:`,
    '  messages that were taken since are missing, and their platforms will not deliver them again',
    '  turns that were open, and messages that waited, may have been answered since; they are worked on again',
    doubted === 0
      ? '  no delivery waited at that moment'
      : `  ${doubted} deliveries that waited may have left since: they are looked up or repeated where the platform can tell, else listed as unknown`,
    'See parley deliveries list --state unknown, and parley stats.',
  ]
}

const freshBackupLines = [
  'No gateway worked on it after the backup, so everything goes on where it stood. If one did: restore into a new database, with --old-gateway ran.',
]

// Starting the gateway migrates by itself too.

export const migrateCommand = defineCommand({
  name: 'migrate',
  description: 'Bring the database up to this release; parley start does the same by itself.',
  examples: ['parley migrate', 'DATABASE_URL=postgres://… parley migrate --json'],
  args: { ...configArg, ...jsonArg },
  async run(args) {
    const config = await loadConfigFromDisk(args.config)
    await withProgress('migrating', async () => {
      const opened = await openDatabase({
        config,
        migrationsFolder,
        lockServer: createStartingServer(),
        report: printRemark,
      })
      await opened.close()
    })
    printAnswer(args.json, { ok: true }, 'The database is up to date.')
  },
})
