// The keys that credentials are sealed with: from the environment, from the data folder, or made there when first needed.
import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sealKeyBytes } from '../config/seal-keys.ts'
import { GatewayError, type Secret, secret } from '../contract/index.ts'
import { makeDataDir } from './data-dir.ts'

export async function readSealKeys(
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
export async function addSealKey(dataDir: string): Promise<void> {
  await readSealKeys([], dataDir)
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
