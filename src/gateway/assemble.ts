// Assembles the gateway from its configuration and a database. Portable: what differs per runtime is a parameter.

import type { ToolServers } from '../agents/mcp/tool-servers.ts'
import type { Config } from '../config.ts'
import type { Hmac, Mailer, Offload } from '../contract/channel.ts'
import { cloneForObserver } from '../contract/copy-for-watcher.ts'
import type { Observer } from '../contract/gateway-events.ts'
import { type Meter, noMeter } from '../contract/metrics.ts'
import type { Database, Db, Failpoint, WakingWork } from '../db/client.ts'
import { type AcceptDrafts, storeInboxDrafts } from '../db/inbox.ts'
import { createJournalStore } from '../db/journal.ts'
import { createDatabaseGapTracker } from '../db/lease-takeover.ts'
import { createTranscriptStore } from '../db/transcripts.ts'
import { renewLanes } from '../db/turns.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { createAccessPolicy } from '../identity/access-policy.ts'
import { decideConsent } from '../identity/consent.ts'
import type { IssuerCache } from '../identity/issuers/issuer-client.ts'
import { createCapabilityCheck, createEvidenceResolver } from '../identity/principals.ts'
import { type Committer, createGroupCommit } from '../inbound/group-commit.ts'
import { GatewayError, toRedactedErrorRecord } from '../lib/errors.ts'
import { createUuidV7Source } from '../lib/ids.ts'
import { createUnpinnedFetch, sha256Hex } from '../lib/index.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import type { Secret } from '../lib/secret.ts'
import { createPresenceService } from '../outbound/presence.ts'
import type { SettlePolicy } from '../outbound/settle.ts'
import { createTaskWatchers } from '../tasks/task-service.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import { createLeaseKeeper } from '../turns/leases.ts'
import { createResultWriteRetrier } from '../turns/result-keeper.ts'
import { createRunUpdateWatcher } from '../turns/run-control.ts'
import type { Isolation } from '../turns/suspects.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'
import { createWakeup, type Wakeup } from '../turns/worker-loop.ts'
import { type AssembledFiles, createAttachmentServices, type RuntimeFiles } from './attachments.ts'
import { createConnections } from './connections.ts'
import type { GatewayDeps } from './deps.ts'
import { createGatewayAttestor, createHostNameReader, createSpeakerMarkSigner } from './own-keys.ts'
import type { SealKeys } from './seal.ts'

export type Runtime = {
  readonly fetch: typeof fetch
  /** fetch for effects: asks right before a request leaves whether it still may. Without it: `fetch`. */
  readonly fenceFetch?: (mayLeave: (ageMs: number) => boolean, onSend?: () => void) => typeof fetch
  readonly now: () => number
  readonly monotonicMs: () => number
  /** For addresses from messages and peers. Without it: over `fetch`, which pins nothing. */
  readonly guardedFetch?: SafeFetch
  /** Without it: WebCrypto. */
  readonly hmac?: Hmac
  /** Sends for channels whose protocol this runtime speaks itself. */
  readonly mailer?: Mailer
  /** Computes for channels away from the event loop. Without it: in this thread. */
  readonly offload?: Offload
  /** No other machine gets to this gateway. Without it: others may. */
  readonly isLocalOnly?: boolean
  readonly random: () => number
  readonly log: Log
  /** Values of secrets this process was given: no error that is kept shows them. */
  readonly secretValues?: readonly string[]
  /** How rows are committed. Without it: in groups, shared by whatever arrives at the same time. */
  readonly committer?: (accept: AcceptDrafts) => Committer
  /** Told that a commit left work to another process. Correctness never depends on it. */
  readonly onWork?: () => void
  /** Reaches MCP servers; without it agents that have some are refused. */
  readonly createToolServers?: (deps: Pick<Runtime, 'fetch' | 'log' | 'monotonicMs'>) => ToolServers
  /** Counts what the hops come to; without one nothing is counted. */
  readonly meter?: Meter
  /** The name this process holds leases in. Without it: one of its own. */
  readonly holder?: string
  readonly isolation?: Isolation
  /** Where bytes are kept. Without it files are refused, and told so. */
  readonly files?: RuntimeFiles
  /** What is known of token issuers, where it outlives what is assembled here. */
  readonly issuerMemory?: IssuerCache
  /** The operator's first token, where it was made here. */
  readonly firstToken?: Secret
  /** What credentials are sealed with. Without it: as configured. */
  readonly sealKeys?: SealKeys
  /** What the disk of the data folder has room for. */
  readonly room?: NonNullable<GatewayDeps['room']>
  readonly failpoint?: Failpoint
}

export type Assembled = {
  readonly gateway: Gateway
  readonly deps: GatewayDeps
  readonly files: AssembledFiles
  /** Wakes the worker loop of this work; without one, every loop. */
  readonly wake: (work?: WakingWork) => void
  readonly stop: () => void
  /** Ends the connections to MCP servers, and the programs among them. */
  readonly closeTools: () => Promise<void>
}

