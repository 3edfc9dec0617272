// The first admin token: from the environment, from the data folder, or made now and shown once.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Secret, secret } from '../contract/index.ts'
import { makeDataDir } from './data-dir.ts'

export type AdminToken = { readonly token: Secret; readonly isNew: boolean }

export async function readAdminToken(configured: Secret | undefined, dataDir: string): Promise<AdminToken> {
  if (configured !== undefined) return { token: configured, isNew: false }
  const stored = await storedAdminToken(dataDir)
  if (stored !== undefined) return { token: stored, isNew: false }
  await makeDataDir(dataDir)
  return storeNewAdminToken(dataDir)
}

/** What an earlier start left in the data folder. */
export async function storedAdminToken(dataDir: string): Promise<Secret | undefined> {
  const stored = await readFile(adminTokenPath(dataDir), 'utf8').catch(() => '')
  return stored.trim().length >= 16 ? secret(stored.trim()) : undefined
}

/** A new one in the file, which every process of this folder takes from then on. */
export async function replaceAdminToken(dataDir: string): Promise<string> {
  const made = randomBytes(24).toString('base64url')
  const draft = `${adminTokenPath(dataDir)}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${made}\n`, { mode: 0o600, flush: true })
  await rename(draft, adminTokenPath(dataDir))
  return made
}

/** How long a token that was replaced may still count. */
const tokenLiveMs = 1_000

/** The token of the folder as it is now: it may be replaced while a gateway runs. */
export function followAdminToken({ token }: AdminToken, dataDir: string): Secret {
  let known = token
  let lookedAt = Date.now()
  const readCurrentToken = (): string => {
    if (Date.now() - lookedAt > tokenLiveMs) {
      lookedAt = Date.now()
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
    const stored = await storedAdminToken(dataDir)
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
