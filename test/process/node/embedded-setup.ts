import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { isPostmasterOfFolder, readPostmasterPidFile } from '../../../src/node/embedded-postgres/postmaster.ts'
import { embeddedUrl } from '../../../src/node/embedded-postgres.ts'
import { type ParleyProcess, startParley } from '../../doubles/parley-process.ts'

export const isRoot = process.getuid?.() === 0
export const bin = fileURLToPath(new URL('../../../bin/parley.js', import.meta.url))
export const slow = 120_000

export const started: ParleyProcess[] = []
export const folders: string[] = []

export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-embedded-'))
  // As root the server runs as another user, who must get here.
  await chmod(folder, 0o755)
  folders.push(folder)
  return folder
}

export async function start(dataDir: string, ids?: { uid: number; gid: number }): Promise<ParleyProcess> {
  const running = await startParley({ dataDir, database: 'embedded', ...(ids === undefined ? {} : { ids }) })
  started.push(running)
  return running
}

export const serverFolder = (dataDir: string): string => join(dataDir, 'postgres')

/** Throws when there is none: a signal to process 0 goes to the whole group, this run included. */
export async function serverPid(dataDir: string): Promise<number> {
  const found = await readPostmasterPidFile(serverFolder(dataDir))
  if (found === undefined) throw new Error('no PostgreSQL is recorded in the folder')
  return found.pid
}

/** Fields of the file after the name in parentheses: state, parent, group. */
export function processGroup(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')[2]
}

/** A connection of our own, the way an operator's psql would come in. */
export async function connect(dataDir: string): Promise<Database> {
  return openPostgres({ url: await embeddedUrl(dataDir), maxConnections: 1 })
}

export async function until(isTrue: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await isTrue()); ) {
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

export async function walSyncs(database: Database): Promise<number> {
  const counted = nameStatement(
    'test_syncs',
    `select sum(fsyncs)::int as syncs, pg_stat_clear_snapshot() from pg_stat_io where object = 'wal'`,
  )
  const [row] = await database.query<{ syncs: number }>(counted, [])
  return row?.syncs ?? 0
}

/** Ends what a test left running: the gateways by their handles, their servers by the pid in their own folders. */
export async function clean(): Promise<void> {
  for (const each of started.splice(0)) await each.kill()
  for (const folder of folders.splice(0)) {
    const pid = (await readPostmasterPidFile(serverFolder(folder)))?.pid
    if (pid !== undefined && (await isPostmasterOfFolder(pid, serverFolder(folder)))) {
      process.kill(pid, 'SIGQUIT')
      await until(async () => !(await isPostmasterOfFolder(pid, serverFolder(folder))), 'the end of a left-over server')
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
