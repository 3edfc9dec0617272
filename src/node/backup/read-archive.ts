// The entries of a backup file, one after the other; whatever is wrong with the file itself is told as damage.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { backupDamagedError } from './backup-errors.ts'
import { entryNames, type Manifest, parseManifest } from './manifest.ts'
import { ArchiveError, readTar, type TarEntry } from './tar.ts'

/** Manifest, contents, a list of checksums or a key: far below. */
const maxSmallEntryBytes = 64 * 1024 * 1024

export type Entries = AsyncGenerator<TarEntry, void, undefined>

/** The first entry of a backup, without reading more of it. */
export async function readManifest(file: string): Promise<Manifest> {
  const entries = openArchive(file)
  try {
    return await firstEntry(entries)
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

export async function firstEntry(entries: Entries): Promise<Manifest> {
  const { value: entry } = await entries.next()
  if (!entry || entry.name !== entryNames.manifest)
    throw backupDamagedError('this file is no backup: it has no manifest')
  return parseManifest((await readSmallEntry(entry)).toString('utf8'))
}

export async function readSmallEntry({ name, size, body }: TarEntry): Promise<Buffer> {
  if (size > maxSmallEntryBytes) throw backupDamagedError(`${name} is too large`)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}
