// The database that is backed up or restored into: the server of DATABASE_URL, or the one in the data folder.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import { lockDataDir } from '../data-dir.ts'
import { clusterExists } from '../embedded-postgres/cluster.ts'
import { socketName } from '../embedded-postgres/postmaster.ts'
import { embeddedFolder, embeddedUrl, startEmbeddedPostgres } from '../embedded-postgres.ts'
import { createStartingServer } from '../starting-responder.ts'

export type BackupDatabase = {
  readonly databaseUrl: string
  /** A gateway may be at work on it, now or right after. */
  readonly isLive: boolean
  readonly close: () => Promise<void>
}

export type BackupDatabaseOptions = {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir' | 'postgresSettings'>
  /** Told to a person who waits. */
  readonly tell?: (line: string) => void
}

/** A gateway that starts, or another command, has the folder before its PostgreSQL answers. */
const startingMs = 60_000

export async function openDatabaseForBackup(options: BackupDatabaseOptions): Promise<BackupDatabase> {
  const { databaseUrl, dataDir } = options.config
  // Gateways on a server can be anywhere, so one may always be at work there.
  if (databaseUrl !== undefined) return { databaseUrl: databaseUrl.reveal(), isLive: true, close: async () => {} }
  if (!clusterExists(embeddedFolder(dataDir))) {
    throw new GatewayError(
      'schema_missing',
      `[backup] ${dataDir} holds no database yet, so there is nothing to back up; check PARLEY_DATA_DIR and DATABASE_URL`,
    )
  }
  for (const until = Date.now() + startingMs; ; await delay(200)) {
    try {
      return await startEmbeddedUnderLock(options)
    } catch (error) {
      if (!isGatewayError(error, 'data_dir_locked') || Date.now() > until) throw error
    }
    if (existsSync(join(embeddedFolder(dataDir), socketName))) {
      return { databaseUrl: await embeddedUrl(dataDir), isLive: true, close: async () => {} }
    }
  }
}

export async function openDatabaseForRestore(options: BackupDatabaseOptions): Promise<BackupDatabase> {
  const { databaseUrl } = options.config
  if (databaseUrl === undefined) return startEmbeddedUnderLock(options)
  return { databaseUrl: databaseUrl.reveal(), isLive: false, close: async () => {} }
}

/** The one in the data folder, under the folder's lock: no gateway works on it as long as this one is open. */
async function startEmbeddedUnderLock({ config, tell }: BackupDatabaseOptions): Promise<BackupDatabase> {
  const unlock = await lockDataDir(config.dataDir, createStartingServer())
  try {
    const server = await startEmbeddedPostgres({
      dataDir: config.dataDir,
      settings: config.postgresSettings,
      report: tell,
    })
    return {
      databaseUrl: server.url,
      isLive: false,
      async close() {
        await server.stop()
        await unlock()
      },
    }
  } catch (error) {
    await unlock()
    throw error
  }
}
