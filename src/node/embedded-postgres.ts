// A real PostgreSQL as our child process, in the data folder, on a unix socket: the default database.
// The caller holds the folder's lock. What a killed gateway left running is taken over, not started a second time.
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { nameStatement } from '../db/client.ts'
import { openPostgres } from '../db/postgres.ts'
import { GatewayError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { shortSocketFolder } from './data-dir.ts'
import { preparePrograms, verifyBinaries } from './embedded-postgres/binaries.ts'
import {
  clusterExists,
  createCluster,
  refuseFolderOfOlderRelease,
  requireSamePostgresVersion,
  roleName,
} from './embedded-postgres/cluster.ts'
import { socketName } from './embedded-postgres/postmaster.ts'
import {
  findRunningServer,
  type Server,
  type ServerPlace,
  serverStuckError,
  startServer,
  stopServer,
  superviseServer,
} from './embedded-postgres/server.ts'

export type EmbeddedPostgres = {
  readonly url: string
  /** Ends PostgreSQL in order, at most half a minute long. */
  readonly stop: () => Promise<void>
}

export type EmbeddedPostgresOptions = {
  readonly dataDir: string
  /** Settings of PostgreSQL by name, such as shared_buffers. */
  readonly settings?: Readonly<Record<string, string>>
  readonly log?: Log | undefined
  /** Told to a person who waits. */
  readonly report?: ((line: string) => void) | undefined
}

const slowMs = 2_000

export function embeddedFolder(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** Where the embedded PostgreSQL of a data folder answers while it runs. */
export async function embeddedUrl(dataDir: string, database: string = roleName): Promise<string> {
  const host = await shortSocketFolder(embeddedFolder(dataDir), socketName)
  return `postgres://${roleName}@localhost/${database}?host=${encodeURIComponent(host)}`
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = await realpath(options.dataDir)
  const folder = embeddedFolder(dataDir)
  refuseFolderOfOlderRelease(dataDir)
  const isNew = !clusterExists(folder)
  if (isNew) options.report?.(`Creating the database in ${folder} (only the first start does this) …`)
  const programs = await preparePrograms(dataDir, folder)
  await verifyBinaries(programs.binaries, isNew ? 'all' : 'postgres')
  if (isNew) await createCluster(programs)
  await requireSamePostgresVersion(folder)
  const place = { ...programs, settings: options.settings ?? {} }
  const server = await printLineWhenSlow(
    findOrStartServer(place, dataDir),
    options.report,
    'Starting PostgreSQL; after a crash it first reads back its journal …',
  )
  return { url: await embeddedUrl(dataDir), stop: superviseServer(place, server, options.log) }
}

async function printLineWhenSlow<T>(
  work: Promise<T>,
  tell: ((line: string) => void) | undefined,
  line: string,
): Promise<T> {
  const timer = setTimeout(() => tell?.(line), slowMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
  }
}

/** A server that runs but does not answer, frozen for instance, is ended: it works in our folder, whose lock we hold. */
async function findOrStartServer(place: ServerPlace, dataDir: string): Promise<Server> {
  const found = await findRunningServer(place)
  if (found !== undefined) {
    try {
      await createDatabaseIfMissing(found, dataDir)
      return found
    } catch {
      await stopServer(found, place.folder)
    }
  }
  const server = await startServer(place, new AbortController().signal)
  try {
    await createDatabaseIfMissing(server, dataDir)
    return server
  } catch (error) {
    await stopServer(server, place.folder)
    throw error
  }
}

const databases = nameStatement('embedded_databases', 'select datname as name from pg_database')
const createDatabase = nameStatement('embedded_create_database', `create database ${roleName}`)

async function createDatabaseIfMissing(server: Server, dataDir: string): Promise<void> {
  const admin = openPostgres({ url: await embeddedUrl(dataDir, 'postgres'), maxConnections: 1 })
  try {
    const known = await admin.query<{ name: string }>(databases, [])
    if (!known.some(({ name }) => name === roleName)) await admin.query(createDatabase, [])
  } catch (error) {
    throw error instanceof GatewayError && error.details['sqlstate'] === '53100'
      ? error
      : serverStuckError(server.pid, embeddedFolder(dataDir), 'does not answer')
  } finally {
    await admin.close()
  }
}
