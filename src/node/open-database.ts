// The database of this process: a PostgreSQL server, or the embedded one in the data folder, under the folder's lock.
import type { Server } from 'node:net'
import type { Config } from '../config.ts'
import type { Database, Failpoint } from '../db/client.ts'
import { migrate } from '../db/migrate.ts'
import { expireLanes, freeSendLanes } from '../db/open-turn.ts'
import { requireSessionPerConnection } from '../db/own-sessions.ts'
import { openPostgres } from '../db/postgres.ts'
import { requireSchema } from '../db/schema-version.ts'
import { freeSources } from '../db/sources.ts'
import type { Log } from '../lib/log.ts'
import { lockDataDir } from './data-dir.ts'
import { embeddedUrl, startEmbeddedPostgres } from './embedded-postgres.ts'
import { childPrefix } from './isolation.ts'

export type OpenedDatabase = { readonly database: Database; readonly close: () => Promise<void> }

export type OpenOptions = {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir' | 'postgresSettings'>
  readonly migrationsFolder: string
  /** Listens on the data folder's socket; being able to is the lock. */
  readonly lockServer: Server
  /** False: a schema that is behind is refused instead of changed. Absent: it is migrated. */
  readonly mayMigrate?: boolean
  readonly failpoint?: Failpoint
  readonly log?: Log
  /** Told to a person who waits for the start. */
  readonly report?: (line: string) => void
}

/** A connection of PostgreSQL takes some five megabytes once it knows our statements. */
const embeddedConnections = { maxConnections: 4, acceptConnections: 1 } as const

export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const opened = await openServerOrEmbedded(options)
  try {
    if (options.mayMigrate === false) await requireSchema(opened.database)
    else await migrate(opened.database, options.migrationsFolder)
    if (options.config.databaseUrl === undefined) await releaseLeasesOfDeadGateway(opened.database)
  } catch (error) {
    await opened.close()
    throw error
  }
  return opened
}

/** For a process that works for a gateway: the database that this one has opened, which it neither starts nor migrates. */
export async function connectToOpenedDatabase(config: OpenOptions['config'], failpoint?: Failpoint): Promise<Database> {
  const hook = failpoint === undefined ? {} : { failpoint }
  const database =
    config.databaseUrl === undefined
      ? openPostgres({ url: await embeddedUrl(config.dataDir), isShared: false, ...embeddedConnections, ...hook })
      : openPostgres({ url: config.databaseUrl.reveal(), ...embeddedConnections, ...hook })
  try {
    await requireSchema(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The folder's lock says that the gateway that worked here before is dead: what it held goes on at once. */
async function releaseLeasesOfDeadGateway(database: Database): Promise<void> {
  await database.query(expireLanes, [childPrefix])
  for (const free of [freeSendLanes, freeSources]) await database.query(free, [])
}

async function openServerOrEmbedded({
  config,
  lockServer,
  failpoint,
  log,
  report,
}: OpenOptions): Promise<OpenedDatabase> {
  const hook = failpoint === undefined ? {} : { failpoint }
  if (config.databaseUrl !== undefined) {
    const url = config.databaseUrl.reveal()
    await requireSessionPerConnection(url)
    const database = openPostgres({ url, ...hook })
    return { database, close: () => database.close() }
  }
  const unlock = await lockDataDir(config.dataDir, lockServer)
  try {
    const { dataDir, postgresSettings: settings } = config
    const server = await startEmbeddedPostgres({ dataDir, settings, log, report })
    const database = openPostgres({ url: server.url, isShared: false, ...embeddedConnections, ...hook })
    return {
      database,
      async close() {
        await database.close()
        await server.stop()
        await unlock()
      },
    }
  } catch (error) {
    await unlock()
    throw error
  }
}
