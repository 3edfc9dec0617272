// The data folder of this machine's gateway: created step by step, closed to others, locked, refused in time where it cannot be
// used.

import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readlink, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { createConnection, type Server } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { GatewayError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'

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

// One process per data folder: the lock is a listening socket in it. It dies with its process, kill -9 included, and is seen by
// every container that shares the folder.
// The same server answers the command line on it; a gateway that needs no lock offers a socket of another name.

/** `lock`: the embedded database's folder is in use. `control`: a gateway on a database server, reachable from here. */
export type SocketKind = 'lock' | 'control'

/** What its socket is called in the data folder. */
export const socketNames: Readonly<Record<SocketKind, string>> = { lock: 'parley.sock', control: 'parley-control.sock' }

const takeoverStaleMs = 10_000

/** The folder must exist. */
export async function socketPathFor(dataDir: string, kind: SocketKind): Promise<string> {
  return join(await shortSocketFolder(dataDir, socketNames.control), socketNames[kind])
}

/** Listens on the folder's socket or refuses, naming the way out. */
export async function lockDataDir(dataDir: string, server: Server): Promise<() => Promise<void>> {
  await makeDataDir(dataDir)
  await restrictDataDirAccess(dataDir)
  const path = await socketPathFor(dataDir, 'lock')
  if (!(await tryListenOnSocket(server, path))) {
    if (await isSocketAnswered(path)) throw dataDirLockedError(dataDir)
    await takeOverSocket(dataDir, server, path)
  }
  return () => closeServer(server)
}

/** Listens for the command line. Undefined: another replica with the same folder does already, or the folder cannot be used. */
export async function openControlSocket(dataDir: string, server: Server): Promise<(() => Promise<void>) | undefined> {
  try {
    await makeDataDir(dataDir)
    const path = await socketPathFor(dataDir, 'control')
    if (!(await tryListenOnSocket(server, path))) {
      if (await isSocketAnswered(path)) return undefined
      await takeOverSocket(dataDir, server, path)
    }
    return () => closeServer(server)
  } catch {
    // A comfort and no condition: the gateway serves without it, and the command line has --url.
    return undefined
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

/** The socket file outlived its process. Two starters may find it at once: only one may remove it. */
async function takeOverSocket(dataDir: string, server: Server, path: string): Promise<void> {
  const guard = `${path}.takeover`
  await removeStaleTakeoverGuard(guard)
  try {
    await mkdir(guard)
  } catch {
    throw dataDirLockedError(dataDir)
  }
  try {
    if (await isSocketAnswered(path)) throw dataDirLockedError(dataDir)
    await rm(path, { force: true })
    if (!(await tryListenOnSocket(server, path))) throw dataDirLockedError(dataDir)
  } finally {
    await rm(guard, { recursive: true, force: true })
  }
}

async function removeStaleTakeoverGuard(guard: string): Promise<void> {
  const found = await stat(guard).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > takeoverStaleMs)
    await rm(guard, { recursive: true, force: true })
}

function tryListenOnSocket(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onListenError = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error)
    server.once('error', onListenError)
    // Binding happens inside this call; so the file never exists with a mode that lets others connect.
    const before = process.umask(0o177)
    server.listen(path, () => {
      server.off('error', onListenError)
      resolve(true)
    })
    process.umask(before)
  })
}

function isSocketAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function dataDirLockedError(dataDir: string): GatewayError {
  return new GatewayError(
    'data_dir_locked',
    `[storage] another Parley process uses ${dataDir}; stop it, or choose another folder with PARLEY_DATA_DIR, or set DATABASE_URL to share one database`,
  )
}

// Where a unix socket of a folder is reached. Systems take paths of about a hundred bytes; a deeper folder is reached through
// a short link to it, so that the socket itself always lies in the folder, where every process and container that shares it looks.

/** In bytes, what every system takes (Linux 107, macOS 103). */
const maxSocketPath = 100

/** `folder` exists; `longestName` is the longest name of a socket in it. */
export async function shortSocketFolder(folder: string, longestName: string): Promise<string> {
  const real = await realpath(folder)
  if (Buffer.byteLength(join(real, longestName)) <= maxSocketPath) return real
  const link = join(await privateSocketFolder(), createHash('sha256').update(real).digest('hex').slice(0, 20))
  if ((await readlink(link).catch(() => '')) !== real) {
    // Made under another name and renamed: two processes may make it at once.
    const fresh = `${link}-${process.pid}`
    await symlink(real, fresh)
    await rename(fresh, link)
  }
  return link
}

/** In a shared temporary folder another user can put a link under our name: it must be ours, and closed to others. */
async function privateSocketFolder(): Promise<string> {
  const uid = process.getuid?.() ?? userInfo().uid
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? ''
  const shared = Buffer.byteLength(tmpdir()) <= 60 ? tmpdir() : '/tmp'
  const path =
    runtime !== '' && Buffer.byteLength(runtime) <= 40 ? join(runtime, 'parley') : join(shared, `parley-${uid}`)
  await mkdir(path, { mode: 0o700 }).catch(() => {})
  const found = await lstat(path).catch(() => undefined)
  if (found?.isDirectory() === true && found.uid === uid && (found.mode & 0o077) === 0) return path
  throw new GatewayError(
    'config_invalid',
    `[node] the path of the data folder is too long for a socket, and ${path} is not a private folder of this user; choose a shorter PARLEY_DATA_DIR, or set XDG_RUNTIME_DIR`,
  )
}
