// The ways a database can be away, each begun and ended from outside.
import postgres from 'postgres'
import type { PostgresServer } from '../setup/postgres-server.ts'
import type { Scale } from './crash-test.ts'

export type Outage = {
  readonly name: string
  /** The same as part of a message's id. */
  readonly slug: string
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
  /** Whether the database is gone for every statement, so that readiness has no reason to be green in between. */
  readonly isTotal: boolean
}

const lockedTables = { ci: ['lanes'], full: ['inbox', 'lanes'] } as const

export function outagesOf(server: PostgresServer, databaseUrl: string, scale: Scale): readonly Outage[] {
  return [
    { name: 'stopped', slug: 'stopped', begin: server.halt, end: server.restart, isTotal: true },
    { name: 'killed', slug: 'killed', begin: server.crash, end: server.restart, isTotal: true },
    { name: 'frozen with SIGSTOP', slug: 'frozen', begin: server.freeze, end: server.thaw, isTotal: true },
    ...lockedTables[scale].map((table) => lockOf(databaseUrl, table)),
  ]
}

function lockOf(url: string, table: string): Outage {
  let client: postgres.Sql | undefined
  let release = (): void => {}
  let held: Promise<unknown> = Promise.resolve()
  return {
    name: `locked: ${table}`,
    slug: table,
    isTotal: false,
    begin() {
      const locking = postgres(url, { max: 1, onnotice: () => {} })
      client = locking
      return new Promise((resolve, reject) => {
        held = locking
          .begin(async (sql) => {
            await sql.unsafe(`lock table ${table} in access exclusive mode`)
            resolve()
            await new Promise<void>((done) => {
              release = done
            })
          })
          .catch(reject)
      })
    },
    async end() {
      release()
      await held
      await client?.end({ timeout: 5 })
    },
  }
}
