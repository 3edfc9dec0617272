// PostgreSQL as the gateway's child: real processes, killed in every order; what was answered stays answered.
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import {
  isPostmasterOfFolder,
  readPostmasterPidFile,
  socketName,
} from '../../../src/node/embedded-postgres/postmaster.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'
import { clonedDatabase } from '../../setup/cloned-database.ts'
import { describeOnPostgres } from '../../setup/databases.ts'
import {
  clean,
  connect,
  isRoot,
  newFolder,
  processGroup,
  serverFolder,
  serverPid,
  slow,
  start,
  started,
  until,
  walSyncs,
} from './embedded-setup.ts'

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
      nameStatement(
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
    await database.script(nameStatement('test_trigrams', 'create extension if not exists pg_trgm'))
    const [row] = await database.query(
      nameStatement(
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
    await notifying.query(nameStatement('test_notify', `select pg_notify('parley_wake', '')`), [])
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
    expect(await isPostmasterOfFolder(pid, serverFolder(dataDir))).toBe(false)
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
    expect(await isPostmasterOfFolder(pid, serverFolder(dataDir))).toBe(true)
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
    expect(await isPostmasterOfFolder(pid, serverFolder(dataDir))).toBe(false)
    running = await start(dataDir)
  })

  test('kill -9 of PostgreSQL: the gateway starts it again, and nothing acknowledged is missing', async () => {
    const pid = await serverPid(dataDir)
    process.kill(pid, 'SIGKILL')
    await until(async () => {
      const now = await readPostmasterPidFile(serverFolder(dataDir))
      return now !== undefined && now.pid !== pid && (await isPostmasterOfFolder(now.pid, serverFolder(dataDir)))
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
    expect(await isPostmasterOfFolder(pid, serverFolder(dataDir))).toBe(false)
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
    const refused = database.query(nameStatement('test_refused', 'select $1::text::int'), ['what-a-person-wrote'])
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
    expect(await isPostmasterOfFolder(pid, serverFolder(dataDir))).toBe(false)
    const database = await connect(dataDir)
    expect(
      await database.query(nameStatement('test_memory', `select current_setting('work_mem') as memory`), []),
    ).toEqual([{ memory: '7MB' }])
    await database.close()
    await running.stop()
  })
})

describeOnPostgres('a PostgreSQL that does not sync', (adminUrl) => {
  test('is told from one that does by the same count: a gateway on it answers, and nothing is synced', async () => {
    const clone = await clonedDatabase(adminUrl)
    const running = await startParley({ dataDir: await newFolder(), env: { DATABASE_URL: clone.url } })
    const database = openPostgres({ url: clone.url, maxConnections: 1 })
    try {
      const before = await walSyncs(database)
      for (let at = 0; at < 5; at += 1) expect((await running.ask(`r${at}`, 'hello', `t${at}`)).status).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      expect(await walSyncs(database)).toBe(before)
    } finally {
      await database.close()
      await running.stop()
      await clone.drop()
      await clean()
    }
  })
})
