// One process per data folder (ruling 28): the lock is a listening socket in it. It dies with its process, kill -9 included.
import { createHash } from 'node:crypto'
import { mkdir, realpath, rm, stat } from 'node:fs/promises'
import { createConnection, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../contract/index.ts'

/** Longest socket path every system takes; deeper folders get a socket in the temporary folder instead. */
const maxSocketPath = 100
const takeoverStaleMs = 10_000

async function socketPathFor(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true })
  const folder = await realpath(dataDir)
  const inside = join(folder, 'parley.sock')
  if (inside.length <= maxSocketPath) return inside
  return join(tmpdir(), `parley-${createHash('sha256').update(folder).digest('hex').slice(0, 24)}.sock`)
}

/** Listens on the folder's socket or refuses, naming the way out. */
export async function lockDataDir(dataDir: string, server: Server): Promise<() => Promise<void>> {
  const path = await socketPathFor(dataDir)
  if (!(await tryListen(server, path))) {
    if (await isAnswered(path)) throw lockedError(dataDir)
    await takeOver(dataDir, server, path)
  }
  return () => new Promise((resolve) => server.close(() => resolve()))
}

/** The socket file outlived its process. Two starters may find it at once: only one may remove it. */
async function takeOver(dataDir: string, server: Server, path: string): Promise<void> {
  const guard = `${path}.takeover`
  await removeStaleGuard(guard)
  try {
    await mkdir(guard)
  } catch {
    throw lockedError(dataDir)
  }
  try {
    if (await isAnswered(path)) throw lockedError(dataDir)
    await rm(path, { force: true })
    if (!(await tryListen(server, path))) throw lockedError(dataDir)
  } finally {
    await rm(guard, { recursive: true, force: true })
  }
}

async function removeStaleGuard(guard: string): Promise<void> {
  const found = await stat(guard).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > takeoverStaleMs)
    await rm(guard, { recursive: true, force: true })
}

function tryListen(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error)
    server.once('error', onError)
    server.listen(path, () => {
      server.off('error', onError)
      resolve(true)
    })
  })
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function lockedError(dataDir: string): GatewayError {
  return new GatewayError(
    'data_dir_locked',
    `[storage] another Parley process uses ${dataDir}; stop it, or choose another folder with PARLEY_DATA_DIR, or set DATABASE_URL to share one database`,
  )
}
