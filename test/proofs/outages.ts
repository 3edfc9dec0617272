// The ways a database can be away, each begun and ended from outside.
import postgres from 'postgres'
import type { GatewayProcess } from './gateway-process.ts'
import type { Scale } from './proof.ts'
import type { Scene } from './scene.ts'

export type Outage = {
  readonly name: string
  /** The same as part of a message's id. */
  readonly slug: string
  readonly begin: () => Promise<void>
  readonly end: () => Promise<void>
  /** Whether anybody is there to refuse: a process that is frozen itself can only be silent. */
  readonly canRefuse: boolean
  /** Whether the database is gone for every statement, so that readiness has no reason to be green in between. */
  readonly isTotal: boolean
}

const lockedTables = { ci: ['lanes'], full: ['inbox', 'lanes'] } as const

export function outagesOf(scene: Scene, gateway: GatewayProcess, scale: Scale): readonly Outage[] {
  const { server, database } = scene
  if (server === undefined || database.url === undefined) return embeddedOutages(gateway)
  return [
    { name: 'stopped', slug: 'stopped', begin: server.halt, end: server.restart, canRefuse: true, isTotal: true },
    {
      name: 'frozen with SIGSTOP',
      slug: 'frozen',
      begin: server.freeze,
      end: server.thaw,
      canRefuse: true,
      isTotal: true,
    },
    ...lockedTables[scale].map((table) => lockOf(database.url ?? '', table)),
  ]
}

/** There is no server to stop: what stops is the process with the database in it, or one statement. */
function embeddedOutages(gateway: GatewayProcess): readonly Outage[] {
  return [
    {
      name: 'frozen with SIGSTOP, the process with it',
      slug: 'frozen',
      begin: async () => gateway.signal('SIGSTOP'),
      end: async () => gateway.signal('SIGCONT'),
      canRefuse: false,
      isTotal: true,
    },
    {
      name: 'stuck in the statement that accepts',
      slug: 'stuck',
      begin: async () => gateway.command('stall'),
      end: async () => gateway.command('go on'),
      canRefuse: true,
      isTotal: false,
    },
  ]
}

function lockOf(url: string, table: string): Outage {
  let client: postgres.Sql | undefined
  let release = (): void => {}
  let held: Promise<unknown> = Promise.resolve()
  return {
    name: `locked: ${table}`,
    slug: table,
    canRefuse: true,
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
