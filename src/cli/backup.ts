// `parley backup`: one file with everything a gateway keeps, made while it works on.
import { resolve } from 'node:path'
import { openDatabaseForBackup } from '../node/backup/open-place.ts'
import type { BackupProgress } from '../node/backup/table-lines.ts'
import { type BackupReport, writeBackup } from '../node/backup/write-backup.ts'
import { defineCommand } from './command.ts'
import { withDatabase } from './database-place.ts'
import { configArg, loadConfigFromDisk } from './load.ts'
import { formatInstant, jsonArg, print, withProgress } from './output.ts'
import { version } from './version.ts'

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
    const onBackupProgress = (now: BackupProgress): void => {
      progress = now
    }
    const report = await withProgress(
      () => `writing ${out}${backupProgressText(progress)}`,
      () =>
        withDatabase(config, openDatabaseForBackup, ({ databaseUrl, isLive }) =>
          writeBackup({
            databaseUrl,
            isLive,
            dataDir: config.dataDir,
            hasSealKeyElsewhere: config.sealKeys.length > 0,
            out,
            version,
            onProgress: onBackupProgress,
          }),
        ),
    )
    print(args.json, backupReportJson(report, out), backupReportText(report, out))
  },
})

function defaultBackupName(now: Date): string {
  return `parley-backup-${now.toISOString().slice(0, 19).replaceAll(':', '')}Z.tar.gz`
}

/** `: inbox, 120000 rows, 85 MB`; empty before the first row. */
export function backupProgressText(progress: BackupProgress | undefined): string {
  if (progress === undefined) return ''
  const { what, rows, bytes } = progress
  return `: ${what}, ${what === 'files' ? `${rows}` : `${rows} rows`}, ${megabytes(bytes)}`
}

function megabytes(bytes: number): string {
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

export function totalRows({ tables }: BackupReport['contents']): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0)
}

function backupReportText({ manifest, contents }: BackupReport, out: string): string {
  const bytes = contents.tables.reduce((sum, table) => sum + table.bytes, 0)
  const { files } = contents
  const lines = [
    `Wrote ${out}`,
    `  everything as of ${formatInstant(manifest.snapshotAt)}: ${totalRows(contents)} rows of ${contents.tables.length} tables, ${megabytes(bytes)}`,
    `  ${files.count} files, ${megabytes(files.bytes)}`,
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
