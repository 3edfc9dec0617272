// Makes a backup: one snapshot of every table, the files of the data folder and the seal key, streamed into one archive that
// is seen under its name once it is whole.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { constants, createWriteStream } from 'node:fs'
import { access, type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import {
  countFilesElsewhere,
  describeServer,
  listSequences,
  listStoredFiles,
  listTables,
  lockTablesForBackupStatement,
  readSequenceStatement,
  steadySettings,
} from '../../db/backup.ts'
import { type CopySql, type CopyTable, inCopyTransaction } from '../../db/postgres-copy.ts'
import { readAppliedMigrations } from '../../db/schema-version.ts'
import { assertObjectKey } from '../../files/blob-store.ts'
import { GatewayError } from '../../lib/errors.ts'
import { attachmentsFolder, folderBucket, folderStoreName } from '../folder-blob-store.ts'
import { sealKeyPath } from '../gateway-secrets.ts'
import {
  type BackupProgress,
  backupFormat,
  type Contents,
  checksumListPath,
  countLines,
  entryNames,
  filesFolder,
  lineEnd,
  type Manifest,
  tablePartName,
} from './manifest.ts'
import { createTarWriter, type TarWriter } from './tar.ts'

/** A part of a table is held in memory, so that its size can be written before it. */
const partBytes = 4 * 1024 * 1024
const filesPerList = 1000

export type BackupReport = {
  readonly manifest: Manifest
  readonly contents: Contents
}

export type BackupOptions = {
  readonly databaseUrl: string
  /** A gateway may be at work meanwhile and afterwards. */
  readonly isLive: boolean
  readonly dataDir: string
  /** PARLEY_SEAL_KEY is set: credentials may be sealed with it. */
  readonly hasSealKeyElsewhere: boolean
  readonly out: string
  readonly version: string
  readonly onProgress?: (progress: BackupProgress) => void
}

export async function writeBackup(options: BackupOptions): Promise<BackupReport> {
  await refuseExistingBackupFile(options.out)
  const draft = `${options.out}.${randomBytes(6).toString('hex')}.part`
  try {
    const source = { url: options.databaseUrl, applicationName: 'parley backup', mode: 'snapshot' } as const
    const report = await inCopyTransaction(source, (sql) => writeBackupDraft(sql, draft, options))
    await rename(draft, options.out)
    await fsyncFolder(dirname(options.out))
    return report
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeBackupDraft(sql: CopySql, draft: string, options: BackupOptions): Promise<BackupReport> {
  // First of all, so that what is read afterwards is as of the moment that the backup names.
  const manifest = await buildManifestFromDatabase(sql, options)
  const sink = openBackupSink(draft)
  try {
    const tar = createTarWriter(sink.write, new Date(manifest.snapshotAt))
    const contents = await writeEntries(sql, tar, manifest, options)
    await tar.finish()
    await sink.finish()
    return { manifest, contents }
  } finally {
    await sink.close()
  }
}

async function refuseExistingBackupFile(out: string): Promise<void> {
  const isThere = await access(out).then(
    () => true,
    () => false,
  )
  if (isThere) throw new GatewayError('conflict', `[backup] ${out} exists already; choose another name with --out`)
}

type Facts = { readonly snapshotAt: string; readonly serverVersion: string; readonly isMigrated: boolean }

async function buildManifestFromDatabase(sql: CopySql, options: BackupOptions): Promise<Manifest> {
  await sql.query(steadySettings, [])
  const [facts] = await sql.query<Facts>(describeServer, [])
  if (facts?.isMigrated !== true) {
    throw new GatewayError(
      'schema_missing',
      '[backup] this database holds no gateway yet, so there is nothing to back up; check DATABASE_URL and PARLEY_DATA_DIR',
    )
  }
  const tables = await sql.query<CopyTable>(listTables, [])
  await sql.script(lockTablesForBackupStatement(tables.map(({ name }) => name)))
  return {
    format: backupFormat,
    version: options.version,
    snapshotAt: facts.snapshotAt,
    live: options.isLive,
    postgres: facts.serverVersion,
    migrations: (await readAppliedMigrations(sql)).map(({ madeAt }) => madeAt),
    tables: tables.map(({ name, columns }) => ({ name, columns: [...columns] })),
    sequences: await readSequences(sql),
    sealKey: await classifySealKeySource(options),
    filesElsewhere: [...(await sql.query<Manifest['filesElsewhere'][number]>(countFilesElsewhere, [folderStoreName]))],
  }
}

/** Sequences are in no snapshot. They only grow, so one that is read later is beyond every row that is in it. */
async function readSequences(sql: CopySql): Promise<Manifest['sequences']> {
  const found: Manifest['sequences'] = []
  for (const { name } of await sql.query<{ name: string }>(listSequences, [])) {
    const [value] = await sql.query<{ lastValue: string; isCalled: boolean }>(readSequenceStatement(name), [])
    if (value !== undefined) found.push({ name, ...value })
  }
  return found
}

async function classifySealKeySource({ dataDir, hasSealKeyElsewhere }: BackupOptions): Promise<Manifest['sealKey']> {
  if ((await readSealKey(dataDir)) !== undefined) return 'included'
  return hasSealKeyElsewhere ? 'environment' : 'none'
}

async function readSealKey(dataDir: string): Promise<Buffer | undefined> {
  return readFile(sealKeyPath(dataDir)).catch(undefinedIfMissing)
}

async function writeEntries(
  sql: CopySql,
  tar: TarWriter,
  manifest: Manifest,
  { dataDir, onProgress = () => {} }: BackupOptions,
): Promise<Contents> {
  await addJsonEntry(tar, entryNames.manifest, manifest)
  const sealKey = manifest.sealKey === 'included' ? await readSealKey(dataDir) : undefined
  if (sealKey !== undefined) await tar.add(entryNames.sealKey, sealKey.length, [sealKey])
  const tables: Contents['tables'] = []
  for (const table of manifest.tables) tables.push(await writeTableEntries(sql, tar, table, onProgress))
  const files = await writeFiles(sql, tar, dataDir, onProgress)
  const contents = { tables, files, sealKey: sealKey === undefined ? null : hashBuffer(sealKey) }
  await addJsonEntry(tar, entryNames.contents, contents)
  return contents
}

async function addJsonEntry(tar: TarWriter, name: string, value: unknown): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 1)}\n`)
  await tar.add(name, bytes.length, [bytes])
}

async function writeTableEntries(
  sql: CopySql,
  tar: TarWriter,
  table: CopyTable,
  onProgress: (progress: BackupProgress) => void,
): Promise<Contents['tables'][number]> {
  const hash = createHash('sha256')
  let [parts, rows, bytes] = [0, 0, 0]
  let held: Buffer[] = []
  let heldBytes = 0
  const flushTablePart = async (): Promise<void> => {
    if (heldBytes === 0) return
    parts += 1
    await tar.add(tablePartName(table.name, parts), heldBytes, held)
    held = []
    heldBytes = 0
  }
  for await (const chunk of sql.copyOut(table)) {
    hash.update(chunk)
    rows += countLines(chunk)
    bytes += chunk.length
    held.push(chunk)
    heldBytes += chunk.length
    onProgress({ what: table.name, rows, bytes })
    if (heldBytes >= partBytes && chunk.at(-1) === lineEnd) await flushTablePart()
  }
  await flushTablePart()
  return { name: table.name, parts, rows, bytes, sha256: hash.digest('hex') }
}

async function writeFiles(
  sql: CopySql,
  tar: TarWriter,
  dataDir: string,
  onProgress: (progress: BackupProgress) => void,
): Promise<Contents['files']> {
  const folder = attachmentsFolder(dataDir)
  let [count, bytes, lists, missing] = [0, 0, 0, 0]
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const page = await sql.query<{ id: string; bucket: string; path: string }>(listStoredFiles, [
      folderStoreName,
      after,
      filesPerList,
    ])
    const lines: string[] = []
    for (const { bucket, path } of page) {
      const name = `${filesFolder}${bucket}/${path}`
      const file = bucket === folderBucket ? await openStoredFile(folder, bucket, path) : undefined
      if (file === undefined) {
        missing += 1
        continue
      }
      const added = await addFileEntry(tar, name, file)
      lines.push(`${added.sha256}  ${name}\n`)
      count += 1
      bytes += added.bytes
      onProgress({ what: 'files', rows: count, bytes })
    }
    if (lines.length > 0) {
      lists += 1
      const list = Buffer.from(lines.join(''))
      await tar.add(checksumListPath(lists), list.length, [list])
    }
    const last = page.at(-1)
    if (last === undefined || page.length < filesPerList) return { count, bytes, lists, missing }
    after = last.id
  }
}

/** Undefined: it was removed since the snapshot, or lies in another machine's folder. */
async function openStoredFile(folder: string, bucket: string, path: string): Promise<FileHandle | undefined> {
  assertObjectKey(path)
  return open(join(folder, bucket, path), constants.O_RDONLY | constants.O_NOFOLLOW).catch(undefinedIfMissing)
}

async function addFileEntry(
  tar: TarWriter,
  name: string,
  file: FileHandle,
): Promise<{ bytes: number; sha256: string }> {
  try {
    const { size } = await file.stat()
    const hash = createHash('sha256')
    const hashWhileReading = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of file.createReadStream({ autoClose: false })) {
        hash.update(chunk)
        yield chunk
      }
    }
    await tar.add(name, size, hashWhileReading())
    return { bytes: size, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}

function hashBuffer(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
  throw error
}

// The file is compressed, under a temporary name until it is whole and on the disk.

/** Most of what a better level would save is text that is stored twice already. */
const gzipLevel = 4

export type Sink = {
  readonly write: (bytes: Buffer) => Promise<void>
  /** On the disk when it resolves. */
  readonly finish: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Only its owner may read it: it holds what people said, and the key to the credentials. */
function openBackupSink(path: string): Sink {
  const gzip = createGzip({ level: gzipLevel })
  const written = pipeline(gzip, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
  written.catch(() => {})
  return {
    async write(bytes) {
      if (gzip.destroyed) await written
      if (!gzip.write(bytes)) await Promise.race([once(gzip, 'drain'), written])
    },
    async finish() {
      gzip.end()
      await written
    },
    async close() {
      gzip.destroy()
      await written.catch(() => {})
    },
  }
}

/** A rename is durable once its folder is. */
async function fsyncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
