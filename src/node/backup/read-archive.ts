// Reads a backup file entry by entry into tables and files, and checks it; whatever is wrong with the file itself is reported as
// damage.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { CopySql, CopyTable } from '../../db/postgres-copy.ts'
import { assertObjectKey } from '../../files/blob-store.ts'
import { isGatewayError } from '../../lib/errors.ts'
import { makeDataDir } from '../data-dir.ts'
import { folderBucket } from '../folder-blob-store.ts'
import {
  type BackupProgress,
  backupDamagedError,
  type Contents,
  countLines,
  entryNames,
  filesFolder,
  type Manifest,
  parseContents,
  parseManifest,
} from './manifest.ts'
import { ArchiveError, readTar, type TarEntry } from './tar.ts'

/** Manifest, contents, a list of checksums or a key: far below. */
const maxSmallEntryBytes = 64 * 1024 * 1024

type Entries = AsyncGenerator<TarEntry, void, undefined>

/** The first entry of a backup, without reading more of it. */
export async function readManifest(file: string): Promise<Manifest> {
  const entries = openArchive(file)
  try {
    return await readManifestEntry(entries)
  } catch (error) {
    throw toDamageError(file, error)
  } finally {
    await entries.return()
  }
}

export async function* openArchive(file: string): Entries {
  const source = createReadStream(file)
  const gunzip = createGunzip()
  pipeline(source, gunzip, () => {})
  try {
    yield* readTar(gunzip)
  } finally {
    source.destroy()
  }
}

/** What a decompressor or a header complains about while entries or their bodies are read; everything else is left as it is. */
export function toDamageError(file: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('Z_')) return backupDamagedError(`${file} is damaged, cut off, or no backup (${code})`)
  return error instanceof ArchiveError ? backupDamagedError(`${file} is damaged or no backup: ${error.message}`) : error
}

export async function readManifestEntry(entries: Entries): Promise<Manifest> {
  const { value: entry } = await entries.next()
  if (!entry || entry.name !== entryNames.manifest)
    throw backupDamagedError('this file is no backup: it has no manifest')
  return parseManifest((await readSmallEntry(entry)).toString('utf8'))
}

async function readSmallEntry({ name, size, body }: TarEntry): Promise<Buffer> {
  if (size > maxSmallEntryBytes) throw backupDamagedError(`${name} is too large`)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

// Rows go into their tables and files beside their target, while all of them are counted and hashed; then compared with the
// manifest.

type Loading = {
  readonly manifest: Manifest
  readonly skippedTables: readonly string[]
  readonly staging: string
  readonly onProgress: (progress: BackupProgress) => void
}

type TableTally = { parts: number; rows: number; bytes: number; readonly hash: ReturnType<typeof createHash> }

export async function loadArchiveEntries(
  sql: CopySql,
  entries: Entries,
  { manifest, skippedTables, staging, onProgress }: Loading,
): Promise<{ contents: Contents; sealKey: Buffer | undefined }> {
  const tables = new Map(manifest.tables.map((table) => [table.name, table]))
  const counters = new Map<string, TableTally>()
  const files = { count: 0, bytes: 0, lists: 0 }
  let unlisted: string[] = []
  let sealKey: Buffer | undefined
  let contents: Contents | undefined
  for await (const entry of entries) {
    const { name, size } = entry
    if (contents !== undefined) throw backupDamagedError(`${name} comes after the end of the backup`)
    const [, tableName, part] = /^tables\/(.+)\.copy\.(\d+)$/.exec(name) ?? []
    if (tableName !== undefined) {
      const table = tables.get(tableName)
      const tally = counters.get(tableName) ?? { parts: 0, rows: 0, bytes: 0, hash: createHash('sha256') }
      counters.set(tableName, tally)
      if (table === undefined || Number(part) !== tally.parts + 1)
        throw backupDamagedError(`${name} is not in its place`)
      tally.parts += 1
      await loadTablePart(sql, table, entry, tally, !skippedTables.includes(tableName))
      onProgress({ what: tableName, rows: tally.rows, bytes: tally.bytes })
    } else if (name.startsWith(filesFolder)) {
      unlisted.push(`${await stageAttachment(staging, entry)}  ${name}\n`)
      files.count += 1
      files.bytes += size
      onProgress({ what: 'files', rows: files.count, bytes: files.bytes })
    } else if (name.startsWith('checksums/')) {
      if ((await readSmallEntry(entry)).toString('utf8') !== unlisted.join(''))
        throw backupDamagedError('a file in it is damaged')
      unlisted = []
      files.lists += 1
    } else if (name === entryNames.sealKey) sealKey = await readSmallEntry(entry)
    else if (name === entryNames.contents) contents = parseContents((await readSmallEntry(entry)).toString('utf8'))
    else throw backupDamagedError(`it holds ${JSON.stringify(name)}, which is no part of a backup`)
  }
  if (contents === undefined) throw backupDamagedError('it is cut off: its list of contents is missing')
  requireWholeTables(manifest, contents, counters)
  requireWholeFiles(contents, files, unlisted, sealKey)
  return { contents, sealKey }
}

async function loadTablePart(
  sql: CopySql,
  table: CopyTable,
  { body }: TarEntry,
  tally: TableTally,
  isOurs: boolean,
): Promise<void> {
  let rows = 0
  const tallyWhileReading = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      tally.hash.update(chunk)
      tally.bytes += chunk.length
      rows += countLines(chunk)
      yield chunk
    }
  }
  const stored = isOurs
    ? await sql.copyIn(table, tallyWhileReading()).catch((error: unknown) => throwRefusedRowAsDamage(table, error))
    : undefined
  if (stored === undefined) for await (const _ of tallyWhileReading());
  if (stored !== undefined && stored !== rows)
    throw backupDamagedError(`the database took ${stored} of ${rows} rows of ${table.name}`)
  tally.rows += rows
}

