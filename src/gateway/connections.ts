// Connections as configured: each with its adapter, the services it may use, and the verifiers of its callers.

import type { Agent } from '../agents/define-agent.ts'
import type { Config } from '../config.ts'
import type { AgentSkill, Hmac, Mailer, Offload } from '../contract/channel.ts'
import type { AgentProfile, CallerVerifier, ChannelDeps } from '../contract/index.ts'
import type { Database } from '../db/client.ts'
import { createInstallationStore, type Seal } from '../db/installations.ts'
import { createKnownSenderLookup } from '../db/known-people.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'
import { createRecordStore } from '../db/records.ts'
import { createRoomStatusStore } from '../db/rooms.ts'
import { createTaskStore } from '../db/tasks.ts'
import { createTokenStore, createUsedTokenStore } from '../db/tokens.ts'
import { createRunLog } from '../db/transcripts.ts'
import { createTtlStore } from '../db/ttl-store.ts'
import { createCallerService } from '../identity/callers.ts'
import { createExternalTokenVerifier, type ExternalTokenVerifier } from '../identity/issuers/external-tokens.ts'
import { createIssuerCache, type IssuerCache } from '../identity/issuers/issuer-client.ts'
import { hasTokenIssuers, protectedResourceMetadataUrl } from '../identity/issuers/token-issuers.ts'
import { GatewayError } from '../lib/errors.ts'
import { createUnpinnedFetch, createWebHmac, equalInConstantTime, sha256Hex } from '../lib/index.ts'
import type { Log } from '../lib/log.ts'
import type { SafeFetch } from '../lib/safe-fetch-port.ts'
import type { Secret } from '../lib/secret.ts'
import { createTaskService, type TaskWatchers } from '../tasks/task-service.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'
import type { ChannelFiles } from './attachments.ts'
import { createSeal, type SealKeys, sealKeyBytes } from './seal.ts'

