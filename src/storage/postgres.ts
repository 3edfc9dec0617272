// PostgreSQL through postgres.js: the driver that replicas share.
import postgres from 'postgres'
import { isGatewayError } from '../contract/index.ts'
import { createSql, type Database, type Driver, type Failpoint, type Sql, storageError } from './database.ts'

const wakeChannel = 'parley_wake'

/**
 * Prepared statements keep the plan of their first calls, when the tables were empty and a scan was cheapest. Every hot
 * statement has its index; without sequential scans the first plan is also the right one for a full table.
 */
const steadyPlans = { enable_seqscan: 'off', jit: 'off' } as const

/** The same for statements that touch a handful of rows: joining them by hash would read the other table whole. */
const smallPlans = { ...steadyPlans, enable_hashjoin: 'off', enable_mergejoin: 'off' } as const

type Client = postgres.Sql<Record<string, never>>
type Runner = { unsafe: Client['unsafe'] }

export type PostgresOptions = {
  readonly url: string
  readonly maxConnections?: number
  readonly acceptConnections?: number
  readonly acceptDeadlineMs?: number
  readonly failpoint?: Failpoint
}

export function openPostgres(options: PostgresOptions): Database {
  // The driver's own pause grows to twenty seconds; a database that is back should find us back within one.
  const backoff = (tries: number): number => Math.min(1, 0.05 * 2 ** tries)
  // The driver asks for array types on every new connection and lets that question fail unheard when the connection
  // breaks, which would end the process. Our statements return no arrays.
  const types = { fetch_types: false } as const
  const common = { onnotice: () => {}, connect_timeout: 5, idle_timeout: 0, prepare: true, backoff, ...types } as const
  const client = postgres(options.url, { ...common, max: options.maxConnections ?? 10, connection: smallPlans })
  const acceptClient = postgres(options.url, {
    ...common,
    max: options.acceptConnections ?? 2,
    connection: { ...steadyPlans, statement_timeout: options.acceptDeadlineMs ?? 2000 },
  })
  // LISTEN needs a connection of its own: a pooled one would lose its subscription.
  let listener: Client | undefined

  return {
    kind: 'postgres',
    isShared: true,
    ...runner(client, options.failpoint),
    accepting: runner(acceptClient, options.failpoint),
    async transaction(work) {
      try {
        return (await client.begin((tx) => work(runner(tx, options.failpoint)))) as Awaited<ReturnType<typeof work>>
      } catch (error) {
        throw isGatewayError(error) ? error : storageError('transaction', error)
      }
    },
    async listen(onWake) {
      listener ??= postgres(options.url, { ...common, max: 1 })
      const subscription = await listener.listen(wakeChannel, onWake, onWake)
      return () => subscription.unlisten()
    },
    maintain: async () => {},
    async close() {
      await Promise.all([client, acceptClient, listener].map((each) => each?.end({ timeout: 2 })))
    },
  }
}

function runner(client: Runner, failpoint: Failpoint | undefined): Sql {
  const driver: Driver = {
    run: async (statement, params) =>
      // Rows come back as the statement's own columns; the store that wrote the statement states their type.
      (await client.unsafe(statement.text, [...params], { prepare: true })) as unknown as never,
    script: async (statement) => client.unsafe(statement.text).simple(),
  }
  return createSql(driver, failpoint)
}
