// The PostgreSQL of a run: real, waiting for the disk at every commit, and its CPU time read from outside.
import { readFile } from 'node:fs/promises'
import postgres from 'postgres'
import { createPostgresDatabase } from '../test/setup/postgres-databases.ts'
import { startPostgresServer } from '../test/setup/postgres-server.ts'

export type BenchPostgres = {
  readonly version: string
  /** A fresh database on the server; returns its address. */
  readonly createDatabase: () => Promise<string>
  /** CPU time of the server and all its processes so far; undefined where the system does not tell. */
  readonly cpuMicros: () => Promise<number | undefined>
  readonly stop: () => Promise<void>
}

// Linux counts in hundredths of a second for every program, whatever the kernel's own tick (man 5 proc).
export const tickMicros = 10_000

/** `settings` over the usual ones. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
  const server = await startPostgresServer({ isDurable: true, settings })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  const stop = async (): Promise<void> => {
    await sql.end({ timeout: 2 })
    await server.stop()
  }
  try {
    const [row] = await sql`select pg_backend_pid() as pid, current_setting('server_version') as version`
    const parent = (await statOf(Number(row?.['pid'])))?.parent
    return {
      version: String(row?.['version']),
      createDatabase: async () => (await createPostgresDatabase(server.url)).url,
      cpuMicros: async () => (parent === undefined ? undefined : familyCpu(parent)),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What ended children used is in their parent's account once it has waited for them. */
async function familyCpu(parent: number): Promise<number> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '')
  const own = await statOf(parent)
  let ticks = (own?.ticks ?? 0) + (own?.childTicks ?? 0)
  for (const child of children.split(' ').filter(Boolean)) ticks += (await statOf(Number(child)))?.ticks ?? 0
  return ticks * tickMicros
}

type Stat = { readonly parent: number; readonly ticks: number; readonly childTicks: number }

export async function statOf(pid: number): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The command stands in brackets and may hold anything; the numbers follow the last bracket.
  const fields = text
    ?.slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  if (fields === undefined) return undefined
  const at = (index: number): number => fields[index] ?? 0
  return { parent: at(1), ticks: at(11) + at(12), childTicks: at(13) + at(14) }
}
