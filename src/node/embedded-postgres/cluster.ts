// The folder of an embedded PostgreSQL: made once, whole or not at all, with a password only its owner can read.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { GatewayError, type Secret, secret } from '../../contract/index.ts'
import type { Binaries } from './binaries.ts'
import { type ServerUser, spawnAs } from './server-user.ts'

/** Role and database; also what the password file says. */
export const roleName = 'parley'

const unfinished = 'postgres.new-'
const initdbTimeoutMs = 10 * 60_000

export function clusterExists(folder: string): boolean {
  return existsSync(join(folder, 'PG_VERSION'))
}

/** Kept in libpq's own format, so that `PGPASSFILE=… pg_dump` works without copying it anywhere. */
export async function readPassword(dataDir: string, isNew: boolean): Promise<Secret> {
  const path = join(dataDir, 'postgres.pgpass')
  const stored = (await readFile(path, 'utf8').catch(() => '')).trim().split(':')[4]
  if (stored !== undefined && stored !== '') return secret(stored)
  if (!isNew) {
    throw new GatewayError(
      'embedded_postgres_failed',
      `[storage] ${path} is missing or damaged, and with it the password of the database beside it; restore it from a backup of the folder`,
    )
  }
  const made = randomBytes(24).toString('base64url')
  const file = await open(path, 'w', 0o600)
  await file.writeFile(`127.0.0.1:*:*:${roleName}:${made}\n`)
  // The database outlives a power cut; so must the way into it.
  await file.sync()
  await file.close()
  return secret(made)
}

export type NewCluster = {
  readonly dataDir: string
  readonly folder: string
  readonly binaries: Binaries
  readonly user: ServerUser
  readonly password: Secret
}

/** Filled under another name and then renamed: a start that dies half-way leaves nothing that looks like a database. */
export async function createCluster({ dataDir, folder, binaries, user, password }: NewCluster): Promise<void> {
  await removeUnfinished(dataDir)
  const fresh = join(dataDir, `${unfinished}${randomBytes(6).toString('hex')}`)
  const passwordFile = `${fresh}.password`
  await mkdir(fresh, { mode: 0o700 })
  await writeFile(passwordFile, `${password.reveal()}\n`, { mode: 0o600 })
  if (user.ids !== undefined) for (const path of [fresh, passwordFile]) await chown(path, user.ids.uid, user.ids.gid)
  const args = [
    `--pgdata=${fresh}`,
    `--username=${roleName}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  ]
  try {
    await promisify(execFile)(binaries.initdb, args, { ...spawnAs(user), cwd: fresh, timeout: initdbTimeoutMs })
  } catch (error) {
    await removeUnfinished(dataDir)
    throw initdbError(error)
  }
  await rm(passwordFile)
  await rename(fresh, folder).catch(() => {
    throw new GatewayError(
      'embedded_postgres_failed',
      `[storage] ${folder} holds something that is no database; move it away, or choose another folder with PARLEY_DATA_DIR`,
    )
  })
  await syncFolder(dataDir)
}

/** A killed start's initdb may still be writing into its folder; what cannot be removed now goes next time. */
async function removeUnfinished(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith(unfinished))
  for (const name of names) {
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync()
  await handle.close()
}

function initdbError(error: unknown): GatewayError {
  const { stderr } = error as { stderr?: string }
  const line = (stderr ?? '').split('\n').find((each) => /error|fatal/i.test(each)) ?? 'no reason given'
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] a new PostgreSQL database could not be made (${line.trim().slice(0, 300)}); check free space and permissions of the data folder`,
  )
}

/** A newer package cannot open an older folder; PostgreSQL says so too, but not what to do. */
export async function requireSameVersion(folder: string, { majorVersion }: Binaries): Promise<void> {
  const stored = (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim()
  if (stored === majorVersion) return
  throw new GatewayError(
    'embedded_postgres_failed',
    `[storage] ${folder} was made by PostgreSQL ${stored}, the installed package is ${majorVersion}; dump it with the release that made it (docs/operating.md) and load the dump into a new folder`,
  )
}
