// Databases and folders to back up from and restore into, and what is in them, row by row.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGunzip, gzipSync } from 'node:zlib'
import { listTables } from '../../src/db/backup.ts'
import { type CopyTable, inCopyTransaction } from '../../src/db/postgres-copy.ts'
import { type RestoreReport, restoreBackup } from '../../src/node/backup/restore-backup.ts'
import { createTarWriter, readTar } from '../../src/node/backup/tar.ts'
import { type BackupReport, writeBackup } from '../../src/node/backup/write-backup.ts'
import { clonedDatabase, migrationsFolder } from '../setup/cloned-database.ts'
import { createPostgresDatabase, type TestDatabase } from '../setup/databases.ts'

export type Place = TestDatabase & { readonly dataDir: string }

export type BackupScene = {
  /** A migrated database and a data folder. */
  readonly used: () => Promise<Place>
  /** A database without any table, and a data folder that does not exist yet. */
  readonly fresh: () => Promise<Place>
  readonly path: (name: string) => string
  readonly close: () => Promise<void>
}

export async function createBackupScene(adminUrl: string): Promise<BackupScene> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-backup-'))
  const places: Place[] = []
  const at = (database: TestDatabase): Place => {
    const place = { ...database, dataDir: join(folder, `data-${places.length}`) }
    places.push(place)
    return place
  }
  return {
    used: async () => at(await clonedDatabase(adminUrl)),
    fresh: async () => at(await createPostgresDatabase(adminUrl)),
    path: (name) => join(folder, name),
    async close() {
      for (const place of places) await place.drop()
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

export function backUp(from: Place, out: string, isLive = false): Promise<BackupReport> {
  return writeBackup({
    databaseUrl: from.url,
    isLive,
    dataDir: from.dataDir,
    hasSealKeyElsewhere: false,
    out,
    version: '0.0.0-test',
  })
}

type RestoreChanges = { readonly hasWorkedSince?: boolean; readonly migrationsFolder?: string }

export function restore(file: string, into: Place, changes: RestoreChanges = {}): Promise<RestoreReport> {
  const { url: databaseUrl, dataDir } = into
  return restoreBackup({ file, databaseUrl, dataDir, migrationsFolder, tenant: 'default', ...changes })
}

/** Every table's rows as text, sorted. */
export function readTables(url: string): Promise<Record<string, readonly string[]>> {
  return inCopyTransaction({ url, applicationName: 'test', mode: 'snapshot' }, async (sql) => {
    const found: Record<string, readonly string[]> = {}
    for (const table of await sql.query<CopyTable>(listTables, [])) {
      const pieces: Buffer[] = []
      for await (const piece of sql.copyOut(table)) pieces.push(piece)
      found[table.name] = Buffer.concat(pieces).toString('utf8').split('\n').slice(0, -1).toSorted()
    }
    return found
  })
}

export type Entry = readonly [name: string, body: Buffer]

/** The same backup with other entries: for damage that no decompressor notices. */
export async function rewriteBackup(
  file: string,
  change: (entries: readonly Entry[]) => readonly Entry[],
): Promise<Buffer> {
  const entries: Entry[] = []
  for await (const { name, body } of readTar(createReadStream(file).pipe(createGunzip()))) {
    const pieces: Buffer[] = []
    for await (const piece of body) pieces.push(piece)
    entries.push([name, Buffer.concat(pieces)])
  }
  const written: Buffer[] = []
  const tar = createTarWriter(async (bytes) => void written.push(bytes), new Date(0))
  for (const [name, body] of change(entries)) await tar.add(name, body.length, [body])
  await tar.finish()
  return gzipSync(Buffer.concat(written))
}
