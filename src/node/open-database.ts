// The database of this process: PostgreSQL where DATABASE_URL is set, else PGlite in the data folder under its lock.
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Database, Failpoint } from '../storage/database.ts'
import { migrate } from '../storage/migrate.ts'
import { openPglite } from '../storage/pglite.ts'
import { openPostgres } from '../storage/postgres.ts'
import { freeLanes, freeSendLanes } from '../storage/statements/turns.ts'
import { lockDataDir } from './data-dir-lock.ts'

export type OpenedDatabase = { readonly database: Database; readonly close: () => Promise<void> }

export type OpenOptions = {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>
  readonly migrationsFolder: string
  /** Listens on the data folder's socket; being able to is the lock. */
  readonly lockServer: Server
  readonly failpoint?: Failpoint
}

export async function openDatabase(options: OpenOptions): Promise<OpenedDatabase> {
  const { database, unlock } = await open(options)
  try {
    await migrate(database, options.migrationsFolder)
    // The folder's lock says that whoever worked here before is dead: what it held goes on at once.
    if (!database.isShared) for (const free of [freeLanes, freeSendLanes]) await database.query(free, [])
  } catch (error) {
    await database.close()
    await unlock()
    throw error
  }
  return {
    database,
    async close() {
      await database.close()
      await unlock()
    },
  }
}

async function open({
  config,
  lockServer,
  failpoint,
}: OpenOptions): Promise<{ database: Database; unlock: () => Promise<void> }> {
  const hook = failpoint === undefined ? {} : { failpoint }
  if (config.databaseUrl !== undefined) {
    return { database: openPostgres({ url: config.databaseUrl.reveal(), ...hook }), unlock: async () => {} }
  }
  const unlock = await lockDataDir(config.dataDir, lockServer)
  try {
    return { database: await openEmbedded(config.dataDir, hook), unlock }
  } catch (error) {
    await unlock()
    throw error
  }
}

async function openEmbedded(dataDir: string, hook: { failpoint?: Failpoint }): Promise<Database> {
  const folder = join(dataDir, 'database')
  // Stands while the folder is being filled: if the process dies meanwhile, nothing was acknowledged from it yet.
  const mark = join(dataDir, 'database.preparing')
  if (existsSync(mark)) await rm(folder, { recursive: true, force: true })
  const isNew = !existsSync(join(folder, 'PG_VERSION'))
  if (isNew) await writeFile(mark, '')
  await mkdir(folder, { recursive: true })
  const database = await openPglite({ folder, isNew, ...hook })
  await rm(mark, { force: true })
  return database
}
