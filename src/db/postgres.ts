// PostgreSQL through postgres.js: the driver that replicas share, and its pool.

import postgres from 'postgres'
import { type GatewayError, isGatewayError } from '../lib/errors.ts'
import {
  type Database,
  type Failpoint,
  type Outcomes,
  type Param,
  readSqlState,
  type Sql,
  type Statement,
  type StorageFault,
  storageRemedy,
  toStorageError,
  type WakingWork,
} from './client.ts'

// Counts failures on a pool of connections for readiness, and replaces connections that keep failing.

type FaultWatch = Outcomes & {
  /** Undefined while the pool works. */
  readonly fault: () => StorageFault | undefined
}

type FaultWatchDeps = {
  readonly monotonicMs: () => number
  /** Ends every connection of the pool when its statement is done; the next statement opens a new one. */
  readonly renewConnections: () => void
}

/** A fault is told for so long after it was last met: longer than the loops and the probe take to meet it again. */
const toldForMs = 4_000
/** Other failures may be a statement's own bad luck: a lock, a restart. */
const failuresInARow = 3
const renewEveryMs = 1_000

/** No room, no memory, no connections (class 53), the disk itself (58), a database that only reads: never one statement's fault. */
const ofTheServer = /^(53[0-3]|58|25006)/
/** Met before there was a session, or the session ended with it; or a connection that is given back is not had again. */
const notOfSession = /^(53|08|57P)/

export function createStorageFaultWatch({ monotonicMs, renewConnections }: FaultWatchDeps): FaultWatch {
  let inARow = 0
  let renewedAt = Number.NEGATIVE_INFINITY
  let latest: { readonly fault: StorageFault; readonly at: number } | undefined
  return {
    succeeded() {
      inARow = 0
      // A full disk takes small writes, and what only reads goes on: those faults run out by themselves.
      if (latest !== undefined && !ofTheServer.test(latest.fault.sqlstate)) latest = undefined
    },
    failed(error: GatewayError) {
      if (!isGatewayError(error, 'storage_unavailable')) return
      inARow += 1
      const sqlstate = String(error.details['sqlstate'] ?? '')
      if (!ofTheServer.test(sqlstate) && inARow < failuresInARow) return
      const at = monotonicMs()
      const statement = String(error.details['statement'] ?? '')
      latest = { at, fault: { statement, sqlstate, remedy: storageRemedy(sqlstate) } }
      // A session keeps what it began with: that it may only read, a plan that fits no more, a search path.
      const isOfSession = /^[0-9A-Z]{5}$/.test(sqlstate) && !notOfSession.test(sqlstate)
      if (!isOfSession || at - renewedAt < renewEveryMs) return
      renewedAt = at
      renewConnections()
    },
    fault: () => (latest !== undefined && monotonicMs() - latest.at < toldForMs ? latest.fault : undefined),
  }
}

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

type PostgresOptions = {
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
  const backoffSeconds = (tries: number): number => Math.min(1, 0.05 * 2 ** tries)
  const { url, ...socket } = splitSocketPath(options.url)
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
    backoff: backoffSeconds,
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
  const working = createPoolFaultWatch(work)
  const accepting = createPoolFaultWatch(accept)

  return {
    isShared: options.isShared ?? true,
    faults: () => [accepting.fault(), working.fault()].filter((fault) => fault !== undefined),
    ...wrapPostgresClient(work.client, options.failpoint, working),
    accepting: wrapPostgresClient(accept.client, options.failpoint, accepting),
    observing: wrapPostgresClient(() => observer, options.failpoint),
    transaction: (steps) => runTransaction(work.client(), options.failpoint, steps, working),
    async listen(onWake) {
      // No other process has work to announce.
      if (options.isShared === false) return async () => {}
      listener ??= postgres(url, { ...common, max: 1 })
      const wakeOnForeignNotification = (payload: string): void => {
        const [work = '', from = ''] = payload.split(' ')
        if (from !== sender) onWake(isWakingWorkKind(work) ? work : undefined)
      }
      // The second is called when the subscription stands, again after a lost connection: anything may have been missed.
      const subscription = await listener.listen(wakeChannel, wakeOnForeignNotification, () => onWake())
      return () => subscription.unlisten()
    },
    async close() {
      await Promise.all([work.close(), accept.close(), observer.end({ timeout: 2 }), listener?.end({ timeout: 2 })])
    },
  }
}

function createPoolFaultWatch({ renew }: PostgresPool): FaultWatch {
  return createStorageFaultWatch({ monotonicMs: () => performance.now(), renewConnections: renew })
}

