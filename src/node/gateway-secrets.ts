// The gateway's own secrets on this machine: the first admin token and the seal keys, in the environment or the data folder; the
// others as rows.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecretService, type OwnKeyLine, type SecretService } from '../api/own-secrets.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { listOwnKeys, markOwnKeyStale, signingKeyAge } from '../db/own-keys.ts'
import { resealEverySecret } from '../db/reseal.ts'
import { createSeal, sealKeyBytes } from '../gateway/seal.ts'
import { GatewayError } from '../lib/errors.ts'
import { type Secret, secret } from '../lib/secret.ts'
import { makeDataDir } from './data-dir.ts'

/** Shorter than a caller waits; the next call goes on. */
const resealMs = 15_000

export function createGatewaySecretService(
  { tenant, dataDir, sealKeys, adminToken }: Config,
  database: Database,
  rotateHandles: (actor: string) => Promise<void>,
): SecretService {
  const seal = createSeal(() => readOrCreateSealKeys(sealKeys, dataDir))
  const createFileTimeReader = (path: string) => async (): Promise<string | null> =>
    (await stat(path).catch(() => undefined))?.mtime.toISOString() ?? null
  return createSecretService({
    sealingKey: {
      isConfigured: sealKeys.length > 0,
      since: createFileTimeReader(sealKeyPath(dataDir)),
      add: () => addSealKey(dataDir),
    },
    adminToken: {
      isConfigured: adminToken !== undefined,
      since: createFileTimeReader(join(dataDir, 'admin-token')),
      replace: () => replaceAdminToken(dataDir),
    },
    fileHandles: {
      since: async () => (await database.query<{ since: string }>(signingKeyAge, [tenant]))[0]?.since ?? null,
      rotate: rotateHandles,
    },
    ownKeys: {
      list: () => database.query<OwnKeyLine>(listOwnKeys, [tenant]),
      markStale: async (connection, name) =>
        (await database.query(markOwnKeyStale, [tenant, connection, name])).length > 0,
    },
    reseal: () => resealEverySecret(database, { tenant, seal, now: Date.now, maxMs: resealMs }),
  })
}

// The first admin token: from the environment, from the data folder, or generated now and shown once.

export type AdminToken = { readonly token: Secret; readonly isNew: boolean }

export async function readOrCreateAdminToken(configured: Secret | undefined, dataDir: string): Promise<AdminToken> {
  if (configured !== undefined) return { token: configured, isNew: false }
  const stored = await readStoredAdminToken(dataDir)
  if (stored !== undefined) return { token: stored, isNew: false }
  await makeDataDir(dataDir)
  return storeNewAdminToken(dataDir)
}

/** What an earlier start left in the data folder. */
export async function readStoredAdminToken(dataDir: string): Promise<Secret | undefined> {
  const stored = await readFile(adminTokenPath(dataDir), 'utf8').catch(() => '')
  return stored.trim().length >= 16 ? secret(stored.trim()) : undefined
}

/** A new one in the file, which every process of this folder takes from then on. */
async function replaceAdminToken(dataDir: string): Promise<string> {
  const made = randomBytes(24).toString('base64url')
  const draft = `${adminTokenPath(dataDir)}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${made}\n`, { mode: 0o600, flush: true })
  await rename(draft, adminTokenPath(dataDir))
  return made
}

/** How long a token that was replaced may still count. */
const tokenLiveMs = 1_000

/** The token of the folder as it is now: it may be replaced while a gateway runs. */
export function createReloadingAdminToken({ token }: AdminToken, dataDir: string): Secret {
  let known = token
  let checkedAt = Date.now()
  const readCurrentToken = (): string => {
    if (Date.now() - checkedAt > tokenLiveMs) {
      checkedAt = Date.now()
      known = readAdminTokenSync(dataDir) ?? known
    }
    return known.reveal()
  }
  return Object.freeze({ ...secret(''), reveal: readCurrentToken })
}

function readAdminTokenSync(dataDir: string): Secret | undefined {
  try {
    const text = readFileSync(adminTokenPath(dataDir), 'utf8').trim()
    return text.length >= 16 ? secret(text) : undefined
  } catch {
    return undefined
  }
}

/** Whole or not at all, and of replicas that start together in one folder only one prints the token they all take. */
async function storeNewAdminToken(dataDir: string): Promise<AdminToken> {
  const made = randomBytes(24).toString('base64url')
  const draft = `${adminTokenPath(dataDir)}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${made}\n`, { mode: 0o600 })
  try {
    await link(draft, adminTokenPath(dataDir))
  } catch {
    const stored = await readStoredAdminToken(dataDir)
    if (stored !== undefined) return { token: stored, isNew: false }
    // What lies there is no token.
    await rename(draft, adminTokenPath(dataDir))
  } finally {
    await rm(draft, { force: true })
  }
  return { token: secret(made), isNew: true }
}

function adminTokenPath(dataDir: string): string {
  return join(dataDir, 'admin-token')
}

// The seal keys: from the environment, from the data folder, or generated there when first needed.

export async function readOrCreateSealKeys(
  configured: readonly Secret[],
  dataDir: string,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  // Also beside a configured one: what it sealed before still opens.
  const known = [...configured, ...(await readStoredSealKeys(dataDir))]
  if (known.length > 0) return known.map(sealKeyBytes)
  await makeDataDir(dataDir)
  return [sealKeyBytes(await storeNewSealKey(dataDir))]
}

/**
 * A new key for what is sealed from now on; those before it still open. Its line is added in one write, so that of two processes
 * that do this at once neither loses the other's key, and a crash leaves a piece of a line at most, which is no key.
 */
async function addSealKey(dataDir: string): Promise<void> {
  await readOrCreateSealKeys([], dataDir)
  const file = await open(sealKeyPath(dataDir), 'a', 0o600)
  try {
    const before = await readFile(sealKeyPath(dataDir), 'utf8')
    const line = `${before.endsWith('\n') ? '' : '\n'}${randomBytes(32).toString('hex')}\n`
    await file.write(line)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The newest first; in the file it is the last line. */
async function readStoredSealKeys(dataDir: string): Promise<readonly Secret[]> {
  const text = await readFile(sealKeyPath(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw unreadableSealKeyError(dataDir)
  })
  if (text === undefined) return []
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => /^[0-9a-f]{64}$/i.test(line))
  if (keys.length === 0) throw unreadableSealKeyError(dataDir)
  return keys.reverse().map((key) => secret(key))
}

/** Whole or not at all; of processes that start together, one makes it. */
async function storeNewSealKey(dataDir: string): Promise<Secret> {
  const draft = `${sealKeyPath(dataDir)}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  try {
    await link(draft, sealKeyPath(dataDir))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  const [stored] = await readStoredSealKeys(dataDir)
  if (stored === undefined) throw unreadableSealKeyError(dataDir)
  return stored
}

function unreadableSealKeyError(dataDir: string): GatewayError {
  const advice = 'restore it from a backup, or set PARLEY_SEAL_KEY and install anew'
  return new GatewayError(
    'config_invalid',
    `[installations] the key in ${sealKeyPath(dataDir)} cannot be read; ${advice}`,
  )
}

export function sealKeyPath(dataDir: string): string {
  return join(dataDir, 'seal-key')
}
