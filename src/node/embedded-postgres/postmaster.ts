// The postmaster of a folder: what it says about itself (postmaster.pid), whether that process lives, and what a killed one left
// behind.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chown, readdir, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { shortSocketFolder } from '../data-dir.ts'

/** Names the socket's file; no port of the machine is opened. */
const socketNumber = 5432
export const socketName = `.s.PGSQL.${socketNumber}`

/** Lines 1 and 8 of the file; PostgreSQL's own pg_ctl waits for the same words. */
export type Postmaster = { readonly pid: number; readonly status: string }

export async function readPostmasterPidFile(folder: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  return { pid, status: lines[7] ?? 'starting' }
}

/** In the title of every process of its server, where the system shows no working folder. */
export function clusterName(folder: string): string {
  return `parley-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`
}

/** True for a living PostgreSQL process of this folder. All of them work inside the folder; a reused pid does not. */
export async function isPostmasterOfFolder(pid: number, folder: string): Promise<boolean> {
  if (!isProcessAlive(pid)) return false
  if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  return stdout.includes(`-D ${folder}`) || stdout.includes(`postgres: ${clusterName(folder)}`)
}

export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Only "no such process" means gone; another user's process answers EPERM and lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whether a server listens on the folder's socket, also one in another container, whose pids mean nothing here. */
export async function isServerListening(folder: string): Promise<boolean> {
  const path = join(await shortSocketFolder(folder, socketName), socketName)
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/**
 * Clears the way for a new server where none listens any more. A backend that was busy when its server was killed goes on, and
 * keeps every new server from starting; the lock of the socket names a pid that may be another process's by now.
 */
export async function clearStalePostmaster(folder: string): Promise<void> {
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    const survivors = await findServerProcesses(folder)
    if (survivors.length === 0) break
    for (const pid of survivors) signalProcess(pid, signal)
    for (let waited = 0; waited < 3_000 && survivors.some(isProcessAlive); waited += 20) await delay(20)
  }
  for (const name of [socketName, `${socketName}.lock`]) await rm(join(folder, name), { force: true })
  await writeOwnPidToPidFile(folder)
}

/**
 * The pid in the file may be another process's by now, and PostgreSQL would refuse to start beside it. Our own pid, its
 * parent's, makes it see that the file is stale. The file itself stays: by its last line PostgreSQL looks once more for
 * processes that still use the old server's memory.
 */
async function writeOwnPidToPidFile(folder: string): Promise<void> {
  const path = join(folder, 'postmaster.pid')
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  const rest = (await readFile(path, 'utf8')).split('\n').slice(1)
  const fresh = `${path}.parley`
  await writeFile(fresh, [String(process.pid), ...rest].join('\n'), { mode: 0o600 })
  await chown(fresh, found.uid, found.gid)
  await rename(fresh, path)
}

async function findServerProcesses(folder: string): Promise<readonly number[]> {
  if (process.platform !== 'linux') return findPidsByProcessTitle(clusterName(folder))
  const pids = (await readdir('/proc')).map(Number).filter((pid) => Number.isInteger(pid) && pid > 1)
  const found: number[] = []
  for (const pid of pids) {
    if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) !== folder) continue
    // A person's shell may stand in the folder too.
    if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'postgres') found.push(pid)
  }
  return found
}

async function findPidsByProcessTitle(name: string): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,command=']).catch(() => ({ stdout: '' }))
  const lines = stdout.split('\n').filter((line) => line.includes(`postgres: ${name}`))
  return lines.map((line) => Number.parseInt(line, 10)).filter(Number.isInteger)
}

/** Never throws: a process that has ended needs no signal. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone.
  }
}
