// The first admin token: from the environment, from the data folder, or made now and shown once.
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Secret, secret } from '../contract/index.ts'
import { makeDataDir } from './data-dir.ts'

export type AdminToken = { readonly token: Secret; readonly isNew: boolean }

export async function readAdminToken(configured: Secret | undefined, dataDir: string): Promise<AdminToken> {
  if (configured !== undefined) return { token: configured, isNew: false }
  const stored = await storedAdminToken(dataDir)
  if (stored !== undefined) return { token: stored, isNew: false }
  await makeDataDir(dataDir)
  const made = randomBytes(24).toString('base64url')
  await writeFile(pathIn(dataDir), `${made}\n`, { mode: 0o600 })
  return { token: secret(made), isNew: true }
}

/** What an earlier start left in the data folder. */
export async function storedAdminToken(dataDir: string): Promise<Secret | undefined> {
  const stored = await readFile(pathIn(dataDir), 'utf8').catch(() => '')
  return stored.trim().length >= 16 ? secret(stored.trim()) : undefined
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'admin-token')
}
