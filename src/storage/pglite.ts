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
  // A plan that is kept must suit full tables too; every hot statement has its index (see postgres.ts).
  await engine.exec('set enable_seqscan = off')
  const sql = runner(engine, options.failpoint)
  return {
    kind: 'pglite',
    isShared: false,
    ...sql,
    accepting: createSql(preparedDriver(engine), options.failpoint),
    observing: sql,
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

/** Planning the accept statement anew every time costs several times as much as running it. */
function preparedDriver(engine: PGlite): Driver {
  const prepared = new Map<string, Promise<unknown>>()
  const prepare = ({ name, text }: Statement): Promise<unknown> => {
    const known = prepared.get(name) ?? engine.exec(`prepare ${name} as ${text}`)
    prepared.set(name, known)
    known.catch(() => prepared.delete(name))
    return known
  }
  return {
    async run<Row>(asked: Statement, params: readonly Param[]) {
      await prepare(asked)
      const call = params.length === 0 ? asked.name : `${asked.name}(${params.map(literal).join(', ')})`
      const [result] = await engine.exec(`execute ${call}`)
      // The statement's own columns; the store that wrote the statement states their type.
      return (result?.rows ?? []) as unknown as readonly Row[]
    },
    script: (asked) => engine.exec(asked.text),
  }
}

/** EXECUTE takes no parameters, only literals. With standard strings, as in this engine, a quote is all there is to escape. */
function literal(param: Param): string {
  return typeof param === 'string' ? `'${param.replaceAll("'", "''")}'` : String(param)
}
