// A whole gateway in this process, on a real database, whose turns are taken when the bench says so and are counted.
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../src/config.ts'
import type { ChannelDefinition } from '../../src/contract/index.ts'
import type { Database } from '../../src/db/client.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { assembleGateway } from '../../src/gateway/assemble.ts'
import { createNodeLog } from '../../src/node/log.ts'
import { createNodeHmac } from '../../src/node/runtime.ts'
import { loopbackArrival, loopbackSecret } from '../../test/doubles/loopback/fixtures.ts'
import { loopbackClientId } from '../../test/doubles/loopback/index.ts'
import type { BenchPostgres } from '../postgres.ts'
import { countedDatabase } from '../subjects/counted-database.ts'
import { agents } from './agents.ts'

export type Cost = {
  readonly turns: number
  readonly ms: number
  readonly cpuMicros: number
  /** Of the PostgreSQL server's own processes; the figure before does not contain it. */
  readonly databaseCpuMicros: number | null
  readonly statements: Readonly<Record<string, number>>
}

export type LoopGateway = {
  readonly database: Database
  /** One message in each conversation is accepted, and then, measured, all their turns are taken and their replies sent. */
  readonly takeTurns: (agent: string, conversations: readonly string[]) => Promise<Cost>
  readonly close: () => Promise<void>
}

export async function startLoopGateway(postgres: BenchPostgres): Promise<LoopGateway> {
  const statements = new Map<string, number>()
  const opened = await open(postgres)
  const database = countedDatabase(opened, statements)
  let sends = 0
  let lastSendAt = 0
  const channel = withVendor(async () => {
    sends += 1
    lastSendAt = performance.now()
    return Response.json({ id: `v${sends}` })
  })
  const file = {
    agents,
    connections: agents.map(({ slug }) => ({
      channel: channel.channel,
      id: slug,
      agent: slug,
      settings: { secret: loopbackSecret, vendorUrl: 'http://127.0.0.1:9' },
    })),
  }
  const { gateway, stop } = assembleGateway(loadConfig({}, file, [channel]), database, {
    fetch,
    now: Date.now,
    monotonicMs: () => performance.now(),
    random: Math.random,
    hmac: createNodeHmac(),
    log: createNodeLog('warn'),
  })
  let messages = 0
  const accept = async (agent: string, conversation: string): Promise<void> => {
    const at = gateway.connections.find((each) => each.connection.id === agent)
    if (at === undefined) throw new Error(`no agent ${agent}`)
    messages += 1
    const text = 'When will the two blue lamps be here?'
    await gateway.receive(at, await loopbackArrival({ id: `m${messages}`, from: 'ada', conversation, text }))
  }
  return {
    database: opened,
    async takeTurns(agent, conversations) {
      for (const conversation of conversations) await accept(agent, conversation)
      const before = { sends, statements: new Map(statements), database: await postgres.cpuMicros() }
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
      await gateway.drain({ deadline: AbortSignal.timeout(60_000), untilIdle: true })
      const { user, system } = process.cpuUsage(cpu)
      const after = await postgres.cpuMicros()
      if (sends - before.sends !== conversations.length) throw new Error('not every turn was answered')
      return {
        turns: conversations.length,
        // What comes after the last reply is waiting for more.
        ms: lastSendAt - startedAt,
        cpuMicros: user + system,
        databaseCpuMicros: after === undefined || before.database === undefined ? null : after - before.database,
        statements: grown(statements, before.statements),
      }
    },
    async close() {
      stop()
      await opened.close()
    },
  }
}

async function open(postgres: BenchPostgres): Promise<Database> {
  const database = openPostgres({ url: await postgres.createDatabase() })
  // The bundle lies in dist, beside the folder of the migrations.
  await migrate(database, fileURLToPath(new URL('../drizzle', import.meta.url)))
  return database
}

/** The platform's own interface, answering at once and inside the process. */
function withVendor(vendor: typeof fetch): ChannelDefinition {
  return { ...loopbackClientId, create: (given, deps) => loopbackClientId.create(given, { ...deps, fetch: vendor }) }
}

function grown(
  now: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
): Readonly<Record<string, number>> {
  const entries = [...now].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
  return Object.fromEntries(entries.filter(([, count]) => count > 0))
}
