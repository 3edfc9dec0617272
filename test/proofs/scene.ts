// The stage of a proof: a database, the tool stub, one vendor stub per connection, the platform, and the gateways on it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../doubles/free-port.ts'
import type { SendClass } from '../doubles/loopback/deliver.ts'
import { startVendorStub, type VendorMessage, type VendorStub } from '../doubles/vendor-stub.ts'
import { createPostgresDatabase } from '../setup/postgres-databases.ts'
import { type PostgresServer, startPostgresServer } from '../setup/postgres-server.ts'
import { type GatewayProcess, type Release, startGateway } from './gateway-process.ts'
import { createOperator, type Operator } from './operator.ts'
import { createPlatform, type Platform } from './platform.ts'
import { delay, eventually, type ProofOptions, within } from './proof.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { FailpointPlan, SubjectConnection, SubjectSettings } from './subject-settings.ts'
import { startToolStub, type ToolStub } from './tool-stub.ts'

export type SceneConnection = Omit<SubjectConnection, 'vendorUrl'>

export type SceneOptions = {
  readonly connections: readonly SceneConnection[]
  readonly leaseMs: number
  readonly toolLatencyMs: number
  readonly modelUrl?: string
  readonly wordsUrl?: string
  readonly peerUrl?: string
  readonly port?: number
  /** A mail server that takes replies; with it there is a mail domain. */
  readonly mailUrl?: string
  /** A server of the fediverse, by its origin; with it there is an account at `port`. */
  readonly fediverse?: string
  /** The proof kills PostgreSQL itself, so it gets one of its own that waits for the disk. */
  readonly isDurable?: boolean
  readonly maxInFlight?: number
  /** How long the platform waits for an answer; without it, as long as a lease. */
  readonly patienceMs?: number
  readonly retryMs?: number
  readonly reconcileAfterMs?: number
  readonly onMessage?: (connection: string, message: VendorMessage) => void
}

export type Scene = {
  readonly random: SeededRandom
  readonly platform: Platform
  readonly operator: Operator
  readonly tool: ToolStub
  readonly vendors: ReadonlyMap<string, VendorStub>
  readonly vendor: (connection: string) => VendorStub
  readonly sendClassOf: (connection: string) => SendClass
  /** The server that may be killed; undefined on PGlite or on a shared server. */
  readonly server: PostgresServer | undefined
  readonly leaseMs: number
  /** Where mail is handed in. */
  readonly mailPort: number
  /** The database as the gateways see it: an address, or on PGlite a folder that one process opens at a time. */
  readonly database: { readonly url: string | undefined; readonly folder: string }
  /** Starts a gateway; the platform delivers to every one that is up. */
  readonly start: (failpoints?: readonly FailpointPlan[], release?: Release) => Promise<GatewayProcess>
  /** Everything acknowledged and nothing open any more, also after the time a reminder takes; false when it takes too long. */
  readonly settle: (maxMs?: number) => Promise<boolean>
  /** Ends everything and removes what was made. */
  readonly close: () => Promise<void>
}

export async function createScene(proof: ProofOptions, options: SceneOptions): Promise<Scene> {
  const random = seededRandom(proof.seed)
  const folder = await mkdtemp(join(tmpdir(), 'parley-proof-'))
  const database = await openDatabase(proof, options.isDurable ?? false)
  const tool = await startToolStub(options.toolLatencyMs)
  const mailPort = options.mailUrl === undefined ? 0 : await freePort()
  const vendors = new Map<string, VendorStub>()
  for (const { id } of options.connections) {
    vendors.set(id, await startVendorStub(0, (message) => options.onMessage?.(id, message)))
  }
  const gateways: GatewayProcess[] = []
  const up = (): readonly GatewayProcess[] => gateways.filter((gateway) => gateway.isRunning())
  const sendClassOf = (connection: string): SendClass => {
    const found = options.connections.find((each) => each.id === connection)
    if (found === undefined) throw new RangeError(`no connection ${connection}`)
    return found.sendClass
  }
  const platform = createPlatform({
    urls: () => up().map((gateway) => gateway.url),
    channelOf: (connection) => `loopback-${sendClassOf(connection)}`,
    random: random.next,
    timeoutMs: options.patienceMs ?? options.leaseMs,
    maxInFlight: options.maxInFlight ?? 64,
    retryMs: options.retryMs ?? 25,
  })
  const vendor = (connection: string): VendorStub => {
    const found = vendors.get(connection)
    if (found === undefined) throw new RangeError(`no connection ${connection}`)
    return found
  }
  const settings = (failpoints: readonly FailpointPlan[]): SubjectSettings => ({
    ...(database.url === undefined ? {} : { databaseUrl: database.url }),
    dataDir: folder,
    toolUrl: tool.url,
    ...(options.modelUrl === undefined ? {} : { modelUrl: options.modelUrl }),
    ...(options.wordsUrl === undefined ? {} : { wordsUrl: options.wordsUrl }),
    ...(options.peerUrl === undefined ? {} : { peerUrl: options.peerUrl }),
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.mailUrl === undefined ? {} : { mail: { port: mailPort, smtpUrl: options.mailUrl } }),
    ...(options.fediverse === undefined ? {} : { fediverse: options.fediverse }),
    leaseMs: options.leaseMs,
    connections: options.connections.map((each) => ({ ...each, vendorUrl: vendor(each.id).origin })),
    failpoints,
    ...(options.reconcileAfterMs === undefined ? {} : { reconcileAfterMs: options.reconcileAfterMs }),
  })
  const operator = createOperator(() => up()[0]?.url ?? '')
  return {
    random,
    platform,
    operator,
    tool,
    vendors,
    vendor,
    sendClassOf,
    server: database.server,
    database: { url: database.url, folder },
    leaseMs: options.leaseMs,
    mailPort,
    async start(failpoints = [], release = 'current') {
      const gateway = await startGateway(settings(failpoints), release)
      gateways.push(gateway)
      return gateway
    },
    settle: (maxMs = 180_000) => settle(platform, operator, maxMs),
    async close() {
      platform.close()
      tool.openGate()
      for (const gateway of up()) await gateway.kill()
      await tool.close()
      for (const each of vendors.values()) await each.close()
      await database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function settle(platform: Platform, operator: Operator, maxMs: number): Promise<boolean> {
  if (!(await within(maxMs, platform.settled()))) return false
  for (let calm = 0; calm < 2; calm += 1) {
    if (!(await eventually(operator.isQuiet, maxMs, 100))) return false
    await delay(600)
  }
  return operator.isQuiet()
}

type OpenedDatabase = {
  readonly url: string | undefined
  readonly server: PostgresServer | undefined
  readonly close: () => Promise<void>
}

async function openDatabase(proof: ProofOptions, isDurable: boolean): Promise<OpenedDatabase> {
  if (proof.database === 'pglite') return { url: undefined, server: undefined, close: async () => {} }
  const shared = isDurable ? undefined : proof.postgresUrl
  const server = shared === undefined ? await startPostgresServer({ isDurable: true }) : undefined
  const database = await createPostgresDatabase(shared ?? server?.url ?? '')
  return {
    url: database.url,
    server,
    async close() {
      await database.drop()
      await server?.stop()
    },
  }
}
