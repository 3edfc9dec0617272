// The first admin token: made once, shown once, the same for everybody who starts in the folder.
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { secret } from '../../../src/lib/secret.ts'
import { readOrCreateAdminToken } from '../../../src/node/gateway-secrets.ts'

let folder: string
const read = async () => {
  const { token, isNew } = await readOrCreateAdminToken(undefined, folder)
  return { token: token.reveal(), isNew }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-token-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('the admin token is new at the first start and the same ever after, in a file for its owner alone', async () => {
  const first = await read()
  expect(first.isNew).toBe(true)
  expect(await read()).toEqual({ token: first.token, isNew: false })
  expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['admin-token'])
})

test('of many that start at once exactly one makes it, and all take it', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, read))
  expect(new Set(all.map(({ token }) => token)).size).toBe(1)
  expect(all.filter(({ isNew }) => isNew)).toHaveLength(1)
})

test('replaces a file that holds no token', async () => {
  await writeFile(join(folder, 'admin-token'), '\n')
  const made = await read()
  expect(made.isNew).toBe(true)
  expect(await read()).toEqual({ token: made.token, isNew: false })
})

test('from the environment leaves no file', async () => {
  const { token, isNew } = await readOrCreateAdminToken(secret('from-the-environment'), folder)
  expect({ token: token.reveal(), isNew }).toEqual({ token: 'from-the-environment', isNew: false })
  expect(await readdir(folder)).toEqual([])
})
