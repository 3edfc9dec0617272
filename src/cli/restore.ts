// `parley restore`: a backup into an empty database, checked to the last byte; all of it or nothing.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openForRestore } from '../node/backup/open-place.ts'
import { readManifest } from '../node/backup/read-archive.ts'
import { type RestoreReport, restoreBackup } from '../node/backup/restore-backup.ts'
import type { BackupProgress } from '../node/backup/table-lines.ts'
import { progressWords, totalRows } from './backup.ts'
import { command } from './command.ts'
import { confirm, yesArg } from './confirm.ts'
import { atDatabase, placeName } from './database-place.ts'
import { CommandError, exitCodes } from './exit.ts'
import { configArg, loadFromDisk, migrationsFolder } from './load.ts'
import { instant, jsonArg, print, withProgress } from './output.ts'

export const restoreCommand = command({
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
    const config = await loadFromDisk(args.config)
    const file = resolve(args.file)
    if (!existsSync(file)) {
      throw new CommandError(exitCodes.notFound, 'not_found', `there is no file ${file}; correct the path`)
    }
    const { snapshotAt } = await readManifest(file)
    const into = placeName(config)
    await confirm(`Restore the backup of ${instant(snapshotAt)} into ${into}? No other gateway may use it`, args.yes)
    let progress: BackupProgress | undefined
    const onProgress = (now: BackupProgress): void => {
      progress = now
    }
    const since = args['old-gateway'] === undefined ? {} : { hasWorkedSince: args['old-gateway'] === 'ran' }
    const { dataDir, tenant } = config
    const report = await withProgress(
      () => `restoring into ${into}${progressWords(progress)}`,
      () =>
        atDatabase(config, openForRestore, ({ databaseUrl }) =>
          restoreBackup({ file, databaseUrl, dataDir, migrationsFolder, tenant, ...since, onProgress }),
        ),
    )
    print(args.json, asJson(report), asText(report, into))
  },
})

function asJson({ manifest, contents, ...work }: RestoreReport) {
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

function asText(report: RestoreReport, into: string): string {
  const { manifest, contents } = report
  const lines = [
    `Restored into ${into}: ${totalRows(contents)} rows of ${contents.tables.length} tables and ${contents.files.count} files, each checked.`,
    `  as of ${instant(manifest.snapshotAt)}; whatever was sent before is not sent again`,
    `  open turns: ${report.openTurns}, messages that wait: ${report.waitingMessages}, deliveries that wait: ${report.openDeliveries}; they go on when a gateway starts`,
  ]
  if (report.migrated > 0) lines.push(`  brought up to this release by ${report.migrated} migrations`)
  if (report.skippedTables.length > 0)
    lines.push(`  left out, as they are not the gateway's: ${report.skippedTables.join(', ')}`)
  for (const { store, bucket, files } of manifest.filesElsewhere)
    lines.push(`  ${files} files are in the bucket ${bucket} (${store}), which the configuration must name`)
  if (manifest.sealKey === 'environment') lines.push('  stored credentials need the PARLEY_SEAL_KEY of the old gateway')
  lines.push(...(report.isStale ? staleLines(report) : freshLines))
  return lines.join('\n')
}

function staleLines({ manifest, doubted }: RestoreReport): readonly string[] {
  return [
    `What came after ${instant(manifest.snapshotAt)} is unknown:`,
    '  messages that were taken since are missing, and their platforms will not deliver them again',
    '  turns that were open, and messages that waited, may have been answered since; they are worked on again',
    doubted === 0
      ? '  no delivery waited at that moment'
      : `  ${doubted} deliveries that waited may have left since: they are looked up or repeated where the platform can tell, else listed as unknown`,
    'See parley deliveries list --state unknown, and parley books.',
  ]
}

const freshLines = [
  'No gateway worked on it after the backup, so everything goes on where it stood. If one did: restore into a new database, with --old-gateway ran.',
]
