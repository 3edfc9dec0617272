// The manifest of a backup: at its beginning what it was made from, at its end what must have been read by then.
import * as z from 'zod'
import { GatewayError } from '../../lib/errors.ts'
import { parseJson } from '../../lib/index.ts'

/** Raised when an older release could not read a newer backup. */
export const backupFormat = 1

export const entryNames = {
  manifest: 'manifest.json',
  sealKey: 'seal-key',
  /** The last entry: a backup without it is not whole. */
  contents: 'contents.json',
} as const

/** Every part ends with a line's end and can be loaded by itself. */
export const tablePartName = (table: string, part: number): string =>
  `tables/${table}.copy.${String(part).padStart(4, '0')}`
export const filesFolder = 'files/'
/** As `sha256sum` writes and checks it. */
export const checksumListPath = (part: number): string => `checksums/files.${String(part).padStart(4, '0')}.sha256`

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.number().int().nonnegative()

const manifestSchema = z.object({
  format: z.literal(backupFormat),
  /** The release that made it. */
  version: z.string(),
  /** By the database's clock: everything committed before is in it. */
  snapshotAt: z.iso.datetime(),
  /** A gateway may have gone on working after the snapshot. */
  live: z.boolean(),
  postgres: z.string(),
  migrations: z.array(z.number()),
  tables: z.array(z.object({ name: z.string().min(1), columns: z.array(z.string().min(1)).min(1) })),
  sequences: z.array(z.object({ name: z.string(), lastValue: z.string().regex(/^-?\d+$/), isCalled: z.boolean() })),
  /** `environment`: credentials are sealed with PARLEY_SEAL_KEY, which is not in here. */
  sealKey: z.enum(['included', 'environment', 'none']),
  /** Buckets whose files are not in here. */
  filesElsewhere: z.array(z.object({ store: z.string(), bucket: z.string(), files: count })),
})

const contentsSchema = z.object({
  tables: z.array(z.object({ name: z.string(), parts: count, rows: count, bytes: count, sha256 })),
  files: z.object({
    count,
    bytes: count,
    lists: count,
    /** Known to the database, and gone when they were to be read. */
    missing: count,
  }),
  sealKey: sha256.nullable(),
})

export type Manifest = z.infer<typeof manifestSchema>
export type Contents = z.infer<typeof contentsSchema>

export function parseManifest(text: string): Manifest {
  const read = parseJson(text)
  const format = z.object({ format: z.number() }).safeParse(read).data?.format
  if (format !== undefined && format > backupFormat) {
    throw new GatewayError(
      'schema_too_new',
      `[backup] this backup has format ${format}, and this release reads up to ${backupFormat}; restore it with a release at least as new as the one that made it`,
    )
  }
  const manifest = manifestSchema.safeParse(read)
  if (!manifest.success) throw backupDamagedError('its manifest cannot be read')
  return manifest.data
}

export function parseContents(text: string): Contents {
  const contents = contentsSchema.safeParse(parseJson(text))
  if (!contents.success) throw backupDamagedError('its list of contents cannot be read')
  return contents.data
}

// The two ways a restore says no: the backup is not whole, or it does not fit the place it shall go to.

export function backupDamagedError(why: string): GatewayError {
  return new GatewayError('backup_damaged', `[backup] ${why}; nothing was restored, use another copy of the backup`)
}

export function restoreRefusedError(why: string): GatewayError {
  return new GatewayError('restore_refused', `[backup] ${why}; nothing was restored`)
}

/** What is being written or read at the moment, for a person who waits. */
export type BackupProgress = { readonly what: string; readonly rows: number; readonly bytes: number }

export const lineEnd = 10

/** Rows: a line's end inside a value is written as two other characters. */
export function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, at + 1)) lines += 1
  return lines
}
