// The database of this process: PostgreSQL elsewhere, PostgreSQL as our child, or PGlite; the last two in the data folder
// under its lock.
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { GatewayError, type Log } from '../contract/index.ts'
import type { Database, Failpoint } from '../storage/database.ts'
import { migrate } from '../storage/migrate.ts'
import { openPglite } from '../storage/pglite.ts'
import { openPostgres } from '../storage/postgres.ts'
import { requireSchema } from '../storage/schema-version.ts'
import { freeSources } from '../storage/statements/sources.ts'
import { freeLanes, freeSendLanes } from '../storage/statements/turns.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'

export type OpenedDatabase = { readonly database: Database; readonly close: () => Promise<void> }

export type OpenOptions = {
  readonly config: Pick<Config, 'database' | 'databaseUrl' | 'dataDir'>
  readonly migrationsFolder: string
  /** Listens on the data folder's socket; being able to is the lock. */
  readonly lockServer: Server
  /** False: a schema that is behind is refused instead of changed. Absent: it is migrated. */
  readonly mayMigrate?: boolean
  readonly failpoint?: Failpoint
  readonly log?: Log
  /** Told to a person who waits for the start, and only when it takes long. */
  readonly tell?: (line: string) => void
}

export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const opened = await open(options)
  try {
    if (options.mayMigrate === false) await requireSchema(opened.database)
    else await migrate(opened.database, options.migrationsFolder)
    if (options.config.databaseUrl === undefined) await freeWhatTheDeadHeld(opened.database)
  } catch (error) {
    await opened.close()
    throw error
  }
  return opened
}

/** The folder's lock says that whoever worked here before is dead: what it held goes on at once. */
async function freeWhatTheDeadHeld(database: Database): Promise<void> {
  for (const free of [freeLanes, freeSendLanes, freeSources]) await database.query(free, [])
}

async function open(options: OpenOptions): Promise<OpenedDatabase> {
  const { config, lockServer, failpoint } = options
  const hook = failpoint === undefined ? {} : { failpoint }
  if (config.databaseUrl !== undefined) {
    const database = openPostgres({ url: config.databaseUrl.reveal(), ...hook })
    return { database, close: () => database.close() }
  }
  const unlock = await lockDataDir(config.dataDir, lockServer)
  try {
    refuseToForget(config)
    const opened =
      config.database.kind === 'embedded-postgres' ? await openServer(options, hook) : await openInside(config, hook)
    return {
      database: opened.database,
      async close() {
        await opened.close()
        await unlock()
      },
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

/** A forgotten flag must not look like an empty gateway: what was acknowledged lies in the other database. */
function refuseToForget({ database, dataDir }: OpenOptions['config']): void {
  if (database.isChosen || !existsSync(join(dataDir, 'postgres', 'PG_VERSION'))) return
  throw new GatewayError(
    'config_invalid',
    `[storage] ${dataDir} holds an embedded PostgreSQL database; start with --database=embedded-postgres to go on with it, or with --database=pglite for another one beside it`,
  )
}

function holdsOnlyPglite(dataDir: string): boolean {
  const [inside, beside] = ['database', 'postgres'].map((name) => existsSync(join(dataDir, name, 'PG_VERSION')))
  return inside === true && beside === false
}

async function openServer(
  { config, log, tell }: OpenOptions,
  hook: { failpoint?: Failpoint },
): Promise<OpenedDatabase> {
  if (holdsOnlyPglite(config.dataDir)) {
    tell?.(`The PGlite database in ${config.dataDir} stays as it is; the PostgreSQL beside it begins empty.`)
  }
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log, tell })
  const database = openPostgres({ url: server.url.reveal(), ...hook })
  return {
    database,
    async close() {
      await database.close()
      await server.stop()
    },
  }
}

async function openInside(
  { dataDir }: Pick<Config, 'dataDir'>,
  hook: { failpoint?: Failpoint },
): Promise<OpenedDatabase> {
  const folder = join(dataDir, 'database')
  // Stands while the folder is being filled: if the process dies meanwhile, nothing was acknowledged from it yet.
  const mark = join(dataDir, 'database.preparing')
  if (existsSync(mark)) await rm(folder, { recursive: true, force: true })
  const isNew = !existsSync(join(folder, 'PG_VERSION'))
  if (isNew) await writeFile(mark, '')
  await mkdir(folder, { recursive: true })
  const database = await openPglite({ folder, isNew, ...hook })
  await rm(mark, { force: true })
  return { database, close: () => database.close() }
}
