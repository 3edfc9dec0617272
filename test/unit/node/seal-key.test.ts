// The key that credentials are sealed with: made once, readable by its owner alone, and never guessed.
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { secret } from '../../../src/lib/secret.ts'
import { readOrCreateSealKeys } from '../../../src/node/gateway-secrets.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'seal-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('the seal key is made once, also by two that ask at the same moment', async () => {
  const [one, two] = await Promise.all([readOrCreateSealKeys([], folder), readOrCreateSealKeys([], folder)])
  expect(one).toEqual(two)
  expect(one[0]).toHaveLength(32)
  expect(await readOrCreateSealKeys([], folder)).toEqual(one)
  expect(await readdir(folder)).toEqual(['seal-key'])
  expect((await stat(join(folder, 'seal-key'))).mode & 0o777).toBe(0o600)
})

test('the seal key is the configured one, with the stored one still there to open', async () => {
  const stored = await readOrCreateSealKeys([], folder)
  const given = secret('ab'.repeat(32))
  expect(await readOrCreateSealKeys([given], folder)).toEqual([new Uint8Array(32).fill(0xab), ...stored])
})

test('the seal key is not made where a configured one will do', async () => {
  await readOrCreateSealKeys([secret('ab'.repeat(32))], folder)
  expect(await readdir(folder)).toEqual([])
})

test('the seal key is not replaced when the stored one cannot be read', async () => {
  await writeFile(join(folder, 'seal-key'), 'half a k')
  await expect(readOrCreateSealKeys([], folder)).rejects.toMatchObject({ code: 'config_invalid' })
})
