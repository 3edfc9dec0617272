// A real PostgreSQL as our child process, in the data folder: durable on one machine, without a server of one's own.
// The caller holds the folder's lock. What a killed gateway left running is taken over, not started a second time.
import { realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError, type Log, type Secret, secret } from '../contract/index.ts'
import { statement } from '../storage/database.ts'
import { openPostgres } from '../storage/postgres.ts'
import { findBinaries } from './embedded-postgres/binaries.ts'
import {
  clusterExists,
  createCluster,
  readPassword,
  requireSameVersion,
  roleName,
} from './embedded-postgres/cluster.ts'
import { keepRunning } from './embedded-postgres/keep-running.ts'
import { trimLogs } from './embedded-postgres/logs.ts'
import {
  findServer,
  freePort,
  type Server,
  type ServerPlace,
  startServer,
  stopServer,
  stuckError,
} from './embedded-postgres/server.ts'
import { requireReachable, serverUser } from './embedded-postgres/server-user.ts'

export type EmbeddedPostgres = {
  readonly url: Secret
  /** Ends PostgreSQL in order, at most half a minute long. */
  readonly stop: () => Promise<void>
}

export type EmbeddedPostgresOptions = {
  readonly dataDir: string
  readonly log?: Log | undefined
  /** Told to a person who waits, and only when it takes long. */
  readonly tell?: ((line: string) => void) | undefined
}

const slowMs = 2_000
const retryStartMs = 3_000

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = await realpath(options.dataDir)
  const folder = join(dataDir, 'postgres')
  const user = await serverUser(folder)
  await requireReachable(user, dataDir)
  const binaries = await findBinaries(user)
  const isNew = !clusterExists(folder)
  const password = await readPassword(dataDir, isNew)
  if (isNew) {
    const made = createCluster({ dataDir, folder, binaries, user, password })
    await unlessQuick(
      made,
      options.tell,
      `Preparing a PostgreSQL database in ${folder}; only the first start does this.`,
    )
  }
  await requireSameVersion(folder, binaries)
  const place = { folder, binaries, user }
  const server = await unlessQuick(
    findOrStart(place, password),
    options.tell,
    'PostgreSQL is starting; after a crash it first reads back its journal.',
  )
  await trimLogs(folder)
  return { url: urlOf(server, password, roleName), stop: keepRunning(place, server, options.log) }
}

async function unlessQuick<T>(work: Promise<T>, tell: ((line: string) => void) | undefined, line: string): Promise<T> {
  const timer = setTimeout(() => tell?.(line), slowMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** A server that runs but does not answer, frozen for instance, is ended: it works in our folder, whose lock we hold. */
async function findOrStart(place: ServerPlace, password: Secret): Promise<Server> {
  const found = await findServer(place)
  if (found !== undefined) {
    try {
      await prepareDatabase(found, place.folder, password)
      return found
    } catch {
      await stopServer(found, place.folder)
    }
  }
  const server = await start(place)
  try {
    await prepareDatabase(server, place.folder, password)
    return server
  } catch (error) {
    await stopServer(server, place.folder)
    throw error
  }
}

/** Survivors of a killed server may hold its memory for a moment, and a free port may be taken before we use it. */
async function start(place: ServerPlace): Promise<Server> {
  const { signal } = new AbortController()
  for (const deadline = Date.now() + retryStartMs; ; ) {
    try {
      return await startServer(place, await freePort(), signal)
    } catch (error) {
      if (Date.now() > deadline) throw error
      await delay(300)
    }
  }
}

const whichFolder = statement('embedded_folder', `select current_setting('data_directory') as folder`)
const databases = statement('embedded_databases', 'select datname as name from pg_database')
const createDatabase = statement('embedded_create_database', `create database ${roleName}`)

/** Asks the server whose it is: only ours knows the password, and it says which folder it serves. */
async function prepareDatabase(server: Server, folder: string, password: Secret): Promise<void> {
  const admin = openPostgres({ url: urlOf(server, password, 'postgres').reveal(), maxConnections: 1 })
  try {
    const [row] = await admin.query<{ folder: string }>(whichFolder, [])
    if (row?.folder !== folder) throw stuckError(server.pid, folder, 'serves another folder')
    const known = await admin.query<{ name: string }>(databases, [])
    if (!known.some(({ name }) => name === roleName)) await admin.query(createDatabase, [])
  } catch (error) {
    throw refusal(error, server, folder)
  } finally {
    await admin.close()
  }
}

function refusal(error: unknown, server: Server, folder: string): GatewayError {
  if (!(error instanceof GatewayError)) return stuckError(server.pid, folder, 'does not answer')
  if (error.code === 'embedded_postgres_failed') return error
  if (error.details['sqlstate'] !== '28P01') return stuckError(server.pid, folder, 'does not answer')
  const file = join(dirname(folder), 'postgres.pgpass')
  return new GatewayError(
    'embedded_postgres_failed',
    `[storage] the password in ${file} is not the one of ${folder}; restore both from the same backup`,
  )
}

function urlOf({ port }: Server, password: Secret, database: string): Secret {
  return secret(`postgres://${roleName}:${password.reveal()}@127.0.0.1:${port}/${database}`)
}
