// The data folder of this machine's gateway: made step by step, closed to others, refused in time where it cannot be.
import { chmod, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { GatewayError, type Log } from '../contract/index.ts'

/** Its path without links. Node's own recursive mkdir never returns below /proc, so each folder is made by itself. */
export async function makeDataDir(dataDir: string): Promise<string> {
  try {
    await makePrivateFolder(resolve(dataDir))
    return await realpath(dataDir)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new GatewayError(
      'config_invalid',
      `[node] the data folder ${dataDir} cannot be made (${code}); check the path in PARLEY_DATA_DIR and who may write there`,
    )
  }
}

async function makePrivateFolder(path: string): Promise<void> {
  try {
    // Tokens and the control socket lie in here: closed to other users.
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') return
    const parent = dirname(path)
    if (code !== 'ENOENT' || parent === path) throw error
    await makePrivateFolder(parent)
    await mkdir(path, { mode: 0o700 }).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again
    })
  }
}

/** What only others than its owner could use. A group that may only pass through is PostgreSQL's, where the gateway runs as root. */
const openToOthers = 0o067
const sticky = 0o1000
/** One of these says that a gateway worked here before. */
const ownNames = ['admin-token', 'seal-key', 'postgres', 'attachments', 'mail']
/** What the root of a volume holds when it is empty. */
const volumesOwn = 'lost+found'

/**
 * A folder that others may look into is closed before anything is read or written in it, and refused where that cannot be: its
 * files hold tokens, keys and what people said. One that holds other things as well is not ours to close. Nothing is made here.
 */
export async function restrictDataDirAccess(dataDir: string, log?: Log): Promise<void> {
  // Where there are no users to tell apart there are no modes.
  if (process.getuid === undefined) return
  const found = await stat(dataDir).catch(() => undefined)
  if (found === undefined || !found.isDirectory()) return
  if ((found.mode & openToOthers) !== 0) {
    if ((found.mode & sticky) !== 0 || !(await looksLikeDataDir(dataDir)))
      throw folderTooOpenError(dataDir, found.mode, 'it is shared with others, or holds something else')
    await chmod(dataDir, 0o700).catch((error: NodeJS.ErrnoException) => {
      throw folderTooOpenError(dataDir, found.mode, `it cannot be closed (${error.code ?? 'unknown'})`)
    })
    if (((await stat(dataDir)).mode & openToOthers) !== 0)
      throw folderTooOpenError(dataDir, found.mode, 'its file system keeps no modes')
    log?.warn('data_dir_closed', { path: dataDir })
  }
  for (const [name, mode] of [...secretFiles, ['postgres', 0o700] as const])
    await restrictFileAccess(join(dataDir, name), mode)
}

const secretFiles = [
  ['admin-token', 0o600],
  ['seal-key', 0o600],
] as const

/** Also where other users cannot enter the folder any more: it may be moved, or opened by hand. */
async function restrictFileAccess(path: string, mode: number): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && (found.mode & 0o077) !== 0) await chmod(path, mode).catch(() => {})
}

async function looksLikeDataDir(dataDir: string): Promise<boolean> {
  const names = (await readdir(dataDir)).filter((name) => name !== volumesOwn)
  return names.length === 0 || names.some((name) => ownNames.includes(name))
}

function folderTooOpenError(dataDir: string, mode: number, why: string): GatewayError {
  const shown = (mode & 0o777).toString(8).padStart(3, '0')
  return new GatewayError(
    'config_invalid',
    `[node] other users of this machine may look into the data folder ${dataDir} (mode ${shown}), and ${why}; chmod 700 it as its owner, or set PARLEY_DATA_DIR to a folder of its own, such as ${join(dataDir, 'parley')}, which is made closed`,
  )
}
