// What PostgreSQL says about itself in its folder (postmaster.pid), and whether that process is really the one.
import { execFile } from 'node:child_process'
import { chown, readFile, readlink, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Lines 1, 4 and 8 of the file; PostgreSQL's own pg_ctl waits for the same words. */
export type Postmaster = { readonly pid: number; readonly port: number; readonly status: string }

const fileOf = (folder: string): string => join(folder, 'postmaster.pid')

export async function readPostmaster(folder: string): Promise<Postmaster | undefined> {
  const text = await readFile(fileOf(folder), 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  return { pid, port: Number(lines[3]), status: lines[7] ?? 'starting' }
}

/** True for a living PostgreSQL of this folder. Its main process works inside the folder; a reused pid does not. */
export async function isServerOf(pid: number, folder: string): Promise<boolean> {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder
  // Elsewhere its command line names the folder.
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }))
  return stdout.includes(`-D ${folder}`)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Only "no such process" means gone; another user's process answers EPERM and lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * The pid in the file belongs to a stranger now, and PostgreSQL would refuse to start beside it. Our own pid makes it
 * see that the file is stale. The file itself must stay: by its last line PostgreSQL makes sure that no survivor of the
 * old server still writes.
 */
export async function disownPostmasterFile(folder: string): Promise<void> {
  const path = fileOf(folder)
  const { uid, gid } = await stat(path)
  const rest = (await readFile(path, 'utf8')).split('\n').slice(1)
  const fresh = `${path}.parley`
  await writeFile(fresh, [String(process.pid), ...rest].join('\n'), { mode: 0o600 })
  await chown(fresh, uid, gid)
  await rename(fresh, path)
}
