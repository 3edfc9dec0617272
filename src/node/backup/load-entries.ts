// Rows into their tables and files beside their place, while all of them are counted and hashed; then held against what the
// backup says it holds.
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assertKey } from '../../attachments/drivers/object-key.ts'
import { isGatewayError } from '../../contract/index.ts'
import type { CopySql, CopyTable } from '../../storage/postgres-copy.ts'
import { makeDataDir } from '../data-dir.ts'
import { folderBucket } from '../open-files.ts'
import { damaged } from './backup-errors.ts'
import { type Contents, entryNames, filesFolder, type Manifest, parseContents } from './manifest.ts'
import { type Entries, readSmall } from './read-archive.ts'
import { type BackupProgress, countLines } from './table-lines.ts'
import type { TarEntry } from './tar.ts'

type Loading = {
  readonly manifest: Manifest
  readonly skippedTables: readonly string[]
  readonly staging: string
  readonly onProgress: (progress: BackupProgress) => void
}

type TableTally = { parts: number; rows: number; bytes: number; readonly hash: ReturnType<typeof createHash> }

export async function loadEntries(
  sql: CopySql,
  entries: Entries,
  { manifest, skippedTables, staging, onProgress }: Loading,
): Promise<{ contents: Contents; sealKey: Buffer | undefined }> {
  const tables = new Map(manifest.tables.map((table) => [table.name, table]))
  const tallies = new Map<string, TableTally>()
  const files = { count: 0, bytes: 0, lists: 0 }
  let unlisted: string[] = []
  let sealKey: Buffer | undefined
  let contents: Contents | undefined
  for await (const entry of entries) {
    const { name, size } = entry
    if (contents !== undefined) throw damaged(`${name} comes after the end of the backup`)
    const [, tableName, part] = /^tables\/(.+)\.copy\.(\d+)$/.exec(name) ?? []
    if (tableName !== undefined) {
      const table = tables.get(tableName)
      const tally = tallies.get(tableName) ?? { parts: 0, rows: 0, bytes: 0, hash: createHash('sha256') }
      tallies.set(tableName, tally)
      if (table === undefined || Number(part) !== tally.parts + 1) throw damaged(`${name} is not in its place`)
      tally.parts += 1
      await loadPart(sql, table, entry, tally, !skippedTables.includes(tableName))
      onProgress({ what: tableName, rows: tally.rows, bytes: tally.bytes })
    } else if (name.startsWith(filesFolder)) {
      unlisted.push(`${await stageFile(staging, entry)}  ${name}\n`)
      files.count += 1
      files.bytes += size
      onProgress({ what: 'files', rows: files.count, bytes: files.bytes })
    } else if (name.startsWith('checksums/')) {
      if ((await readSmall(entry)).toString('utf8') !== unlisted.join('')) throw damaged('a file in it is damaged')
      unlisted = []
      files.lists += 1
    } else if (name === entryNames.sealKey) sealKey = await readSmall(entry)
    else if (name === entryNames.contents) contents = parseContents((await readSmall(entry)).toString('utf8'))
    else throw damaged(`it holds ${JSON.stringify(name)}, which is no part of a backup`)
  }
  if (contents === undefined) throw damaged('it is cut off: its list of contents is missing')
  requireTables(manifest, contents, tallies)
  requireFiles(contents, files, unlisted, sealKey)
  return { contents, sealKey }
}

async function loadPart(
  sql: CopySql,
  table: CopyTable,
  { body }: TarEntry,
  tally: TableTally,
  isOurs: boolean,
): Promise<void> {
  let rows = 0
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      tally.hash.update(chunk)
      tally.bytes += chunk.length
      rows += countLines(chunk)
      yield chunk
    }
  }
  const stored = isOurs
    ? await sql.copyIn(table, counted()).catch((error: unknown) => asRefusedRow(table, error))
    : undefined
  if (stored === undefined) for await (const _ of counted());
  if (stored !== undefined && stored !== rows)
    throw damaged(`the database took ${stored} of ${rows} rows of ${table.name}`)
  tally.rows += rows
}

/** Damage that a decompressor would notice only at the end may make a row that the database refuses before. */
function asRefusedRow({ name }: CopyTable, error: unknown): never {
  if (!isGatewayError(error, 'storage_refused_row')) throw error
  throw damaged(`the database refuses a row of ${name} in it (${String(error.details['sqlstate'])})`)
}

function requireTables(manifest: Manifest, contents: Contents, tallies: ReadonlyMap<string, TableTally>): void {
  const listed = new Map(contents.tables.map((table) => [table.name, table]))
  for (const { name } of manifest.tables) {
    const wanted = listed.get(name)
    if (wanted === undefined) throw damaged(`the table ${name} is missing in it`)
    const { parts, rows, bytes, hash } = tallies.get(name) ?? {
      parts: 0,
      rows: 0,
      bytes: 0,
      hash: createHash('sha256'),
    }
    const isWhole = parts === wanted.parts && rows === wanted.rows && bytes === wanted.bytes
    if (!isWhole) throw damaged(`the table ${name} is not whole in it: ${rows} of ${wanted.rows} rows`)
    if (hash.digest('hex') !== wanted.sha256) throw damaged(`the table ${name} in it is damaged`)
  }
}

function requireFiles(
  { files: wanted, sealKey: wantedKey }: Contents,
  files: { readonly count: number; readonly bytes: number; readonly lists: number },
  unlisted: readonly string[],
  sealKey: Buffer | undefined,
): void {
  const isWhole = files.count === wanted.count && files.bytes === wanted.bytes && files.lists === wanted.lists
  if (!isWhole || unlisted.length > 0) throw damaged(`${files.count} of ${wanted.count} files are in it`)
  const key = sealKey === undefined ? null : createHash('sha256').update(sealKey).digest('hex')
  if (key !== wantedKey) throw damaged('the seal key in it is missing or damaged')
}

/** Answers its checksum. */
async function stageFile(staging: string, { name, body }: TarEntry): Promise<string> {
  const key = name.slice(filesFolder.length)
  assertKey(key)
  if (!key.startsWith(`${folderBucket}/`)) throw damaged(`${name} is not in its place`)
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
