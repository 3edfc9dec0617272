// PGlite: PostgreSQL inside this process, in one folder. One connection; survives kill -9, never calls fsync.
import { PGlite } from '@electric-sql/pglite'
import { dataDir as preparedDataDir } from '@electric-sql/pglite-prepopulatedfs'
import {
  createSql,
  type Database,
  type Driver,
  type Failpoint,
  type Param,
  type Sql,
  type Statement,
  statement,
} from './database.ts'

export type PgliteOptions = {
  /** A folder on disk; absent = in memory. The caller holds the folder's lock. */
  readonly folder?: string
  /** True when the folder does not exist yet and is filled from the prepared one (1 s instead of 4 s). */
  readonly isNew: boolean
  readonly failpoint?: Failpoint
}

type Runner = Pick<PGlite, 'query' | 'exec'>

export async function openPglite(options: PgliteOptions): Promise<Database> {
  const engine = await PGlite.create({
    ...(options.folder === undefined ? {} : { dataDir: options.folder }),
    ...(options.isNew ? { loadDataDir: await preparedDataDir() } : {}),
  })
  const sql = runner(engine, options.failpoint)
  return {
    kind: 'pglite',
    isShared: false,
    ...sql,
    accepting: sql,
    transaction: (work) => engine.transaction((tx) => work(runner(tx, options.failpoint))),
    // One process, one connection: the in-process signal wakes everybody there is.
    listen: async () => async () => {},
    maintain: () => vacuum(sql),
    close: () => engine.close(),
  }
}

const neglected = statement(
  'find_neglected',
  `select format('%I', relname) as name from pg_stat_user_tables
   where n_dead_tup > 1000 and n_dead_tup > n_live_tup * 0.2`,
)

/** There is no autovacuum in here: without this, rows that were updated would be kept for ever. */
async function vacuum(sql: Sql): Promise<void> {
  for (const { name } of await sql.query<{ name: string }>(neglected, [])) {
    await sql.query(statement('vacuum', `vacuum (analyze) ${name}`), [])
  }
}

function runner(engine: Runner, failpoint: Failpoint | undefined): Sql {
  const driver: Driver = {
    run: async <Row>(asked: Statement, params: readonly Param[]) =>
      (await engine.query<Row>(asked.text, [...params])).rows,
    script: (asked) => engine.exec(asked.text),
  }
  return createSql(driver, failpoint)
}
