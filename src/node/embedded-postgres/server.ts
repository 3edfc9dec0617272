// One run of the PostgreSQL process: started, or found running after its last gateway was killed; and its orderly end.
import { type ChildProcess, spawn } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../../contract/index.ts'
import type { Binaries } from './binaries.ts'
import { disownPostmasterFile, isServerOf, readPostmaster } from './postmaster.ts'
import { type ServerUser, spawnAs } from './server-user.ts'

export type Server = {
  readonly pid: number
  readonly port: number
  /** Resolves when the process has ended, for whatever reason. */
  readonly gone: Promise<void>
}

export type ServerPlace = { readonly folder: string; readonly binaries: Binaries; readonly user: ServerUser }

/** Crash recovery reads back what had not reached the tables yet; PostgreSQL's own limit keeps that to about a gigabyte. */
const readyTimeoutMs = 5 * 60_000
const pollMs = 50
const fastStopMs = 15_000
const hardStopMs = 5_000

/** The server that already works on this folder, once it is ready; undefined where there is none. */
export async function findServer({ folder }: ServerPlace): Promise<Server | undefined> {
  const deadline = Date.now() + readyTimeoutMs
  for (;;) {
    const found = await readPostmaster(folder)
    if (found === undefined) return undefined
    if (!(await isServerOf(found.pid, folder))) {
      await disownPostmasterFile(folder)
      return undefined
    }
    if (found.status === 'ready') return { ...found, gone: untilGone(found.pid, folder) }
    // Starting: it will be ready. Stopping: it will be gone.
    if (Date.now() > deadline) throw stuckError(found.pid, folder, `is ${found.status} and does not finish`)
    await delay(pollMs)
  }
}

export async function startServer(place: ServerPlace, port: number, signal: AbortSignal): Promise<Server> {
  // What it says before its own log begins; beside its folder, because we may be somebody else than it is.
  const startLog = `${place.folder}-start.log`
  const output = await open(startLog, 'w', 0o600)
  const args = Object.entries(settings(port)).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(place.binaries.postgres, ['-D', place.folder, ...args], {
    ...spawnAs(place.user),
    // A session of its own: Ctrl-C in the terminal is for us, and we still need the database to stop in order.
    detached: true,
    stdio: ['ignore', 'ignore', output.fd],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  await output.close()
  try {
    await untilReady(child, place.folder, signal)
  } catch (error) {
    child.kill('SIGQUIT')
    await Promise.race([gone, delay(hardStopMs)])
    child.kill('SIGKILL')
    await gone
    if (signal.aborted) throw error
    throw startError(await readFile(startLog, 'utf8').catch(() => ''), place.folder)
  }
  child.unref()
  return { pid: child.pid ?? 0, port, gone }
}

function settings(port: number): Readonly<Record<string, string | number>> {
  return {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 40,
    // The reason to choose this database; a line in postgresql.conf shall not take it back.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgres-%Y-%m-%d_%H%M%S.log',
    log_rotation_size: '10MB',
    // Above statements' errors, which may quote values: no message text reaches the log.
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
  }
}

async function untilReady(child: ChildProcess, folder: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  const hasEnded = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  for (;;) {
    const found = await readPostmaster(folder)
    if (found !== undefined && found.pid === child.pid && found.status === 'ready') return
    if (hasEnded() || Date.now() > deadline) throw new Error('not ready')
    await delay(pollMs, undefined, { signal })
  }
}

async function untilGone(pid: number, folder: string): Promise<void> {
  while (await isServerOf(pid, folder)) await delay(1_000, undefined, { ref: false })
}

/** Fast stop first (ends sessions, writes everything down), then less patient ones; none of them loses a commit. */
export async function stopServer({ pid }: Server, folder: string): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGINT', fastStopMs],
    ['SIGQUIT', hardStopMs],
    ['SIGKILL', hardStopMs],
  ] as const) {
    if (!(await isServerOf(pid, folder))) return
    signalServer(pid, signal)
    // One that was frozen hears nothing before it is thawed.
    signalServer(pid, 'SIGCONT')
    const deadline = Date.now() + waitMs
    while ((await isServerOf(pid, folder)) && Date.now() < deadline) await delay(pollMs)
  }
}

/** Never throws: a process that has ended needs no signal. */
export function signalServer(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone.
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0))
    })
  })
}

export function stuckError(pid: number, folder: string, what: string): GatewayError {
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] PostgreSQL (process ${pid}) holds ${folder} and ${what}; run: kill -INT ${pid}, and start again`,
  )
}

function startError(output: string, folder: string): GatewayError {
  const line = output.split('\n').find((each) => /FATAL|PANIC|error/.test(each)) ?? 'no reason given'
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] PostgreSQL did not start (${line.replace(/^.*?(?=FATAL|PANIC)/, '').slice(0, 300)}); see the newest file in ${join(folder, 'log')}`,
  )
}
