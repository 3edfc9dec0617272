// The database that `parley backup` and `parley restore` work on: opened, named, closed, and its absence told.
import type { Config } from '../config.ts'
import type { BackupDatabase, BackupDatabaseOptions } from '../node/backup/open-place.ts'
import { CommandError, exitCodes, isDatabaseUnavailable } from './exit.ts'
import { printRemark } from './output.ts'

export async function withDatabase<T>(
  config: Config,
  open: (options: BackupDatabaseOptions) => Promise<BackupDatabase>,
  work: (place: BackupDatabase) => Promise<T>,
): Promise<T> {
  const place = await open({ config, tell: printRemark })
  try {
    return await work(place)
  } catch (error) {
    if (!isDatabaseUnavailable(error) || config.databaseUrl === undefined) throw error
    const { host } = new URL(config.databaseUrl.reveal())
    throw new CommandError(
      exitCodes.unreachable,
      'storage_unavailable',
      `no database answers at ${host}; check that it is up, and DATABASE_URL`,
    )
  } finally {
    await place.close()
  }
}

/** Without user and password. */
export function databaseName({ databaseUrl, dataDir }: Config): string {
  if (databaseUrl === undefined) return `the data folder ${dataDir}`
  const { host, pathname } = new URL(databaseUrl.reveal())
  return `the database ${pathname.slice(1)} at ${host}`
}