const defaultTurnPolicy: Omit<TurnPolicy, 'reservedSlots'> = {
  leaseMs: 30_000,
  slots: 64,
  sendSlots: 32,
  pollMs: 1_000,
  merge: { maxMessages: 20, maxBytes: 64 * 1024 },
  deadlineMs: 10 * 60_000,
  fetchTimeoutMs: 60_000,
  maxFailures: 3,
  maxCrashes: 4,
  retryFirstMs: 250,
  maxOutageMs: 60 * 60_000,
  outageNoticeMs: 10_000,
  rotateAfterIdleMs: 7 * 24 * 60 * 60_000,
  rotateCommands: ['new', 'reset'],
  historyHead: 2,
  historyTail: 20,
  liveAfterMs: 300,
  typingAfterMs: 1_000,
}

export function assembleGateway(config: Config, database: Database, runtime: Runtime): Assembled {
  const turnPolicy = resolveTurnPolicy(config)
  const { fenceFetch, fetch } = createLeaseFencedFetch(runtime, turnPolicy)
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
  const newId = createUuidV7Source(runtime.now, fillRandom)
  const files = createAttachmentServices(config, database, { ...runtime, newId, fillRandom })
  const wakeups = createWakeups(runtime.onWork)
  const watching = { watchers: createTaskWatchers(), wake: () => notifyAllWorkers(wakeups) }
  const parts = { ...runtime, ...watching, ...files.forChannels, fetch, newId }
  const connections = createConnections(config, database, parts, turnPolicy)
  const tools = createToolServersOrThrow(config, { ...runtime, fetch })
  const { tenant } = config
  const db: Db = {
    ...database,
    tenant,
    holder: runtime.holder ?? newId(),
    leaseMs: turnPolicy.leaseMs,
    takeOver: createDatabaseGapTracker(turnPolicy),
    newId,
  }
  const keepers = createLeaseAndResultKeepers(runtime, db, turnPolicy)
  const runWatch = createRunUpdateWatcher({ db, everyMs: turnPolicy.pollMs })
  const deps: GatewayDeps = {
    ...runtime,
    tenant,
    meter: runtime.meter ?? noMeter,
    fenceFetch,
    guardedFetch: runtime.guardedFetch ?? createUnpinnedFetch(fetch),
    connections,
    agents: new Map(config.agents.map((agent) => [agent.slug, agent])),
    committer: (runtime.committer ?? createGroupCommit)((drafts) => storeInboxDrafts(db, drafts)),
    db,
    journal: createJournalStore(db),
    transcripts: createTranscriptStore(database, tenant),
    attachments: files.service,
    watchRun: runWatch.watch,
    ...chooseIdentityPorts(config),
    ...createRemoteGatewayPorts(config, database, { ...runtime, newId }),
    ...keepers,
    turnPolicy,
    ...createSettleAndValidationRules(config, turnPolicy, connections),
    wakeups,
    presence: createPresenceService(),
    ...watching,
    notify: createSafeObserver(config.onEvent, runtime.log),
    ...tools,
    newId,
    fillRandom,
    hash: sha256Hex,
  }
  return {
    gateway: createGateway(deps),
    deps,
    files,
    wake: (work) => (work === undefined ? notifyAllWorkers(wakeups) : wakeups[work].notify()),
    stop() {
      keepers.leases.stop()
      runWatch.stop()
    },
    closeTools: async () => tools.toolServers?.close(),
  }
}

/** Of few slots none is kept back: one that waits for others would be missing here. */
function resolveTurnPolicy({ turns }: Config): TurnPolicy {
  const policy = { ...defaultTurnPolicy, ...turns }
  return { ...policy, reservedSlots: policy.reservedSlots ?? Math.floor(policy.slots / 8) }
}

function createLeaseAndResultKeepers(
  runtime: Runtime,
  db: Db,
  { leaseMs }: TurnPolicy,
): Pick<GatewayDeps, 'leases' | 'results'> {
  return {
    leases: createLeaseKeeper({ ...runtime, renew: (holds) => renewLanes(db, holds), leaseMs }),
    results: createResultWriteRetrier({ ...runtime, leaseMs }),
  }
}

/** What we start must be on its way before another process can take the lane over: under a third of the lease, like the calls. */
function createLeaseFencedFetch(
  runtime: Runtime,
  { leaseMs }: TurnPolicy,
): Pick<GatewayDeps, 'fenceFetch'> & Pick<Runtime, 'fetch'> {
  const fenceFetch = runtime.fenceFetch ?? createUnfencedFetchFactory(runtime.fetch)
  return { fenceFetch, fetch: fenceFetch((ageMs) => ageMs < leaseMs / 3) }
}

