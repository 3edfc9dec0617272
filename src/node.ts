// The Node edge: one HTTP server, the drain loop, the sweeper, and a stop that ends turns at their next step.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCallerIdentification } from './api/api-callers.ts'
import { pickLimitsAndCorsOrigins } from './api/api-limits.ts'
import { createApp } from './api/app.ts'
import type { AppDeps } from './api/deps.ts'
import { explainById } from './api/explain/explain.ts'
import type { Config } from './config.ts'
import type { Database, Failpoint } from './db/client.ts'
import { createEraseStore } from './db/erase-person.ts'
import { sampleHealth } from './db/health.ts'
import { createTokenStore } from './db/tokens.ts'
import { type Assembled, assembleGateway } from './gateway/assemble.ts'
import { createRejectionLog } from './identity/rejected-requests.ts'
import type { ListenerState } from './inbound/listeners.ts'
import { cachePromise } from './lib/cache.ts'
import { GatewayError } from './lib/errors.ts'
import { newTraceId } from './lib/ids.ts'
import type { Log } from './lib/log.ts'
import type { Secret } from './lib/secret.ts'
import { startBackground } from './node/background.ts'
import { auditGatewayConfig } from './node/config-findings.ts'
import { openControlSocket, restrictDataDirAccess } from './node/data-dir.ts'
import { createFreeSpaceCheck, openFileStores } from './node/folder-blob-store.ts'
import {
  createGatewaySecretService,
  createReloadingAdminToken,
  readOrCreateAdminToken,
} from './node/gateway-secrets.ts'
import { createHttpListener } from './node/http-listener.ts'
import { createHttpServer, type HttpServer, releaseTrackedBody } from './node/http-server.ts'
import {
  createSourceClassifier,
  getIncomingMessage,
  isFromThisMachine,
  nodeRequestHeaders,
  rawRequestUrl,
  treatServerSocketsAsLocal,
} from './node/incoming-request.ts'
import { createNodeIngress, type NodeIngress } from './node/ingress.ts'
import { createSuspectTurnIsolation, type ForkSuspects } from './node/isolation.ts'
import { createNodeMeter, type NodeMeter } from './node/meter.ts'
import { openDatabase } from './node/open-database.ts'
import { createPublicUrlCheck } from './node/public-url-check.ts'
import { createDatabaseProbe, createNodeReadiness } from './node/readiness.ts'
import { createNodeRuntime } from './node/runtime.ts'
import { createStartingServer } from './node/starting-responder.ts'
import { createWorkerPool, type WorkerPool } from './node/worker-pool.ts'
import { connectionMetrics } from './observability/connection-health.ts'
import { withDatabaseTimeout } from './observability/database-timeout.ts'
import { limitRefusalLines } from './observability/log-limiter.ts'
import type { RunningProbes } from './observability/probes.ts'
import { httpListenerMetrics, jobMetrics, slotMetrics, toolServerMetrics } from './observability/process-metrics.ts'
import { formatPrometheus } from './observability/prometheus.ts'
import { lastInboundAges, type ReadinessDeps, readReadiness } from './observability/readiness.ts'
import { createSessionTakeover } from './turns/operator-takeover.ts'
import { replay } from './turns/replay.ts'

export type StartOptions = {
  readonly config: Config
  readonly migrationsFolder: string
  readonly log: Log
  readonly failpoint?: Failpoint
  /** In place of our own way to open one; the bench counts and replaces statements here. */
  readonly openDatabase?: typeof openDatabase
  /** Told to a person who waits for the start. */
  readonly report?: (line: string) => void
  /** For so long `probed` is told to a person who sees the log too, and the log does not repeat it. */
  readonly reportWithinMs?: number
  /** Starts a process for turns on which one died. Without it they run in this one, one at a time and nothing beside them. */
  readonly forkSuspects?: ForkSuspects
}

export type RunningGateway = {
  readonly url: string
  /** Shown once, when it was made at this start. */
  readonly newAdminToken: string | undefined
  /** Connections with a port of their own. */
  readonly listeners: () => readonly ListenerState[]
  /** What connections want said at the start, by their key. */
  readonly notices: ReadonlyMap<string, string>
  /** Connections that no other machine gets to. */
  readonly localOnly: ReadonlySet<string>
  /** By connection whose platform, and model whose server is asked: how it stands, as soon as that is known. */
  readonly probed: RunningProbes['first']
  /** Answers no more, lets turns reach their next step, and gives everything back; at most `graceMs` long. */
  readonly stop: (graceMs: number) => Promise<void>
}

const watchMs = 50_000
const samplesFreshMs = 1_000
/** A little more than the statement's own deadline, for connections that hang. */
const samplesTimeoutMs = 2_500
const portsLateMs = 5_000

