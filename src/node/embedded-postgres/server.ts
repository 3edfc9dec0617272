// The PostgreSQL process: started, or found running after its last gateway was killed, kept running, and stopped in order.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { open, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fixedPostgresSettings } from '../../config/environment.ts'
import { GatewayError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Binaries } from './binaries.ts'
import {
  clearStalePostmaster,
  clusterName,
  isPostmasterOfFolder,
  isServerListening,
  readPostmasterPidFile,
  signalProcess,
} from './postmaster.ts'
import { buildCommandToRunAs, type RunAs } from './run-as.ts'

export type Server = {
  readonly pid: number
  /** Resolves when the process has ended, for whatever reason. */
  readonly gone: Promise<void>
}

export type ServerPlace = {
  readonly folder: string
  readonly binaries: Binaries
  readonly runAs: RunAs
  /** What the operator sets; wins over the small settings below, not over what keeps data safe. */
  readonly settings: Readonly<Record<string, string>>
}

/** Crash recovery reads back what had not reached the tables yet; `max_wal_size` keeps that short. */
const readyTimeoutMs = 5 * 60_000
const pollMs = 20
const fastStopMs = 15_000
const hardStopMs = 5_000
const maxLogBytes = 10 * 1024 * 1024

/** For a gateway on one small machine: about 15 MB and six processes when idle. */
const smallSettings: Readonly<Record<string, string>> = {
  shared_buffers: '32MB',
  max_connections: '40',
  io_method: 'sync',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  min_wal_size: '32MB',
  max_wal_size: '512MB',
  log_line_prefix: '%m [%p] ',
}

function serverArguments({ folder, settings }: ServerPlace): readonly string[] {
  const all = {
    ...smallSettings,
    // A container may have no shared memory of its own.
    ...(process.platform === 'linux' && !existsSync('/dev/shm') ? { dynamic_shared_memory_type: 'mmap' } : {}),
    ...settings,
    ...fixedPostgresSettings,
    cluster_name: clusterName(folder),
  }
  return ['-D', folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Beside the folder, because PostgreSQL may run as another user than we do. */
function serverLogFile(folder: string): string {
  return join(dirname(folder), 'postgres.log')
}

/** The server that already works on this folder, once it is ready; undefined where there is none. */
export async function findRunningServer(place: ServerPlace): Promise<Server | undefined> {
  const { folder } = place
  const deadline = Date.now() + readyTimeoutMs
  for (;;) {
    const found = await readPostmasterPidFile(folder)
    const isOurs = found !== undefined && (await isPostmasterOfFolder(found.pid, folder))
    if (!isOurs) {
      if (await isServerListening(folder)) throw serverElsewhereError(folder)
      return undefined
    }
    if (found.status === 'ready') {
      const server = { pid: found.pid, gone: waitUntilGone(found.pid, folder) }
      if (await isStartedWithArguments(folder, serverArguments(place))) return server
      // By another release, or with other settings.
      await stopServer(server, folder)
      return undefined
    }
    // Starting: it will be ready. Stopping: it will be gone.
    if (Date.now() > deadline) throw serverStuckError(found.pid, folder, `is ${found.status} and does not finish`)
    await delay(pollMs)
  }
}

/** PostgreSQL keeps its command line, each word quoted. */
async function isStartedWithArguments(folder: string, args: readonly string[]): Promise<boolean> {
  const text = await readFile(join(folder, 'postmaster.opts'), 'utf8').catch(() => '')
  return text.trim().endsWith(args.map((arg) => `"${arg}"`).join(' '))
}

export async function startServer(place: ServerPlace, signal: AbortSignal): Promise<Server> {
  const { folder, binaries, runAs } = place
  await clearStalePostmaster(folder)
  const logFile = serverLogFile(folder)
  await rotateLargeServerLog(logFile)
  const output = await open(logFile, 'a', 0o600)
  const logStart = (await output.stat()).size
  const { file, args, options } = buildCommandToRunAs(
    runAs,
    binaries.postgres,
    serverArguments(place),
    binaries.libraryPath,
  )
  const child = spawn(file, args, {
    ...options,
    // The folder we are in may be closed to whom it runs as.
    cwd: '/',
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
    await waitUntilReady(child, folder, signal)
  } catch (error) {
    child.kill('SIGQUIT')
    await Promise.race([gone, delay(hardStopMs)])
    child.kill('SIGKILL')
    await gone
    if (signal.aborted) throw error
    throw await serverStartError(logFile, logStart)
  }
  child.unref()
  return { pid: child.pid ?? 0, gone }
}

async function waitUntilReady(child: ChildProcess, folder: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs
  const hasServerEnded = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  for (;;) {
    const found = await readPostmasterPidFile(folder)
    if (found !== undefined && found.pid === child.pid && found.status === 'ready') return
    if (hasServerEnded() || Date.now() > deadline) throw new Error('not ready')
    await delay(pollMs, undefined, { signal })
  }
}

async function waitUntilGone(pid: number, folder: string): Promise<void> {
  while (await isPostmasterOfFolder(pid, folder)) await delay(1_000, undefined, { ref: false })
}

/** Fast stop first (ends sessions, writes everything down), then less patient ones; none of them loses a commit. */
export async function stopServer({ pid }: Pick<Server, 'pid'>, folder: string): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGINT', fastStopMs],
    ['SIGQUIT', hardStopMs],
    ['SIGKILL', hardStopMs],
  ] as const) {
    if (!(await isPostmasterOfFolder(pid, folder))) return
    signalProcess(pid, signal)
    // One that was frozen hears nothing before it is thawed.
    signalProcess(pid, 'SIGCONT')
    const deadline = Date.now() + waitMs
    while ((await isPostmasterOfFolder(pid, folder)) && Date.now() < deadline) await delay(pollMs)
  }
}