function isWakingWorkKind(text: string): text is WakingWork {
  return text === 'turns' || text === 'sends'
}

// Shared by a direct connection and Hyperdrive.

export type PostgresClient = postgres.Sql<Record<string, never>>

/** Asked for every statement: a pool may have been made anew. */
type RunningClient = () => { unsafe: PostgresClient['unsafe'] }

/** The driver's statements as ours: named in failpoints, its errors translated, a lost race run again. */
export function wrapPostgresClient(client: RunningClient, failpoint: Failpoint | undefined, outcomes?: Outcomes): Sql {
  return {
    async script(asked) {
      try {
        await client().unsafe(asked.text).simple()
      } catch (error) {
        throw toStorageError(asked.name, error)
      }
    },
    async query<Row>(asked: Statement, params: readonly Param[]): Promise<readonly Row[]> {
      await failpoint?.(`before:${asked.name}`)
      const rows = await queryWithConflictRetries<Row>(client, asked, params, { triesLeft: 3, outcomes })
      outcomes?.succeeded()
      await failpoint?.(`after:${asked.name}`, rows.length)
      return rows
    },
  }
}

async function queryWithConflictRetries<Row>(
  client: RunningClient,
  asked: Statement,
  params: readonly Param[],
  { triesLeft, outcomes }: { readonly triesLeft: number; readonly outcomes: Outcomes | undefined },
): Promise<readonly Row[]> {
  try {
    // Rows come back as the statement's own columns; the store that wrote the statement states their type.
    return (await client().unsafe(asked.text, [...params], { prepare: true })) as unknown as readonly Row[]
  } catch (error) {
    if (isTransientConflict(error) && triesLeft > 0)
      return queryWithConflictRetries(client, asked, params, { triesLeft: triesLeft - 1, outcomes })
    const failure = toStorageError(asked.name, hasUnstorableText(error, params) ? unstorableTextError(error) : error)
    outcomes?.failed(failure)
    throw failure
  }
}

/**
 * NUL cannot be stored as text. Depending on how a value travels the server says so (22021), or calls the message broken (08P01), which
 * would blame the database for what a row holds.
 */
function hasUnstorableText(error: unknown, params: readonly Param[]): boolean {
  return readSqlState(error) === '08P01' && params.some((param) => JSON.stringify(param)?.includes('\\u0000') === true)
}

function unstorableTextError(error: unknown): object {
  return Object.assign(new Error('a value holds NUL, which is no text', { cause: error }), { code: '22021' })
}

/** Deadlock and serialization faults: the statement did nothing and may simply run again. */
function isTransientConflict(error: unknown): boolean {
  const code = readSqlState(error)
  return code === '40P01' || code === '40001'
}

export async function runTransaction<T>(
  client: PostgresClient,
  failpoint: Failpoint | undefined,
  work: (sql: Sql) => Promise<T>,
  outcomes?: Outcomes,
): Promise<T> {
  try {
    return (await client.begin((tx) => work(wrapPostgresClient(() => tx, failpoint, outcomes)))) as T
  } catch (error) {
    if (isGatewayError(error)) throw error
    // To begin or to commit.
    const failure = toStorageError('transaction', error)
    outcomes?.failed(failure)
    throw failure
  }
}

/** The driver takes a socket as an option of its own, and would send `host` to the server as a setting. */
export function splitSocketPath(given: string): { url: string; path?: string } {
  const url = new URL(given)
  const folder = url.searchParams.get('host')
  if (folder === null) return { url: given }
  url.searchParams.delete('host')
  return { url: url.href, path: `${folder}/.s.PGSQL.${url.port || '5432'}` }
}

// The pool can be replaced as a whole: the driver has no way to part with a single connection.

type PostgresPool = {
  /** Asked for every statement: it changes. */
  readonly client: () => PostgresClient
  /** New statements go to new connections; those that stand are closed when their statement or transaction is done. */
  readonly renew: () => void
  readonly close: () => Promise<void>
}

/** What is still under way on connections that were given up. */
const lastStatementSeconds = 60
const closeSeconds = 2

function openPool(open: () => PostgresClient): PostgresPool {
  let client = open()
  const ending = new Set<Promise<void>>()
  return {
    client: () => client,
    renew() {
      const ended: Promise<void> = client
        .end({ timeout: lastStatementSeconds })
        .catch(() => {})
        .finally(() => ending.delete(ended))
      ending.add(ended)
      client = open()
    },
    async close() {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, closeSeconds * 1000)
      await Promise.all([client.end({ timeout: closeSeconds }), Promise.race([Promise.all(ending), late.promise])])
      clearTimeout(timer)
    },
  }
}
