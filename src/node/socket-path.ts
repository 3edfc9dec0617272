// Where a unix socket of a folder is reached. Systems take paths of about a hundred bytes; a deeper folder is reached through
// a short link to it, so that the socket itself always lies in the folder, where every process and container that shares it looks.
import { createHash } from 'node:crypto'
import { lstat, mkdir, readlink, realpath, rename, symlink } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { GatewayError } from '../contract/index.ts'

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