export async function startNode(given: StartOptions): Promise<RunningGateway> {
  const { config } = given
  const log = limitRefusalLines(given.log, {
    monotonicMs: () => performance.now(),
    later: (work, ms) => setTimeout(work, ms).unref(),
  })
  const options = { ...given, log }
  await restrictDataDirAccess(config.dataDir, log)
  const admin = await readOrCreateAdminToken(config.adminToken, config.dataDir)
  const adminToken = config.adminToken ?? createReloadingAdminToken(admin, config.dataDir)
  // The folder's socket listens before there is an app: being able to listen is the lock.
  const address = createPublicUrlCheck({
    ...options,
    publicUrl: config.publicUrl,
    fetch,
    monotonicMs: () => performance.now(),
  })
  const { listener, open: startServing } = createHttpListener(createSourceClassifier(config), address.answer)
  const lockServer = createServer(listener)
  treatServerSocketsAsLocal(lockServer)
  const opened = await (options.openDatabase ?? openDatabase)({ ...options, lockServer })
  const edge = createHttpServer(listener, config.http, { monotonicMs: () => performance.now(), log })
  const { server } = edge
  const isolation = createSuspectTurnIsolation(options.forkSuspects)
  const pool = createWorkerPool(options)
  let assembled: Assembled | undefined
  let ingress: NodeIngress
  try {
    const meter = createNodeMeter()
    // First of all, since the port may be ours to choose: handles of files name it. Until there is an app, callers wait.
    await listenOnConfiguredPort(server, config)
    const room = createFreeSpaceCheck(config)
    const files = await openFileStores(config, listeningUrl(server, config), room)
    const probe = createDatabaseProbe(opened.database, config.tenant)
    assembled = assembleGateway(config, opened.database, {
      ...(await createNodeRuntime(options, probe)),
      ...(room === undefined ? {} : { room }),
      meter,
      files,
      firstToken: adminToken,
      isolation,
      offload: pool.offload,
    })
    const rejections = createRejectionLog()
    const { db } = assembled.deps
    const readHealthSamples = cachePromise(samplesFreshMs, assembled.deps.monotonicMs, () =>
      withDatabaseTimeout(samplesTimeoutMs, sampleHealth(db, config.retention)),
    )
    ingress = createNodeIngress(assembled, rejections, {
      everyMs: config.probeMs,
      agents: config.agents,
      inboundAges: async () => lastInboundAges(await readHealthSamples()),
      publicUrl: address.settled,
      ...(options.reportWithinMs === undefined ? {} : { reportWithinMs: options.reportWithinMs }),
    })
    const parts = {
      meter,
      pool,
      rejections,
      probe,
      edge,
      readHealthSamples,
      ...ingress.states,
      publicUrl: address.read,
    }
    startServing({ ...createAppDeps(options, assembled, opened.database, parts), adminToken })
  } catch (error) {
    // What was begun would keep the process alive without serving.
    assembled?.stop()
    pool.close()
    server.close()
    await opened.close()
    throw error
  }
  // Without a lock to hold, the command line still finds us through a socket in the folder.
  const closeControl =
    config.databaseUrl === undefined ? undefined : await openControlSocket(config.dataDir, lockServer)
  const unlisten = await opened.database.listen(assembled.wake)
  const children = isolation.start({ ...assembled.deps, url: listeningUrl(server, config), wake: assembled.wake })
  const background = startBackground(assembled, opened.database, config, children)
  assembled.deps.toolServers?.prepare(config.agents.flatMap((agent) => agent.mcpServers ?? []))
  // In the background: whatever stands between us and the public address, the start does not wait for it.
  address.read()
  // A client that is told that we are up may use every port; a slow one is shown later, and delays no client.
  await withDatabaseTimeout(portsLateMs, ingress.start()).catch(() => {})
  const { stop: stopLeases, closeTools } = assembled
  log.info('gateway_started', { count: config.connections.length })
  for (const problem of config.warnings) log.warn('config_doubtful', { problem })
  return {
    url: listeningUrl(server, config),
    newAdminToken: admin.isNew ? admin.token.reveal() : undefined,
    listeners: ingress.states.listeners,
    notices: ingress.notices,
    localOnly: ingress.localOnly,
    probed: ingress.probed(),
    async stop(graceMs) {
      address.stop()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      // While turns still end: clients at a port get their answer, and what they brought is stored.
      await withDatabaseTimeout(graceMs, ingress.stop()).catch(() => {})
      pool.close()
      await background.stop(graceMs)
      server.closeAllConnections()
      await closed
      await unlisten()
      stopLeases()
      await closeTools()
      lockServer.closeAllConnections()
      await closeControl?.()
      await opened.close()
      log.flush()
      log.info('gateway_stopped')
    },
  }
}

/** The same routes without a server, a drain loop or a sweeper: what the command line uses when no gateway runs. */
export type OfflineGateway = {
  readonly fetch: (request: Request) => Promise<Response>
  readonly close: () => Promise<void>
}

