// Connections as configured: each with its adapter, and every adapter with the ports it may use.
import { sealKeyBytes } from '../config/seal-keys.ts'
import type { Config } from '../config.ts'
import {
  type AgentProfile,
  type CallerVerifier,
  GatewayError,
  type Hmac,
  type Mailer,
  type Offload,
} from '../contract/index.ts'
import type { Database } from '../db/client.ts'
import { createInstallations, type Seal } from '../db/installations.ts'
import { createPeople } from '../db/known-people.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'
import { createRecords } from '../db/records.ts'
import { createRoomStore } from '../db/rooms.ts'
import { createTaskStore } from '../db/tasks.ts'
import { createRunLog } from '../db/transcripts.ts'
import { createTtlStore } from '../db/ttl-store.ts'
import { createUnpinnedFetch, webHmac } from '../lib/index.ts'
import { createTaskService, type TaskWatchers } from '../tasks/task-service.ts'
import type { GatewayConnection, TurnPolicy } from '../turns/deps.ts'
import { agentProfile } from './agent-profile.ts'
import type { ChannelFiles } from './attachments.ts'
import { type CallerServiceDeps, createCallerServices } from './callers.ts'
import { createSeal, type SealKeys } from './seal.ts'

/** Without `guardedFetch`: over `fetch`, with what cannot be judged there refused. */
type ConnectionDeps = CallerServiceDeps &
  ChannelFiles & {
    /** Without it: WebCrypto. */
    readonly hmac?: Hmac
    /** Without it: nothing is sent but by fetch and by sockets. */
    readonly carrier?: Mailer
    /** Without it: channels compute in this thread. */
    readonly offload?: Offload
    /** No other machine gets to this gateway. */
    readonly isLocalOnly?: boolean
    /** Without it: as configured. */
    readonly sealKeys?: SealKeys
    readonly newId: () => string
    readonly monotonicMs: () => number
    /** The clients that watch tasks in this process. */
    readonly watchers: TaskWatchers
    /** Something was left to do. */
    readonly wake: () => void
  }

export function createConnections(
  config: Config,
  database: Database,
  means: ConnectionDeps,
  policy: TurnPolicy,
): readonly GatewayConnection[] {
  const seal = createSeal(means.sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const desks = createCallerServices(config, database, means)
  const maxCallMs = Math.floor(policy.leaseMs / 3)
  const connections = config.connections.map((each) =>
    createConnection(config, each, database, { ...means, seal, callers: desks(each), maxCallMs }),
  )
  requireCallsShorterThanLease(connections, policy)
  return connections
}

function createConnection(
  config: Config,
  each: Config['connections'][number],
  database: Database,
  means: ConnectionDeps & { readonly seal: Seal; readonly callers: CallerVerifier; readonly maxCallMs: number },
): GatewayConnection {
  const connection = { tenant: config.tenant, id: each.id, agent: each.agent, domain: config.domain }
  const { fetch, now, hmac = webHmac(), files, guardedFetch = createUnpinnedFetch(fetch), callers } = means
  const runLog = createRunLog(database)
  const key = `${each.channel.channel}/${each.id}`
  const { tenant } = config
  const own = { tenant, connection: key, agent: each.agent, seal: means.seal }
  const installations = createInstallations(database, own)
  const ownKeys = createOwnKeyStore(database, own)
  const places = createRoomStore(database, { tenant, connection: key })
  const notes = createTtlStore(database, { tenant, connection: key, seal: means.seal })
  const records = createRecords(database, { tenant, connection: key })
  const people = createPeople(database, { tenant, connection: key })
  const store = createTaskStore(database, { tenant, connection: key, seal: means.seal })
  const tasks = createTaskService({ ...means, store })
  const stores = { installations, ownKeys, places, tasks, notes, people, records }
  const originals = means.originalsOf?.(key)
  const channelDeps = {
    connection,
    fetch,
    guardedFetch,
    now,
    hmac,
    runLog,
    callers,
    files,
    ...stores,
    ...(originals === undefined ? {} : { originals }),
    ...(means.carrier === undefined ? {} : { carrier: means.carrier }),
    ...(means.offload === undefined ? {} : { offload: means.offload }),
    ...(means.isLocalOnly === undefined ? {} : { isLocalOnly: means.isLocalOnly }),
    newId: means.newId,
    maxCallMs: means.maxCallMs,
    agents: () => agentProfilesForConnection(config, each),
    ...(config.publicUrl === undefined ? {} : { publicUrl: new URL(config.publicUrl).origin }),
  }
  return {
    key,
    connection,
    isShared: each.isShared,
    adapter: each.channel.create(each.settings, channelDeps),
    notePlace: places.note,
    ...(originals === undefined ? {} : { originals }),
    tasks,
    access: each.access,
    strangers: each.strangers,
    ...(each.replyParts === undefined ? {} : { replyParts: each.replyParts }),
    mentionHumans: each.mentionHumans,
    attention: each.attention,
    ...(each.consent === undefined ? {} : { transcriptBasis: each.consent.storeTranscript.trim() }),
  }
}

/** The default agent, for messages that name none, goes first. */
function agentProfilesForConnection(
  config: Config,
  { agent, isShared }: Config['connections'][number],
): readonly AgentProfile[] {
  const first = config.agents.filter(({ slug }) => slug === agent)
  const others = isShared ? config.agents.filter(({ slug }) => slug !== agent) : []
  return [...first, ...others].map(agentProfile)
}

/** A call of ours must be over before another process can take the lane over. */
function requireCallsShorterThanLease(connections: readonly GatewayConnection[], policy: TurnPolicy): void {
  for (const { adapter, connection } of connections) {
    const { callTimeoutMs } = adapter.capabilities
    if (callTimeoutMs * 3 <= policy.leaseMs) continue
    const advice = `raise turns.leaseMs to at least ${callTimeoutMs * 3}`
    throw new GatewayError(
      'config_invalid',
      `[${adapter.channel}] connection "${connection.id}": calls may take ${callTimeoutMs} ms; ${advice}`,
    )
  }
}
