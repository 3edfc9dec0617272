// PostgreSQL as the gateway's child: real processes, killed in every order; what was answered stays answered.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isServerOf, readPostmaster } from '../../src/node/embedded-postgres/postmaster.ts'
import { type Database, statement } from '../../src/storage/database.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { type ParleyProcess, startParley } from '../doubles/parley-process.ts'

const isRoot = process.getuid?.() === 0
const bin = fileURLToPath(new URL('../../bin/parley.js', import.meta.url))
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
  const options = { dataDir, args: ['--database=embedded-postgres'], ...(ids === undefined ? {} : { ids }) }
  const running = await startParley(options)
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

/** A connection of our own, the way an operator's pg_dump would come in. */
async function connect(dataDir: string): Promise<Database> {
  const port = (await readPostmaster(serverFolder(dataDir)))?.port
  const password = (await readFile(join(dataDir, 'postgres.pgpass'), 'utf8')).trim().split(':')[4]
  return openPostgres({ url: `postgres://parley:${password}@127.0.0.1:${port}/parley`, maxConnections: 1 })
}

async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await isTrue()); ) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
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
    expect(running.output()).toContain('survives a power cut')
  })

  test('nobody else can read the folder or the password; the server is not root and hears no Ctrl-C of ours', async () => {
    expect(statSync(serverFolder(dataDir)).mode & 0o777).toBe(0o700)
    expect(statSync(join(dataDir, 'postgres.pgpass')).mode & 0o777).toBe(0o600)
    expect(statSync(serverFolder(dataDir)).uid).not.toBe(0)
    if (process.platform === 'linux') expect(processGroup(await serverPid(dataDir))).not.toBe(processGroup(running.pid))
    const database = await connect(dataDir)
    const [row] = await database.query(
      statement(
        'test_settings',
        `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
          current_setting('full_page_writes') as pages, current_setting('listen_addresses') as address,
          (select string_agg(distinct auth_method, ',') from pg_hba_file_rules) as auth`,
      ),
      [],
    )
    await database.close()
    expect(row).toEqual({ fsync: 'on', commit: 'on', pages: 'on', address: '127.0.0.1', auth: 'scram-sha-256' })
  })

  test('a wrong password does not get in', async () => {
    const port = (await readPostmaster(serverFolder(dataDir)))?.port
    const stranger = openPostgres({ url: `postgres://parley:guess@127.0.0.1:${port}/parley`, maxConnections: 1 })
    await expect(stranger.query(statement('test_guess', 'select 1'), [])).rejects.toMatchObject({
      details: { sqlstate: '28P01' },
    })
    await stranger.close()
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
    await writeFile(path, `${stranger.pid}\n${serverFolder(dataDir)}\n1700000000\n1\n\n127.0.0.1\n  1  1\nready   \n`)
    await chown(path, uid, gid)
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
    const names = readdirSync(join(serverFolder(dataDir), 'log'))
    const logs = await Promise.all(names.map((name) => readFile(join(serverFolder(dataDir), 'log', name), 'utf8')))
    expect(logs.join()).toContain('database system is shut down')
    expect(logs.join()).not.toContain('what-a-person-wrote')
  })

  test('a forgotten flag is refused instead of showing an empty gateway', async () => {
    await expect(startParley({ dataDir })).rejects.toThrow('start with --database=embedded-postgres')
  })

  test('a lost password file is named, with the way out', async () => {
    await rm(join(dataDir, 'postgres.pgpass'))
    await expect(start(dataDir)).rejects.toThrow(/postgres\.pgpass is missing or damaged.*restore it/)
  })
})

describe('a new folder', { timeout: slow }, () => {
  afterEach(clean, slow)

  test('is made anew after kill -9 in the middle of its making', async () => {
    const dataDir = await newFolder()
    const unfinished = (): readonly string[] =>
      readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-') && !name.endsWith('.password'))
    const env = { ...process.env, PARLEY_PORT: '0', PARLEY_DATA_DIR: dataDir }
    const child = spawn(process.execPath, [bin, 'start', '--database=embedded-postgres'], { env, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await until(() => unfinished().length > 0, 'the making of the database')
    child.kill('SIGKILL')
    await ended
    expect(existsSync(serverFolder(dataDir))).toBe(false)
    const running = await start(dataDir)
    expect((await running.ask('r1', 'hello')).status).toBe(200)
    expect(running.output()).not.toContain('PGlite')
    expect(await running.stop()).toBe(0)
  })

  test('beside a PGlite database begins empty, and says so', async () => {
    const dataDir = await newFolder()
    await mkdir(join(dataDir, 'database'))
    await writeFile(join(dataDir, 'database', 'PG_VERSION'), '18')
    const running = await start(dataDir)
    expect(running.output()).toContain('the PostgreSQL beside it begins empty')
    expect(await running.stop()).toBe(0)
  })

  test('that holds something else is left alone', async () => {
    const dataDir = await newFolder()
    await writeFile(serverFolder(dataDir), 'mine')
    await expect(start(dataDir)).rejects.toThrow('holds something that is no database')
    expect(await readFile(serverFolder(dataDir), 'utf8')).toBe('mine')
  })

  const nobody = ordinaryUser()
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
})

/** Another user for the whole gateway: needs root to become it, and a checkout that it can read. */
function ordinaryUser(): { ids: { uid: number; gid: number } | undefined; reason: string } {
  if (!isRoot) return { ids: undefined, reason: ' (all tests here run as one)' }
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout))
  if (!uid || !gid) return { ids: undefined, reason: ' (there is no user nobody)' }
  const canRun = spawnSync(process.execPath, [bin, '--help'], { uid, gid, env: {}, cwd: '/' }).status === 0
  return canRun ? { ids: { uid, gid }, reason: '' } : { ids: undefined, reason: ' (nobody cannot read the checkout)' }
}
