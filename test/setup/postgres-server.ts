// A real PostgreSQL of the product's own binaries on a TCP port: for the test run as a whole, and for crash tests that kill it.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { shortSocketFolder } from '../../src/node/data-dir.ts'
import { preparePrograms } from '../../src/node/embedded-postgres/binaries.ts'
import { createCluster, roleName } from '../../src/node/embedded-postgres/cluster.ts'
import {
  clearStalePostmaster,
  isProcessAlive,
  readPostmasterPidFile,
  signalProcess,
} from '../../src/node/embedded-postgres/postmaster.ts'
import { buildCommandToRunAs } from '../../src/node/embedded-postgres/run-as.ts'

export type PostgresServer = {
  /** The administrator's address. */
  readonly url: string
  /** kill -9 of the server and all its children. */
  readonly crash: () => Promise<void>
  /** An orderly stop that waits for no connection. */
  readonly halt: () => Promise<void>
  /** After a crash or a halt: the same folder and port again. */
  readonly restart: () => Promise<void>
  /** SIGSTOP for the server and all its children: up, and deaf. */
  readonly freeze: () => Promise<void>
  readonly thaw: () => Promise<void>
  /** Ends the server and removes its folder. */
  readonly stop: () => Promise<void>
}

export type PostgresServerOptions = {
  /** Waits for the disk at every commit, as in production; without it the server is for throw-away data. */
  readonly isDurable: boolean
  /** Where its folder is made; without it in the temporary folder. */
  readonly parent?: string
  /** Over the usual ones. */
  readonly settings?: Readonly<Record<string, string | number>>
}

const folderPrefix = 'parley-test-postgres-'
const startTimeoutMs = 60_000

/** Rejects with one line that says why, where this machine cannot run it. */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  await removeLeftovers()
  const dataDir = await mkdtemp(join(options.parent ?? tmpdir(), `${folderPrefix}${process.pid}-`))
  await chmod(dataDir, 0o711)
  const folder = join(dataDir, 'data')
  const remove = async (): Promise<void> => {
    await endServer(folder, 'SIGQUIT', 5_000)
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const programs = await preparePrograms(dataDir, folder)
    const { binaries, runAs } = programs
    await createCluster(programs)
    const port = await freePort()
    const args = ['-D', folder, ...serverFlags(port, options)]
    const start = async (): Promise<void> => {
      await clearStalePostmaster(folder)
      await untilReady(buildCommandToRunAs(runAs, binaries.postgres, args, binaries.libraryPath), folder)
    }
    await writeFile(join(folder, 'pg_hba.conf'), 'local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n')
    await start()
    const password = randomBytes(18).toString('base64url')
    await setPassword(folder, port, password)
    return {
      url: `postgres://${roleName}:${password}@127.0.0.1:${port}/postgres`,
      crash: () => crashServer(folder),
      halt: () => endServer(folder, 'SIGINT', startTimeoutMs),
      freeze: () => signalAll(folder, 'SIGSTOP'),
      thaw: () => signalAll(folder, 'SIGCONT'),
      restart: start,
      stop: remove,
    }
  } catch (error) {
    await remove()
    throw new Error((error instanceof Error ? error.message : String(error)).split('\n')[0])
  }
}

const throwAway = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
  max_wal_size: '4GB',
  jit: 'off',
} as const

function serverFlags(port: number, { isDurable, settings: own }: PostgresServerOptions): readonly string[] {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '.',
    max_connections: 200,
    io_method: 'sync',
    wal_level: 'minimal',
    max_wal_senders: 0,
    // Losing a test database to a power cut costs nothing; waiting for the disk costs every test.
    ...(isDurable ? {} : throwAway),
    ...own,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Any user of this machine can reach the port. One round of hashing: tests open thousands of connections. */
async function setPassword(folder: string, port: number, password: string): Promise<void> {
  const path = join(await shortSocketFolder(folder, `.s.PGSQL.${port}`), `.s.PGSQL.${port}`)
  const sql = postgres({ path, username: roleName, database: 'postgres', max: 1, onnotice: () => {} })
  await sql.unsafe(`set scram_iterations = 1; alter role ${roleName} password '${password}'`)
  await sql.end()
}

async function untilReady(command: ReturnType<typeof buildCommandToRunAs>, folder: string): Promise<void> {
  const child: ChildProcess = spawn(command.file, command.args, {
    ...command.options,
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_000)
  })
  for (const deadline = Date.now() + startTimeoutMs; ; ) {
    const found = await readPostmasterPidFile(folder)
    if (found !== undefined && found.pid === child.pid && found.status === 'ready') break
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`PostgreSQL did not start: ${said.trim()}`)
    await delay(10)
  }
  child.stderr?.resume()
  child.unref()
}

async function endServer(folder: string, signal: NodeJS.Signals, waitMs: number): Promise<void> {
  const pid = (await readPostmasterPidFile(folder))?.pid
  if (pid === undefined) return
  signalProcess(pid, signal)
  await untilGone([pid], waitMs)
  if (isProcessAlive(pid)) signalProcess(pid, 'SIGKILL')
}

async function crashServer(folder: string): Promise<void> {
  const pid = (await readPostmasterPidFile(folder))?.pid
  if (pid === undefined) return
  const all = [pid, ...(await childrenOf(pid))]
  for (const each of all) signalProcess(each, 'SIGKILL')
  await untilGone(all, 5_000)
}

/** The server first: it makes no more children from then on. */
async function signalAll(folder: string, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const pid = (await readPostmasterPidFile(folder))?.pid
  if (pid === undefined) return
  signalProcess(pid, signal)
  for (const each of await childrenOf(pid)) signalProcess(each, signal)
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return children.split(' ').filter(Boolean).map(Number)
}

async function untilGone(pids: readonly number[], maxMs: number): Promise<void> {
  for (let waited = 0; pids.some(isProcessAlive) && waited < maxMs; waited += 20) await delay(20)
}

/** A run that was killed leaves its folder; a server whose folder is gone ends by itself within a minute. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = name.startsWith(folderPrefix) ? Number(name.slice(folderPrefix.length).split('-')[0]) : Number.NaN
    if (Number.isInteger(owner) && !isProcessAlive(owner))
      await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject()))
    })
  })
}
