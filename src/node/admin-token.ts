// The first admin token: from the environment, from the data folder, or made now and shown once.
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Secret, secret } from '../contract/index.ts'

export type AdminToken = { readonly token: Secret; readonly isNew: boolean }

export async function readAdminToken(configured: Secret | undefined, dataDir: string): Promise<AdminToken> {
  if (configured !== undefined) return { token: configured, isNew: false }
  const path = join(dataDir, 'admin-token')
  const stored = await readFile(path, 'utf8').catch(() => '')
  if (stored.trim().length >= 16) return { token: secret(stored.trim()), isNew: false }
  const made = randomBytes(24).toString('base64url')
  await mkdir(dataDir, { recursive: true })
  await writeFile(path, `${made}\n`, { mode: 0o600 })
  return { token: secret(made), isNew: true }
}
