// PostgreSQL through postgres.js: the driver that replicas share.
import postgres from 'postgres'
import { createSql, type Database, type Failpoint, type WakingWork } from './database.ts'
import { createFaultWatch, type FaultWatch } from './fault-watch.ts'
import { createPostgresDriver, type PostgresClient, runTransaction, splitSocket } from './postgres-driver.ts'
import { openPool, type PostgresPool } from './postgres-pool.ts'

const wakeChannel = 'parley_wake'

/**
 * Prepared statements keep the plan of their first calls, when the tables were empty and a scan was cheapest. Every hot
 * statement has its index; without sequential scans the first plan is also the right one for a full table.
 */
const steadyPlans = { enable_seqscan: 'off', jit: 'off' } as const

/** The same for statements that touch a handful of rows: joining them by hash would read the other table whole. */
const smallPlans = { ...steadyPlans, enable_hashjoin: 'off', enable_mergejoin: 'off' } as const

const observeDeadlineMs = 2_000

/** A connection lives for minutes, not for the life of the process: settings of a role or a database reach it, and a proxy is rid of it. */
const lifetimeSeconds = 15 * 60

export type PostgresOptions = {
  /** `?host=/folder` names a folder with a unix socket, as for libpq. */
  readonly url: string
  /** False: no other process works on this database, so none is told of new work. */
  readonly isShared?: boolean
  readonly maxConnections?: number
  readonly acceptConnections?: number
  readonly acceptDeadlineMs?: number
  readonly failpoint?: Failpoint
}

export function openPostgres(options: PostgresOptions): Database {
  // The driver's own pause grows to twenty seconds; a database that is back should find us back within one.
  const backoff = (tries: number): number => Math.min(1, 0.05 * 2 ** tries)
  const { url, ...socket } = splitSocket(options.url)
  const common = {
    ...socket,
    // The driver asks for array types on every new connection and lets that question fail unheard when the connection
    // breaks, which would end the process. Our statements return no arrays.
    fetch_types: false,
    onnotice: () => {},
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: lifetimeSeconds,
    prepare: true,
    backoff,
  } as const
  // Said along with every NOTIFY, so that its sender can leave it alone. Poolers know this setting, and hand it on.
  const sender = `parley-${crypto.randomUUID()}`
  const named = { application_name: sender }
  const work = openPool(() =>
    postgres(url, { ...common, max: options.maxConnections ?? 10, connection: { ...smallPlans, ...named } }),
  )
  const accept = openPool(() =>
    postgres(url, {
      ...common,
      max: options.acceptConnections ?? 2,
      connection: { ...steadyPlans, ...named, statement_timeout: options.acceptDeadlineMs ?? 2000 },
    }),
  )
  // Connects when first used, and closes when no operator looks any more.
  const observer = postgres(url, {
    ...common,
    max: 1,
    idle_timeout: 120,
    connection: { ...steadyPlans, ...named, statement_timeout: observeDeadlineMs },
  })
  // LISTEN needs a connection of its own: a pooled one would lose its subscription.
  let listener: PostgresClient | undefined
  const working = watchPool(work)
  const accepting = watchPool(accept)

  return {
    isShared: options.isShared ?? true,
    faults: () => [accepting.fault(), working.fault()].filter((fault) => fault !== undefined),
    ...createSql(createPostgresDriver(work.client), options.failpoint, working),
    accepting: createSql(createPostgresDriver(accept.client), options.failpoint, accepting),
    observing: createSql(
      createPostgresDriver(() => observer),
      options.failpoint,
    ),
    transaction: (steps) => runTransaction(work.client(), options.failpoint, steps, working),
    async listen(onWake) {
      // No other process has work to announce.
      if (options.isShared === false) return async () => {}
      listener ??= postgres(url, { ...common, max: 1 })
      const hear = (payload: string): void => {
        const [work = '', from = ''] = payload.split(' ')
        if (from !== sender) onWake(isWakingWork(work) ? work : undefined)
      }
      // The second is called when the subscription stands, again after a lost connection: anything may have been missed.
      const subscription = await listener.listen(wakeChannel, hear, () => onWake())
      return () => subscription.unlisten()
    },
    async close() {
      await Promise.all([work.close(), accept.close(), observer.end({ timeout: 2 }), listener?.end({ timeout: 2 })])
    },
  }
}

function watchPool({ renew }: PostgresPool): FaultWatch {
  return createFaultWatch({ monotonicMs: () => performance.now(), renewConnections: renew })
}

function isWakingWork(text: string): text is WakingWork {
  return text === 'turns' || text === 'sends'
}
