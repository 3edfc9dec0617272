// PostgreSQL's programs, ready to run on a data folder: found, and for root, whom PostgreSQL refuses, as a user who can.
import { join } from 'node:path'
import { GatewayError } from '../../contract/index.ts'
import { type Binaries, copyBinaries, findBinaries } from './binaries.ts'
import { chooseRunAs, openFoldersForAccount, type RunAs } from './run-as.ts'

export type Programs = {
  readonly dataDir: string
  /** The database's own folder in it, which may not exist yet. */
  readonly folder: string
  readonly binaries: Binaries
  readonly runAs: RunAs
}

/** `dataDir` exists. */
export async function preparePrograms(dataDir: string, folder: string): Promise<Programs> {
  const installed = await findBinaries(join(dataDir, 'postgres-libraries'))
  const programs =
    (await findRunnablePrograms(dataDir, folder, installed)) ?? (await copyRunnablePrograms(dataDir, folder, installed))
  await openFoldersForAccount(programs.runAs, programs)
  return programs
}

async function findRunnablePrograms(
  dataDir: string,
  folder: string,
  binaries: Binaries,
): Promise<Programs | undefined> {
  const runAs = await chooseRunAs({ dataDir, folder, ...binaries })
  return runAs === undefined ? undefined : { dataDir, folder, binaries, runAs }
}

async function copyRunnablePrograms(dataDir: string, folder: string, installed: Binaries): Promise<Programs> {
  const binaries = await copyBinaries(installed)
  const programs = binaries === undefined ? undefined : await findRunnablePrograms(dataDir, folder, binaries)
  if (programs !== undefined) return programs
  throw new GatewayError(
    'config_invalid',
    `[storage] PostgreSQL does not run as root, and no other user can reach ${dataDir}; run Parley as an ordinary user, choose a folder that others may enter with PARLEY_DATA_DIR, or set DATABASE_URL`,
  )
}