/** Where nothing is known of bytes, a request has left as soon as it was asked for. */
function createUnfencedFetchFactory(fetch: Runtime['fetch']): GatewayDeps['fenceFetch'] {
  return (_mayLeave, onSend) => (input, init) => {
    onSend?.()
    return fetch(input, init)
  }
}

function createSettleAndValidationRules(
  config: Config,
  policy: TurnPolicy,
  connections: readonly GatewayConnection[],
): Pick<GatewayDeps, 'settlePolicy' | 'validation'> {
  return {
    settlePolicy: { ...defaultSettlePolicy(policy, connections), ...config.sends },
    validation: createValidationScope(connections),
  }
}

type IdentityPorts = 'consent' | 'access' | 'principals' | 'capabilities' | 'trustedIssuers' | 'attestations'

/** The identity stage as configured: a host application may bring parts of its own. */
function chooseIdentityPorts({ ports, trustedIssuers }: Config): Pick<GatewayDeps, IdentityPorts> {
  return {
    access: ports.access ?? createAccessPolicy(),
    principals: ports.principals ?? createEvidenceResolver(),
    trustedIssuers,
    attestations: ports.attestations ?? { verify: async () => 'EV_SIG_UNAVAILABLE' },
    consent: ports.consent ?? decideConsent,
    capabilities: createCapabilityCheck(ports.userHas ?? (() => false)),
  }
}

/** Who we are to other gateways, and what we remember of theirs. */
function createRemoteGatewayPorts(
  config: Config,
  database: Database,
  parts: Parameters<typeof createGatewayAttestor>[2],
): Pick<GatewayDeps, 'attestor' | 'host' | 'speakerMarks'> {
  return {
    attestor: createGatewayAttestor(config, database, parts),
    host: createHostNameReader(config, database),
    speakerMarks: createSpeakerMarkSigner(config, database, parts),
  }
}

/** A server out of reach is told at the start and by name, instead of in the middle of a message. */
function createToolServersOrThrow({ agents }: Config, runtime: Runtime): Pick<GatewayDeps, 'toolServers'> {
  if (runtime.createToolServers !== undefined) return { toolServers: runtime.createToolServers(runtime) }
  const unreachable = agents.find((agent) => agent.mcpServers !== undefined)
  if (unreachable === undefined) return {}
  const advice = 'run the gateway there, or remove it from mcpServers'
  throw new GatewayError(
    'config_invalid',
    `[agent] "${unreachable.slug}": the MCP server "${unreachable.mcpServers?.[0]?.name}" can be reached from Node only; ${advice}`,
  )
}

function defaultSettlePolicy(policy: TurnPolicy, connections: readonly GatewayConnection[]): SettlePolicy {
  const slowest = Math.max(0, ...connections.map((each) => each.adapter.capabilities.callTimeoutMs))
  return {
    backoff: { firstMs: 500, maxMs: 5 * 60_000 },
    giveUpAfterMs: 24 * 60 * 60_000,
    unknownPauseMs: 2_000,
    reconcileAfterMs: policy.leaseMs + slowest,
    reconcileForMs: 10 * 60_000,
    retryUnknown: 'never',
  }
}

function createValidationScope(connections: readonly GatewayConnection[]): GatewayDeps['validation'] {
  return {
    from: 'adapter',
    receivedVia: new Set(connections.map((each) => each.adapter.capabilities.receivedVia)),
    authMethods: new Set(connections.flatMap((each) => each.adapter.capabilities.authMethods)),
  }
}

/** An observer's exceptions never matter to the journey. */
function createSafeObserver(observer: Observer | undefined, log: Log): Observer {
  if (observer === undefined) return () => {}
  return (event) => {
    const logObserverFailure = (error: unknown): void => {
      const origin = { hook: event.type, connection: event.connection }
      log.warn(
        'observer_failed',
        { ...origin, ...errorLogFields(error, 'observer_failed') },
        toRedactedErrorRecord(error),
      )
    }
    try {
      // An observer may turn out to be asynchronous; its failures come later and matter as little.
      void Promise.resolve(observer(cloneForObserver(event))).catch(logObserverFailure)
    } catch (error) {
      logObserverFailure(error)
    }
  }
}

function createWakeups(onWork: Runtime['onWork']): GatewayDeps['wakeups'] {
  return {
    turns: wrapWakeupWithCallback(createWakeup(), onWork),
    sends: createWakeup(),
    ends: createWakeup(),
    timers: createWakeup(),
    events: createWakeup(),
    live: createWakeup(),
  }
}

function wrapWakeupWithCallback(wakeup: Wakeup, onWork: (() => void) | undefined): Wakeup {
  if (onWork === undefined) return wakeup
  const notifyAndCallOnWork = (isUrgent?: boolean): void => {
    wakeup.notify(isUrgent)
    onWork()
  }
  return { ...wakeup, notify: notifyAndCallOnWork }
}

function notifyAllWorkers(wakeups: Readonly<Record<string, Wakeup>>): void {
  for (const wakeup of Object.values(wakeups)) wakeup.notify()
}
