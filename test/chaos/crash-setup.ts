// The stage of a crash test: a database, the tool stub, one vendor stub per connection, the platform, and the gateways on it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clearStalePostmaster, readPostmasterPidFile } from '../../src/node/embedded-postgres/postmaster.ts'
import { stopServer } from '../../src/node/embedded-postgres/server.ts'
import { embeddedFolder, embeddedUrl } from '../../src/node/embedded-postgres.ts'
import { freePort } from '../doubles/free-port.ts'
import type { SendClass } from '../doubles/loopback/deliver.ts'
import { startVendorStub, type VendorMessage, type VendorStub } from '../doubles/vendor-stub.ts'
import { createPostgresDatabase } from '../setup/postgres-databases.ts'
import { startPostgresServer } from '../setup/postgres-server.ts'
import { type CrashTestOptions, delay, eventually, within } from './crash-test.ts'
import { type GatewayProcess, type Release, startGateway } from './gateway-process.ts'
import { createOperator, type Operator } from './operator.ts'
import { createPlatform, type Platform } from './platform.ts'
import { type SeededRandom, seededRandom } from './seeded-random.ts'
import type { ShopAddress } from './shapes-shop.ts'
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
  /** Where the agents of the natural shapes act. */
  readonly shop?: ShopAddress
  /** The gateway starts PostgreSQL itself, in its data folder; without it all gateways share a database on a server. */
  readonly isEmbedded?: boolean
  readonly maxInFlight?: number
  /** How long the platform waits for an answer; without it, as long as a lease. */
  readonly patienceMs?: number
  readonly retryMs?: number
  readonly reconcileAfterMs?: number
  /** With it there is a second agent. */
  readonly turns?: SubjectSettings['turns']
  readonly heapMegabytes?: number
  /** False: turns on which a process died go on in the gateway itself; else in processes of their own, without failpoints. */
  readonly isForking?: boolean
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
  readonly leaseMs: number
  /** Where mail is handed in. */
  readonly mailPort: number
  /** Where the gateways' database answers; an embedded one once a gateway has made it, and while it runs. */
  readonly databaseUrl: () => Promise<string>
  /** The data folder of all gateways. */
  readonly folder: string
  /** Starts a gateway; the platform delivers to every one that is up. */
  readonly start: (failpoints?: readonly FailpointPlan[], release?: Release) => Promise<GatewayProcess>
  /** Everything acknowledged and nothing open any more, also after the time a reminder takes; false when it takes too long. */
  readonly settle: (maxMs?: number) => Promise<boolean>
  /** Ends everything and removes what was made. */
  readonly close: () => Promise<void>
}

export async function createScene(crashTest: CrashTestOptions, options: SceneOptions): Promise<Scene> {
  const random = seededRandom(crashTest.seed)
  const folder = await mkdtemp(join(tmpdir(), 'parley-crash-test-'))
  const database = options.isEmbedded === true ? embeddedIn(folder) : await openDatabase(crashTest)
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
    ...(options.turns === undefined ? {} : { turns: options.turns }),
    ...(options.shop === undefined ? {} : { shop: { url: options.shop.url, closedUrl: options.shop.closedUrl } }),
    leaseMs: options.leaseMs,
    connections: options.connections.map((each) => ({ ...each, vendorUrl: vendor(each.id).origin })),
    failpoints,
    ...(options.heapMegabytes === undefined ? {} : { heapMegabytes: options.heapMegabytes }),
    isForking: options.isForking ?? true,
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
    databaseUrl: async () => database.url ?? (await embeddedUrl(folder)),
    folder,
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

type OpenedDatabase = { readonly url?: string; readonly close: () => Promise<void> }

async function openDatabase({ postgresUrl }: CrashTestOptions): Promise<OpenedDatabase> {
  const server = postgresUrl === undefined ? await startPostgresServer({ isDurable: true }) : undefined
  const database = await createPostgresDatabase(postgresUrl ?? server?.url ?? '')
  return {
    url: database.url,
    async close() {
      await database.drop()
      await server?.stop()
    },
  }
}

/** The gateway starts it; when its gateway is killed it goes on, and is ended here. */
function embeddedIn(dataDir: string): OpenedDatabase {
  const folder = embeddedFolder(dataDir)
  return {
    async close() {
      const found = await readPostmasterPidFile(folder)
      if (found !== undefined) await stopServer(found, folder)
      // A backend that was at work when its server was killed has no end of its own.
      await clearStalePostmaster(folder)
    },
  }
}