/** PostgreSQL appends to it, so it can be cut while it runs; what was in it stays under another name until the next time. */
export async function rotateLargeServerLog(logFile: string): Promise<void> {
  const size = (await stat(logFile).catch(() => undefined))?.size ?? 0
  if (size <= maxLogBytes) return
  try {
    await writeFile(`${logFile}.1`, await readFile(logFile), { mode: 0o600 })
  } catch {
    // A log that cannot be kept, on a full disk above all, keeps no database from starting.
  }
  await truncate(logFile).catch(() => {})
}

export function serverStuckError(pid: number, folder: string, what: string): GatewayError {
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] PostgreSQL (process ${pid}) holds ${folder} and ${what}; run: kill -INT ${pid}, and start again`,
  )
}

function serverElsewhereError(folder: string): GatewayError {
  return new GatewayError(
    'data_dir_locked',
    `[storage] a PostgreSQL that this system does not see, in another container perhaps, works on ${folder}; stop it, or choose another folder with PARLEY_DATA_DIR`,
  )
}

async function serverStartError(logFile: string, from: number): Promise<GatewayError> {
  const said = (await readFile(logFile).catch(() => Buffer.alloc(0))).subarray(from).toString('utf8')
  const lines = said.split('\n').filter((line) => line.trim() !== '')
  const line = lines.find((each) => /FATAL|PANIC|error/.test(each)) ?? lines.at(-1) ?? 'it gave no reason'
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] PostgreSQL did not start (${line.replace(/^.*?(?=FATAL|PANIC)/, '').slice(0, 300)}); see the end of ${logFile}`,
  )
}

// A process that dies is started again while the gateway runs, and stopped with it.

const firstPauseMs = 200
const maxPauseMs = 10_000
const trimEveryMs = 60 * 60_000

/** Gives back how to stop. The socket's path stays, so that connections find the new process by themselves. */
export function superviseServer(place: ServerPlace, first: Server, log: Log | undefined): () => Promise<void> {
  let server: Server | undefined = first
  const stopping = new AbortController()
  const stopServerOnExit = (): void => {
    // The last breath of a process that ends without its orderly stop: better a stopping database than an orphan.
    if (server !== undefined) signalProcess(server.pid, 'SIGINT')
  }
  process.once('exit', stopServerOnExit)
  const trimmer = setInterval(() => void rotateLargeServerLog(serverLogFile(place.folder)), trimEveryMs)
  trimmer.unref()

  const watched = (async () => {
    while (!stopping.signal.aborted) {
      await Promise.race([server?.gone, waitUntilAborted(stopping.signal)])
      if (stopping.signal.aborted) return
      log?.error('embedded_postgres_ended', { pid: server?.pid ?? 0 })
      server = undefined
      server = await restartServer(place, stopping.signal, log)
    }
  })()

  return async () => {
    stopping.abort()
    await watched
    clearInterval(trimmer)
    if (server !== undefined) await stopServer(server, place.folder)
    process.off('exit', stopServerOnExit)
  }
}

/** A full disk or a missing file may keep it from starting; what is mended is noticed within seconds. */
async function restartServer(
  place: ServerPlace,
  signal: AbortSignal,
  log: Log | undefined,
): Promise<Server | undefined> {
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    try {
      const server = await startServer(place, signal)
      log?.info('embedded_postgres_restarted', { pid: server.pid })
      return server
    } catch (error) {
      if (signal.aborted) return undefined
      log?.warn('embedded_postgres_not_restarted', { problem: error instanceof Error ? error.message : 'unknown' })
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  return undefined
}

function waitUntilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