/** Damage that a decompressor would notice only at the end may make a row that the database refuses before. */
function throwRefusedRowAsDamage({ name }: CopyTable, error: unknown): never {
  if (!isGatewayError(error, 'storage_refused_row')) throw error
  throw backupDamagedError(`the database refuses a row of ${name} in it (${String(error.details['sqlstate'])})`)
}

function requireWholeTables(manifest: Manifest, contents: Contents, counters: ReadonlyMap<string, TableTally>): void {
  const listed = new Map(contents.tables.map((table) => [table.name, table]))
  for (const { name } of manifest.tables) {
    const wanted = listed.get(name)
    if (wanted === undefined) throw backupDamagedError(`the table ${name} is missing in it`)
    const { parts, rows, bytes, hash } = counters.get(name) ?? {
      parts: 0,
      rows: 0,
      bytes: 0,
      hash: createHash('sha256'),
    }
    const isWhole = parts === wanted.parts && rows === wanted.rows && bytes === wanted.bytes
    if (!isWhole) throw backupDamagedError(`the table ${name} is not whole in it: ${rows} of ${wanted.rows} rows`)
    if (hash.digest('hex') !== wanted.sha256) throw backupDamagedError(`the table ${name} in it is damaged`)
  }
}

function requireWholeFiles(
  { files: wanted, sealKey: wantedKey }: Contents,
  files: { readonly count: number; readonly bytes: number; readonly lists: number },
  unlisted: readonly string[],
  sealKey: Buffer | undefined,
): void {
  const isWhole = files.count === wanted.count && files.bytes === wanted.bytes && files.lists === wanted.lists
  if (!isWhole || unlisted.length > 0) throw backupDamagedError(`${files.count} of ${wanted.count} files are in it`)
  const key = sealKey === undefined ? null : createHash('sha256').update(sealKey).digest('hex')
  if (key !== wantedKey) throw backupDamagedError('the seal key in it is missing or damaged')
}

/** Answers its checksum. */
async function stageAttachment(staging: string, { name, body }: TarEntry): Promise<string> {
  const key = name.slice(filesFolder.length)
  assertObjectKey(key)
  if (!key.startsWith(`${folderBucket}/`)) throw backupDamagedError(`${name} is not in its place`)
  const path = join(staging, key)
  await makeDataDir(dirname(path))
  const hash = createHash('sha256')
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of body) {
      hash.update(chunk)
      await file.writeFile(chunk)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}
