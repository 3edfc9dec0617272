// What a subject's database has done so far, read from a connection to another one so that reading it counts for nobody.
import { readFile } from 'node:fs/promises'
import postgres from 'postgres'
import { statOf, tickMicros } from '../postgres.ts'

/** Totals; whoever measures subtracts. */
export type DatabaseFigures = {
  readonly cpuMicros: number
  readonly statements: number
  readonly commits: number
  readonly walBytes: number
  readonly keptBytes: number
}

export type DatabaseMeter = {
  readonly read: () => Promise<DatabaseFigures>
  /** Reads the CPU time of processes that may be gone at the end, again and again until it is told to stop. */
  readonly watch: () => () => Promise<void>
}

export type DatabaseMeters = {
  readonly meterDatabase: (url: string) => DatabaseMeter
  readonly close: () => Promise<void>
}

/** Settings that the server of the journey needs: statements are counted as they end, and a page written after a checkpoint is not WAL. */
export const journeyPostgresSettings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'top',
  full_page_writes: 'off',
} as const

const watchMs = 250

export async function openDatabaseMeters(anyDatabaseUrl: string): Promise<DatabaseMeters> {
  const url = new URL(anyDatabaseUrl)
  url.pathname = '/postgres'
  const sql = postgres(url.href, { max: 2, onnotice: () => {} })
  await sql`create extension if not exists pg_stat_statements`
  return {
    meterDatabase: (databaseUrl) => meterDatabase(sql, new URL(databaseUrl).pathname.slice(1)),
    close: () => sql.end({ timeout: 2 }),
  }
}

function meterDatabase(sql: postgres.Sql, database: string): DatabaseMeter {
  // The last known time of each process, also of those that are gone.
  const cpuMicrosByPid = new Map<number, number>()
  const readCpu = async (): Promise<number> => {
    // The WAL writer works for all databases; only one subject is under load at a time.
    // Vacuuming comes by chance into one short run and not into the next.
    const rows = await sql`
      select pid from pg_stat_activity
      where (datname = ${database} and backend_type <> 'autovacuum worker') or backend_type = 'walwriter'`
    for (const { pid } of rows) {
      const micros = await readProcessCpu(Number(pid))
      if (micros !== undefined) cpuMicrosByPid.set(Number(pid), micros)
    }
    return [...cpuMicrosByPid.values()].reduce((sum, micros) => sum + micros, 0)
  }
  return {
    async read() {
      const cpuMicros = await readCpu()
      const [row] = await sql`
        select pg_database_size(oid) as kept, pg_stat_get_db_xact_commit(oid) as commits,
               pg_current_wal_lsn() - '0/0'::pg_lsn as wal,
               (select coalesce(sum(calls), 0) from pg_stat_statements where dbid = oid) as statements
        from pg_database where datname = ${database}`
      const numberOf = (name: string): number => Number(row?.[name])
      const [walBytes, keptBytes] = [numberOf('wal'), numberOf('kept')]
      return { cpuMicros, statements: numberOf('statements'), commits: numberOf('commits'), walBytes, keptBytes }
    },
    watch() {
      let isOver = false
      const looking = (async () => {
        while (!isOver) {
          await readCpu()
          await new Promise((resolve) => setTimeout(resolve, watchMs))
        }
      })()
      // Handled when the watch is stopped, and not before.
      looking.catch(() => {})
      return async () => {
        isOver = true
        await looking
      }
    },
  }
}

/** The scheduler counts nanoseconds; a kernel that does not tell counts hundredths of a second. One thread each. */
async function readProcessCpu(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => undefined)
  const nanos = Number(text?.split(' ')[0])
  if (Number.isFinite(nanos) && nanos > 0) return nanos / 1000
  const stat = await statOf(pid)
  return stat === undefined ? undefined : stat.ticks * tickMicros
}
