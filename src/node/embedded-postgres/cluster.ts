// The database cluster of an embedded PostgreSQL: created once, whole or not at all.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { basename, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { GatewayError } from '../../lib/errors.ts'
import { majorVersion, type Programs } from './binaries.ts'
import { clusterOwner, runProgram } from './run-as.ts'

/** Role and database. */
export const roleName = 'parley'

const unfinished = 'postgres.new-'

/**
 * Fixed when a database is made. `lower` and `ilike` follow Unicode with PostgreSQL's own rules, the same on every system; word
 * characters, by which trigrams are cut, are the C library's, so its character type must know more than ASCII.
 */
const characterTypes =
  process.platform === 'darwin' ? ['C.UTF-8', 'UTF-8', 'en_US.UTF-8', 'C'] : ['C.UTF-8', 'C.utf8', 'en_US.UTF-8', 'C']

export function clusterExists(folder: string): boolean {
  return existsSync(join(folder, 'PG_VERSION'))
}

/** Filled under another name and then renamed: a start that dies half-way leaves nothing that looks like a database. */
export async function createCluster(made: Programs): Promise<void> {
  const { dataDir, folder, runAs } = made
  await removeUnfinishedClusters(dataDir)
  const fresh = join(dataDir, `${unfinished}${randomBytes(6).toString('hex')}`)
  try {
    for (const [at, characterType] of characterTypes.entries()) {
      await mkdir(fresh, { mode: 0o700 })
      const owner = clusterOwner(runAs)
      if (owner !== undefined) await chown(fresh, owner.uid, owner.gid)
      const problem = await initializeCluster(fresh, characterType, made)
      if (problem === undefined) break
      if (!/locale/i.test(problem) || at === characterTypes.length - 1) throw clusterNotCreatedError(problem)
      await rm(fresh, { recursive: true, force: true })
    }
  } catch (error) {
    await removeUnfinishedClusters(dataDir)
    throw error
  }
  await rename(fresh, folder).catch(() => {
    throw new GatewayError(
      'embedded_postgres_failed',
      `[storage] ${folder} holds something that is no database; move it away, or choose another folder with PARLEY_DATA_DIR`,
    )
  })
  await flushFolderToDisk(dataDir)
}

/** Undefined, or why it could not be. */
async function initializeCluster(folder: string, characterType: string, made: Programs): Promise<string | undefined> {
  if (made.runAs.kind !== 'self' || hasCurrentUserName()) return runInitdb(folder, characterType, made)
  // initdb looks up the name of its user, which a container started with --user 12345 does not have.
  if (hasClusterTemplate()) {
    await unpackCluster(templateFile, folder)
    return undefined
  }
  return runInitdb(folder, characterType, { ...made, runAs: { kind: 'namespace' } })
}

function runInitdb(folder: string, characterType: string, { binaries, runAs }: Programs): Promise<string | undefined> {
  return runProgram(runAs, binaries.initdb, binaries.libraryPath, [
    `--pgdata=${folder}`,
    `--username=${roleName}`,
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale=C',
    `--lc-ctype=${characterType}`,
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ])
}

function hasCurrentUserName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

function clusterNotCreatedError(problem: string): GatewayError {
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] a new PostgreSQL database could not be made (${problem}); check free space and permissions of the data folder`,
  )
}

/** A killed start's initdb may still be writing into its folder; what cannot be removed now goes next time. */
async function removeUnfinishedClusters(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith(unfinished))
  for (const name of names) {
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  }
}

async function flushFolderToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync()
  await handle.close()
}

/** A newer package cannot open an older folder; PostgreSQL says so too, but not what to do. */
export async function requireSamePostgresVersion(folder: string): Promise<void> {
  const stored = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim()
  if (stored === majorVersion) return
  throw new GatewayError(
    'embedded_postgres_failed',
    `[storage] ${folder} was made by PostgreSQL ${stored}, this release has ${majorVersion}; run parley backup with the release that made it, then parley restore with this one into another PARLEY_DATA_DIR`,
  )
}

/** Folders of releases before 0.2.0 are not read: an empty gateway beside them would look like lost messages. */
export function refuseFolderOfOlderRelease(dataDir: string): void {
  const isOlder = ['database/PG_VERSION', 'postgres.pgpass'].some((name) => existsSync(join(dataDir, name)))
  if (!isOlder) return
  throw new GatewayError(
    'embedded_postgres_failed',
    `[storage] ${dataDir} holds a database of a release before 0.2.0, which this one does not read; move the folder away, or choose another one with PARLEY_DATA_DIR`,
  )
}

// A cluster that initdb made when the package was built, in one file: for users whom initdb refuses, because their number
// has no name (`docker run --user 12345`).

/** Beside the bundle; a checkout that is not packed has none. */
const templateFile = join(import.meta.dirname, 'database-template.br')

function hasClusterTemplate(): boolean {
  return existsSync(templateFile)
}

type Index = { readonly folders: readonly string[]; readonly files: readonly (readonly [path: string, size: number])[] }

const modeOfFolder = 0o700
const modeOfFile = 0o600
const indexLengthBytes = 4

/** Files of one name stand together: the three databases of a new folder are nearly the same. */
export async function packCluster(folder: string, file: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const sorted = paths.toSorted(
    (one, other) => basename(one).localeCompare(basename(other)) || one.localeCompare(other),
  )
  const contents: Buffer[] = []
  for (const path of sorted) contents.push(await readFile(path))
  const index: Index = {
    folders: entries
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name))),
    files: sorted.map((path, at) => [relative(folder, path), contents[at]?.byteLength ?? 0]),
  }
  const head = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(indexLengthBytes)
  length.writeUInt32BE(head.byteLength)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 }
  await writeFile(file, await promisify(brotliCompress)(Buffer.concat([length, head, ...contents]), { params }))
}

/** `folder` exists and is empty. */
export async function unpackCluster(file: string, folder: string): Promise<void> {
  const bytes = await promisify(brotliDecompress)(await readFile(file))
  let at = indexLengthBytes + bytes.readUInt32BE(0)
  // Written by packCluster of the same release.
  const { folders, files } = JSON.parse(bytes.subarray(indexLengthBytes, at).toString('utf8')) as Index
  for (const path of folders) await mkdir(join(folder, path), { recursive: true, mode: modeOfFolder })
  for (const [path, size] of files) {
    const written = await open(join(folder, path), 'w', modeOfFile)
    await written.writeFile(bytes.subarray(at, at + size))
    await written.sync()
    await written.close()
    at += size
  }
}