/** Without `guardedFetch`: over `fetch`, with what cannot be judged there refused. */
type ConnectionDeps = CallerServiceDeps &
  ChannelFiles & {
    /** Without it: WebCrypto. */
    readonly hmac?: Hmac
    /** Without it: nothing is sent but by fetch and by sockets. */
    readonly mailer?: Mailer
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
  parts: ConnectionDeps,
  policy: TurnPolicy,
): readonly GatewayConnection[] {
  const seal = createSeal(parts.sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const services = createCallerVerifierFactory(config, database, parts)
  const maxCallMs = Math.floor(policy.leaseMs / 3)
  const connections = config.connections.map((each) =>
    createConnection(config, each, database, { ...parts, seal, callers: services(each), maxCallMs }),
  )
  requireCallsShorterThanLease(connections, policy)
  return connections
}

function createConnection(
  config: Config,
  each: Config['connections'][number],
  database: Database,
  parts: ConnectionDeps & { readonly seal: Seal; readonly callers: CallerVerifier; readonly maxCallMs: number },
): GatewayConnection {
  const connection = { tenant: config.tenant, id: each.id, agent: each.agent, domain: config.domain }
  const { fetch, now, hmac = createWebHmac(), files, guardedFetch = createUnpinnedFetch(fetch), callers } = parts
  const runLog = createRunLog(database)
  const key = `${each.channel.channel}/${each.id}`
  const { tenant } = config
  const own = { tenant, connection: key, agent: each.agent, seal: parts.seal }
  const installations = createInstallationStore(database, own)
  const ownKeys = createOwnKeyStore(database, own)
  const closedRooms = createRoomStatusStore(database, { tenant, connection: key })
  const store = createTaskStore(database, { tenant, connection: key, seal: parts.seal })
  const tasks = createTaskService({ ...parts, store })
  const rawBlobs = parts.rawBlobsOf?.(key)
  const channelDeps: ChannelDeps = {
    connection,
    fetch,
    guardedFetch,
    now,
    hmac,
    runLog,
    installations,
    ownKeys,
    closedRooms,
    tasks,
    ttlStore: createTtlStore(database, { tenant, connection: key, seal: parts.seal }),
    knownPeople: createKnownSenderLookup(database, { tenant, connection: key }),
    records: createRecordStore(database, { tenant, connection: key }),
    newId: parts.newId,
    maxCallMs: parts.maxCallMs,
    agents: () => agentProfilesForConnection(config, each),
    ...(callers === undefined ? {} : { callers }),
    ...(files === undefined ? {} : { files }),
    ...(rawBlobs === undefined ? {} : { rawBlobs }),
    ...(parts.mailer === undefined ? {} : { mailer: parts.mailer }),
    ...(parts.offload === undefined ? {} : { offload: parts.offload }),
    ...(parts.isLocalOnly === undefined ? {} : { isLocalOnly: parts.isLocalOnly }),
    ...(config.publicUrl === undefined ? {} : { publicUrl: new URL(config.publicUrl).origin }),
  }
  return {
    key,
    connection,
    isShared: each.isShared,
    adapter: each.channel.create(each.settings, channelDeps),
    noteRoomStatus: closedRooms.note,
    ...(rawBlobs === undefined ? {} : { rawBlobs }),
    tasks,
    access: each.access,
    strangers: each.strangers,
    ...(each.replyParts === undefined ? {} : { replyParts: each.replyParts }),
    mentionHumans: each.mentionHumans,
    replyPolicy: each.replyPolicy,
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

// Callers are verified per connection over one set of issuers.

type CallerServiceDeps = {
  readonly fetch: typeof fetch
  readonly guardedFetch?: SafeFetch
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
  /** Where a process is too short to remember: what is known of issuers. */
  readonly issuerMemory?: IssuerCache
  /** The operator's first token. Without it: as configured. */
  readonly firstToken?: Secret
}

function createCallerVerifierFactory(
  config: Config,
  database: Database,
  parts: CallerServiceDeps,
): (connection: { readonly isShared: boolean }) => CallerVerifier {
  const { tokenIssuers, tenant, publicUrl } = config
  const tokens = createTokenStore(database, tenant)
  const isOpen = hasTokenIssuers(tokenIssuers)
  const outside = isOpen ? { outside: createIssuerTokenVerifier(config, database, parts) } : {}
  const metadata =
    isOpen && publicUrl !== undefined
      ? { metadataUrl: (resource?: string) => protectedResourceMetadataUrl(publicUrl, resource) }
      : {}
  const first = parts.firstToken ?? config.adminToken
  const isFirstAdminToken = (token: string): boolean =>
    first !== undefined && equalInConstantTime(token, first.reveal())
  const agents = config.agents.map(({ slug }) => slug)
  const shared = {
    tokens,
    hash: sha256Hex,
    isOurs: isFirstAdminToken,
    agents,
    realm: config.domain,
    ...outside,
    ...metadata,
  }
  return ({ isShared }) => createCallerService({ ...shared, isShared })
}

function createIssuerTokenVerifier(
  { tokenIssuers, tenant }: Config,
  database: Database,
  parts: CallerServiceDeps,
): ExternalTokenVerifier {
  const own = createUnpinnedFetch(parts.fetch)
  return createExternalTokenVerifier({
    issuers: tokenIssuers,
    fetch: { own, guarded: parts.guardedFetch ?? own },
    memory: parts.issuerMemory ?? createIssuerCache(),
    used: createUsedTokenStore(database, tenant),
    hash: sha256Hex,
    now: parts.now,
    log: parts.log,
  })
}

// Agents describe themselves to other agents by their own words, else by what their tools are for.

function agentProfile(agent: Agent): AgentProfile {
  const { slug, label = slug, description = `The agent ${label}.` } = agent
  const skills = agent.skills ?? toolFactsToSkills(agent)
  const anything = { id: slug, name: label, description, tags: ['chat'] }
  return { slug, label, description, skills: skills.length === 0 ? [anything] : skills }
}

function toolFactsToSkills({ toolFacts = [] }: Agent): readonly AgentSkill[] {
  return toolFacts.map(({ name, description }) => ({
    id: name,
    name,
    description: description === '' ? name : description,
    tags: ['tool'],
  }))
}
