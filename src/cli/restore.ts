// `parley restore`: a backup into an empty database, checked to the last byte; all of it or nothing.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openDatabaseForRestore } from '../node/backup/open-place.ts'
import { readManifest } from '../node/backup/read-archive.ts'
import { type RestoreReport, restoreBackup } from '../node/backup/restore-backup.ts'
import type { BackupProgress } from '../node/backup/table-lines.ts'
import { backupProgressText, totalRows } from './backup.ts'
import { defineCommand } from './command.ts'
import { confirmOrAbort, yesArg } from './confirm.ts'
import { databaseName, withDatabase } from './database-place.ts'
import { CommandError, exitCodes } from './exit.ts'
import { configArg, loadConfigFromDisk, migrationsFolder } from './load.ts'
import { formatInstant, jsonArg, print, withProgress } from './output.ts'

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
    const into = databaseName(config)
    await confirmOrAbort(
      `Restore the backup of ${formatInstant(snapshotAt)} into ${into}? No other gateway may use it`,
      args.yes,
    )
    let progress: BackupProgress | undefined
    const onRestoreProgress = (now: BackupProgress): void => {
      progress = now
    }
    const since = args['old-gateway'] === undefined ? {} : { hasWorkedSince: args['old-gateway'] === 'ran' }
    const { dataDir, tenant } = config
    const report = await withProgress(
      () => `restoring into ${into}${backupProgressText(progress)}`,
      () =>
        withDatabase(config, openDatabaseForRestore, ({ databaseUrl }) =>
          restoreBackup({
            file,
            databaseUrl,
            dataDir,
            migrationsFolder,
            tenant,
            ...since,
            onProgress: onRestoreProgress,
          }),
        ),
    )
    print(args.json, restoreReportJson(report), restoreReportText(report, into))
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
    'See parley deliveries list --state unknown, and parley books.',
  ]
}

const freshBackupLines = [
  'No gateway worked on it after the backup, so everything goes on where it stood. If one did: restore into a new database, with --old-gateway ran.',
]