export async function assembleGatewayWithoutListening(
  options: StartOptions & { readonly adminToken: Secret },
): Promise<OfflineGateway> {
  const { config, migrationsFolder, adminToken } = options
  const lockServer = createStartingServer()
  const opened = await openDatabase({ config, migrationsFolder, lockServer, mayMigrate: false })
  try {
    const meter = createNodeMeter()
    const files = await openFileStores(config, `http://${hostForUrl(config)}:${config.port}`)
    const probe = createDatabaseProbe(opened.database, config.tenant)
    const assembled = assembleGateway(config, opened.database, { ...(await createNodeRuntime(options, probe)), files })
    // A process that may open the database acts as its operator; there is no other caller.
    const { db } = assembled.deps
    const readHealthSamples = (): ReturnType<typeof sampleHealth> =>
      withDatabaseTimeout(samplesTimeoutMs, sampleHealth(db, config.retention))
    const app = createApp({
      ...createAppDeps(options, assembled, opened.database, {
        meter,
        rejections: createRejectionLog(),
        probe,
        readHealthSamples,
      }),
      adminToken,
      sourceOf: () => 'local',
      mayOperate: () => true,
    })
    return {
      fetch: async (request) => app.fetch(request),
      async close() {
        assembled.stop()
        await assembled.closeTools()
        await opened.close()
      },
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}

type AppParts = {
  readonly meter: NodeMeter
  readonly pool?: WorkerPool | undefined
  readonly edge?: HttpServer | undefined
} & Pick<AppDeps, 'rejections'> &
  Pick<
    ReadinessDeps,
    'probe' | 'readHealthSamples' | 'sources' | 'listeners' | 'connectionProbes' | 'modelProbes' | 'publicUrl'
  >

function createAppDeps(
  { config, log, failpoint }: StartOptions,
  assembled: Assembled,
  database: Database,
  { meter, pool, edge, rejections, ...states }: AppParts,
): Omit<AppDeps, 'adminToken'> {
  const agents = config.agents.map((agent) => agent.slug)
  const channels = config.connections.map(({ channel }) => channel)
  const { deps, gateway } = assembled
  const tokens = createTokenStore(database, config.tenant)
  const { readHealthSamples } = states
  const readiness = createNodeReadiness(assembled, { ...states, database })
  const sourceOf = createSourceClassifier(config)
  return {
    gateway,
    agents: config.agents,
    db: deps.db,
    takeover: createSessionTakeover(deps),
    explain: (id, connection) => explainById({ db: deps.db, agents, rejections, channels }, id, connection),
    rejections,
    meter: deps.meter,
    newTrace: () => newTraceId(deps),
    tokens,
    findWeakSettings: async () => auditGatewayConfig(config, await tokens.list(), states.publicUrl?.()),
    forget: createEraseStore(database, config.tenant),
    replay: (id, wanted) => replay(assembled.deps, id, wanted),
    wake: assembled.wake,
    files: assembled.files,
    secrets: createGatewaySecretService(config, database, assembled.files.rotateKey),
    callers: createCallerIdentification(deps),
    tokenIssuers: config.tokenIssuers,
    publicUrl: config.publicUrl,
    readReadiness: () => readReadiness(readiness),
    metrics: {
      access: config.metrics,
      readHealthSamples,
      readProcess: createProcessMetricsReader(meter, assembled, { pool, edge, ...states }),
    },
    sourceOf: (context) => {
      const incoming = getIncomingMessage(context)
      return incoming === undefined ? 'remote' : sourceOf(incoming)
    },
    mayOperate: (context) => {
      const incoming = getIncomingMessage(context)
      return incoming !== undefined && isFromThisMachine(incoming)
    },
    headersOf: nodeRequestHeaders,
    rawUrlOf: rawRequestUrl,
    bodyTaken: releaseTrackedBody,
    now: Date.now,
    ...pickLimitsAndCorsOrigins(config),
    maxBodyBytes: config.maxBodyBytes,
    watchMs,
    log,
    ...(failpoint === undefined ? {} : { failpoint }),
  }
}

function createProcessMetricsReader(
  meter: NodeMeter,
  { gateway: { slots }, deps: { toolServers } }: Assembled,
  { pool, edge, connectionProbes }: Pick<AppParts, 'pool' | 'edge' | 'connectionProbes'>,
): () => Promise<string> {
  const readJobMetrics = () => (pool === undefined ? [] : jobMetrics(pool.use()))
  const readHttpListenerMetrics = () => (edge === undefined ? [] : httpListenerMetrics(edge.use()))
  const readToolServerMetrics = () => toolServerMetrics(toolServers?.states() ?? [])
  const readConnectionMetrics = () => connectionMetrics(connectionProbes?.() ?? [])
  return async () =>
    (await meter.read()) +
    formatPrometheus([
      ...slotMetrics(slots()),
      ...readJobMetrics(),
      ...readHttpListenerMetrics(),
      ...readToolServerMetrics(),
      ...readConnectionMetrics(),
    ])
}

function listenOnConfiguredPort(server: Server, { port, host }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const advice =
        error.code === 'EADDRINUSE' ? 'choose another port with PARLEY_PORT' : 'check PARLEY_HOST and PARLEY_PORT'
      reject(new GatewayError('config_invalid', `[node] cannot listen on ${host}:${port} (${error.code}); ${advice}`))
    })
    server.listen(port, host, resolve)
  })
}

function listeningUrl(server: Server, config: Config): string {
  const { port } = server.address() as AddressInfo
  return `http://${hostForUrl(config)}:${port}`
}

function hostForUrl({ host }: Config): string {
  return host.includes(':') ? `[${host}]` : host
}
