// One process per data folder: the lock is a listening socket in it. It dies with its process, kill -9 included, and is seen by
// every container that shares the folder.
// The same server answers the command line on it; a gateway that needs no lock offers a socket of another name.
import { mkdir, rm, stat } from 'node:fs/promises'
import { createConnection, type Server } from 'node:net'
import { join } from 'node:path'
import { GatewayError } from '../contract/index.ts'
import { makeDataDir, restrictDataDirAccess } from './data-dir.ts'
import { shortSocketFolder } from './socket-path.ts'

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
  await removeStaleGuard(guard)
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

async function removeStaleGuard(guard: string): Promise<void> {
  const found = await stat(guard).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > takeoverStaleMs)
    await rm(guard, { recursive: true, force: true })
}

function tryListenOnSocket(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error)
    server.once('error', onError)
    // Binding happens inside this call; so the file never exists with a mode that lets others connect.
    const before = process.umask(0o177)
    server.listen(path, () => {
      server.off('error', onError)
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
