// The user that PostgreSQL's programs run as. They refuse root, so root starts them in one of three ways; any other user as itself.
import { execFile } from 'node:child_process'
import { chmod, chown, lchown, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

type Ids = { readonly uid: number; readonly gid: number }

export type RunAs =
  | { readonly kind: 'self' }
  /** As another user, who must be able to enter every folder on the way. */
  | ({ readonly kind: 'user' } & Ids)
  /** In a user namespace where our files are another user's: for folders that only root can enter. */
  | { readonly kind: 'namespace' }
  /** As another user who may enter every folder: where there are no user namespaces. */
  | ({ readonly kind: 'capability' } & Ids)

export type Command = {
  readonly file: string
  readonly args: readonly string[]
  readonly options: { readonly env: NodeJS.ProcessEnv; readonly uid?: number; readonly gid?: number }
}

/** An ordinary user that minimal systems have too. */
const accountNames = ['postgres', 'nobody'] as const
const namespaceId = 65_534

/** None of our environment goes along: it holds tokens. */
export function buildCommandToRunAs(runAs: RunAs, program: string, args: readonly string[], libraryPath = ''): Command {
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'
  const library = libraryPath === '' ? {} : { [variable]: libraryPath }
  const env = { ...library, PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }
  switch (runAs.kind) {
    case 'self':
      return { file: program, args, options: { env } }
    case 'user':
      return { file: program, args, options: { env, uid: runAs.uid, gid: runAs.gid } }
    case 'namespace': {
      const mapped = ['--user', `--map-user=${namespaceId}`, `--map-group=${namespaceId}`, '--']
      return { file: 'unshare', args: [...mapped, program, ...args], options: { env } }
    }
    case 'capability': {
      const ids = [`--reuid=${runAs.uid}`, `--regid=${runAs.gid}`, '--clear-groups']
      const caps = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--']
      return { file: 'setpriv', args: [...ids, ...caps, program, ...args], options: { env } }
    }
  }
}

/** Who owns the files of a program that runs so; undefined: we do. */
export function clusterOwner(runAs: RunAs): Ids | undefined {
  return runAs.kind === 'user' || runAs.kind === 'capability' ? { uid: runAs.uid, gid: runAs.gid } : undefined
}

export type RunAsPaths = {
  /** Exists; the database's own folder will be, or is, in it. */
  readonly dataDir: string
  /** The database's folder, which may not exist yet. */
  readonly folder: string
  readonly postgres: string
  readonly libraryPath: string
}

/** The first way that works here, tried with the program itself; undefined where none does. */
export async function chooseRunAs(places: RunAsPaths): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return { kind: 'self' }
  const found = await stat(places.folder).catch(() => undefined)
  const other =
    found !== undefined && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : await findUnprivilegedAccount()
  const asOther: readonly RunAs[] = other === undefined ? [] : [{ kind: 'user', ...other }]
  const withCapability: readonly RunAs[] = other === undefined ? [] : [{ kind: 'capability', ...other }]
  const inNamespace: readonly RunAs[] = process.platform === 'linux' ? [{ kind: 'namespace' }] : []
  const isRoots = found?.uid === 0
  const ways = isRoots ? [...inNamespace, ...asOther] : [...asOther, ...inNamespace]
  for (const way of [...ways, ...(process.platform === 'linux' ? withCapability : [])]) {
    if (await canRunAs(way, places)) return way
  }
  return undefined
}

async function canRunAs(way: RunAs, { dataDir, postgres, libraryPath }: RunAsPaths): Promise<boolean> {
  if (way.kind === 'user' && !(await canEnterFolders(way, [dirname(dataDir)]))) return false
  // The programs look for each other by access(2), which knows no capabilities.
  const other = clusterOwner(way)
  if (other !== undefined && !(await canEnterFolders(other, [dirname(postgres)]))) return false
  // A shell enters the folder first: what the namespace and the capability can reach, mode bits do not tell.
  const probe = ['-c', 'cd -- "$0" && exec "$1" --version', dataDir, postgres]
  const command =
    way.kind === 'user'
      ? buildCommandToRunAs(way, postgres, ['--version'], libraryPath)
      : buildCommandToRunAs(way, 'sh', probe, libraryPath)
  try {
    await promisify(execFile)(command.file, command.args, { ...command.options, timeout: 30_000 })
    return true
  } catch {
    return false
  }
}

async function findUnprivilegedAccount(): Promise<Ids | undefined> {
  for (const name of accountNames) {
    const ids = await Promise.all(['-u', '-g'].map((flag) => promisify(execFile)('id', [flag, name]))).catch(() => [])
    const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout.trim()))
    if (uid > 0 && gid > 0) return { uid, gid }
  }
  return undefined
}

/** Every folder on the way must let that user through. Node drops other groups with the user, so mode bits tell. */
export async function canEnterFolders(ids: Ids, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    for (let folder = path; ; folder = dirname(folder)) {
      const { mode, uid, gid } = await stat(folder)
      const bit = uid === ids.uid ? 0o100 : gid === ids.gid ? 0o010 : 0o001
      if ((mode & bit) === 0) return false
      if (folder === dirname(folder)) break
    }
  }
  return true
}

/** Lets that user, and no other, pass through the data folder; hands over what another way of running left behind. */
export async function openFoldersForAccount(
  runAs: RunAs,
  { dataDir, folder }: Pick<RunAsPaths, 'dataDir' | 'folder'>,
): Promise<void> {
  if (process.getuid?.() !== 0) return
  const owner = clusterOwner(runAs)
  if (runAs.kind === 'user' && !(await canEnterFolders(runAs, [dataDir]))) {
    await chown(dataDir, 0, runAs.gid)
    await chmod(dataDir, 0o710)
  }
  const { uid, gid } = owner ?? { uid: 0, gid: 0 }
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() === true && found.uid !== uid) await chownAll(folder, uid, gid)
}

async function chownAll(path: string, uid: number, gid: number): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (entry.isDirectory()) await chownAll(inside, uid, gid)
    else await lchown(inside, uid, gid)
  }
  // Last: as long as it is not ours, the next start begins here again.
  await chown(path, uid, gid)
}

const programTimeoutMs = 10 * 60_000

/** Runs a program to its end. Undefined when it ended well, else the line in which it says why. */
export function runProgram(
  runAs: RunAs,
  program: string,
  libraryPath: string,
  args: readonly string[],
): Promise<string | undefined> {
  const command = buildCommandToRunAs(runAs, program, args, libraryPath)
  // The folder it is started in may be closed to whom it runs as.
  const options = { ...command.options, timeout: programTimeoutMs, cwd: '/' }
  return new Promise((resolve) => {
    execFile(command.file, command.args, options, (error, _, stderr) =>
      resolve(error === null ? undefined : findFailureLine(stderr, error)),
    )
  })
}

function findFailureLine(stderr: string, error: Error): string {
  const lines = stderr.split('\n').map((line) => line.trim())
  const line = lines.find((each) => /error|fatal|panic/i.test(each)) ?? lines.findLast((each) => each !== '')
  return (line ?? error.message).slice(0, 300)
}
