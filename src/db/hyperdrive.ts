// PostgreSQL through Hyperdrive: a pool outside the isolate, in transaction mode. One client per invocation, because a
// socket belongs to the invocation that opened it. No session settings: a pool in transaction mode keeps none.
import postgres from 'postgres'
import { type Database, type Failpoint, type Sql, toStorageError } from './client.ts'
import { runTransaction, wrapPostgresClient } from './postgres.ts'

const acceptDeadlineMs = 2_000

export type HyperdriveOptions = {
  readonly connectionString: string
  readonly maxConnections: number
  readonly failpoint?: Failpoint
}

export function openHyperdrive(options: HyperdriveOptions): Database {
  const client = postgres(options.connectionString, {
    max: options.maxConnections,
    onnotice: () => {},
    connect_timeout: 5,
    idle_timeout: 0,
    prepare: true,
    fetch_types: false,
  })
  const sql = wrapPostgresClient(() => client, options.failpoint)
  return {
    // Gateways on Node may share the database, and they listen.
    isShared: true,
    // An invocation is over before anything could be said to keep failing.
    faults: () => [],
    ...sql,
    accepting: withSqlDeadline(sql, acceptDeadlineMs),
    observing: withSqlDeadline(sql, acceptDeadlineMs),
    transaction: (work) => runTransaction(client, options.failpoint, work),
    // No process stays alive to listen: queue messages and cron triggers wake it.
    listen: async () => async () => {},
    close: () => client.end({ timeout: 2 }),
  }
}

/** Counted on our side. What commits late was answered "not stored" and is a duplicate when it is delivered again. */
function withSqlDeadline(sql: Sql, deadlineMs: number): Sql {
  return {
    script: sql.script,
    async query<Row>(...asked: Parameters<Sql['query']>): Promise<readonly Row[]> {
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => late.reject(toStorageError(asked[0].name, { code: '57014' })), deadlineMs)
      try {
        return await Promise.race([sql.query<Row>(...asked), late.promise])
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
