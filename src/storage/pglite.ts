// PGlite: PostgreSQL inside this process, in one folder. One connection; survives kill -9, never calls fsync.
import { PGlite } from '@electric-sql/pglite'
import { dataDir as preparedDataDir } from '@electric-sql/pglite-prepopulatedfs'
import { createSql, type Database, type Driver, type Failpoint, type Sql, statement } from './database.ts'
import { createPreparedStatements } from './pglite-statements.ts'
import { createPoliteQueue, type PoliteQueue } from './polite-queue.ts'

export type PgliteOptions = {
  /** A folder on disk; absent = in memory. The caller holds the folder's lock. */
  readonly folder?: string
  /** True when the folder does not exist yet and is filled from the prepared one (1 s instead of 4 s). */
  readonly isNew: boolean
  readonly failpoint?: Failpoint
}

/** As on PostgreSQL (see postgres.ts): plans are kept, so they must suit a full table and a handful of rows. */
const smallPlans = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off'

/** The accept statement joins a batch with itself, and who looks at the gateway joins whole tables. */
const joinPlans = 'set local enable_hashjoin = on; set local enable_mergejoin = on; '

export async function openPglite({ folder, isNew, failpoint }: PgliteOptions): Promise<Database> {
  const engine = await PGlite.create({
    ...(folder === undefined ? {} : { dataDir: folder }),
    ...(isNew ? { loadDataDir: await preparedDataDir() } : {}),
  })
  await engine.exec(smallPlans)
  const statements = createPreparedStatements(engine)
  const queue = createPoliteQueue(eventLoop, () => performance.now())
  const through = (settings?: string): Sql => createSql(queued(queue, statements.driver(settings)), failpoint)
  const sql = through()
  return {
    kind: 'pglite',
    isShared: false,
    ...sql,
    accepting: through(joinPlans),
    observing: through(joinPlans),
    // Queued as a whole: its own statements are its turn.
    transaction: (work) => queue(() => engine.transaction((tx) => work(createSql(statements.within(tx), failpoint)))),
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

/** Whoever waits for a request, an answer or a timer gets a turn. */
function eventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function queued(queue: PoliteQueue, driver: Driver): Driver {
  return {
    run: (asked, params) => queue(() => driver.run(asked, params)),
    script: (asked) => queue(() => driver.script(asked)),
  }
}
