// Whom PostgreSQL runs as. It refuses root; root starts it as somebody else, who must be able to reach its folders.
import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { GatewayError } from '../../contract/index.ts'

/** `ids` only where we are root; otherwise it runs as we do. */
export type ServerUser = { readonly ids: { readonly uid: number; readonly gid: number } | undefined }

const accountName = 'postgres'

/** As root: the owner of the database's folder if it exists, else the system user postgres. */
export async function serverUser(folder: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return { ids: undefined }
  const found = await stat(folder).catch(() => undefined)
  if (found !== undefined && found.uid !== 0) return { ids: { uid: found.uid, gid: found.gid } }
  try {
    const [uid, gid] = await Promise.all([idOf('-u'), idOf('-g')])
    return { ids: { uid, gid } }
  } catch {
    throw new GatewayError(
      'config_invalid',
      `[storage] PostgreSQL does not run as root, and there is no user ${accountName}; run Parley as an ordinary user, or run: useradd --system ${accountName}`,
    )
  }
}

async function idOf(flag: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [flag, accountName])
  const id = Number(stdout.trim())
  if (!Number.isInteger(id) || id === 0) throw new Error('no ordinary user')
  return id
}

/** Options of a child process: that user, and none of our environment, which holds tokens. */
export function spawnAs({ ids }: ServerUser): { env: NodeJS.ProcessEnv; uid?: number; gid?: number } {
  return { env: { PATH: process.env['PATH'], LC_ALL: 'C' }, ...ids }
}

/** Every folder on the way must let that user through. Node drops other groups with the user, so mode bits tell. */
export async function requireReachable({ ids }: ServerUser, path: string): Promise<void> {
  if (ids === undefined) return
  for (let folder = path; ; folder = dirname(folder)) {
    const { mode, uid, gid } = await stat(folder)
    const bit = uid === ids.uid ? 0o100 : gid === ids.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) {
      throw new GatewayError(
        'config_invalid',
        `[storage] PostgreSQL runs as user id ${ids.uid}, which cannot enter ${folder}; run: chmod o+x ${folder}, or choose another folder, or run Parley as an ordinary user`,
      )
    }
    if (folder === dirname(folder)) return
  }
}
