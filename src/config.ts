// Configuration: parley.config.ts and the environment in, a frozen Config out, every problem reported at once.
import type { Agent } from './agents/define-agent.ts'
import { agentCallProblems, readAgents } from './config/agents.ts'
import { type AttachmentConfig, type AttachmentSettings, readAttachments } from './config/attachments.ts'
import { connectionLimitProblems, consentProblems, readReplyPolicy } from './config/connection-settings.ts'
import { environmentSchema, type LogLevel, readPostgresSettings } from './config/environment.ts'
import {
  type ApiLimits,
  type DiskSettings,
  type HttpLimits,
  readApiSettings,
  readDiskSettings,
  readHttpLimits,
} from './config/limits.ts'
import { findDuplicates, unknownKeyProblems, unknownVariableProblems } from './config/name-checks.ts'
import { readTenant } from './config/tenant.ts'
import { readConfiguredTokenIssuers } from './config/token-issuers.ts'
import { accessProblems, type StrangerLimits, strangerLimits } from './contract/access.ts'
import { mentionPolicies } from './contract/channel.ts'
import type { Observer } from './contract/gateway-events.ts'
import { type AccessRule, type ChannelDefinition, type ConnectionConfig, parseAddress } from './contract/index.ts'
import { defaultRetention, type RetentionPolicy, retentionProblems } from './db/retention.ts'
import { parseSealKeys } from './gateway/seal.ts'
import type { AccessPolicy } from './identity/access-policy.ts'
import type { ConsentPolicy } from './identity/consent.ts'
import type { TokenIssuerSettings, TokenIssuers } from './identity/issuers/token-issuers.ts'
import type { PrincipalResolver, UserHas } from './identity/principals.ts'
import type { ReplyPolicy } from './identity/reply-policy.ts'
import {
  type AttestationVerifier,
  readConfiguredTrustedIssuers,
  type TrustedIssuer,
  type TrustedIssuers,
} from './identity/trust.ts'
import { GatewayError } from './lib/errors.ts'
import { type Secret, secret } from './lib/secret.ts'
import type { SettlePolicy } from './outbound/settle.ts'

import type { TurnPolicy } from './turns/turn-policy.ts'

/** What a parley.config.ts exports. Everything is optional; without it the demo agent answers. */
export type ParleyConfig = {
  readonly agents?: readonly Agent[]
  /** Slug of the agent that answers where no agent is addressed. Without it: the first. */
  readonly defaultAgent?: string
  /** Channels beside the built-in ones: from a package, or from a folder of your own. */
  readonly channels?: readonly ChannelDefinition[]
  readonly connections?: readonly ConnectionConfig[]
  readonly turns?: Partial<TurnPolicy>
  readonly sends?: Partial<SettlePolicy>
  readonly retention?: Partial<RetentionPolicy>
  /** How much room the disk of the data folder must have left. */
  readonly disk?: DiskSettings
  readonly maxBodyBytes?: number
  /** What callers may make the listener hold and keep open. */
  readonly http?: Partial<HttpLimits>
  /** Where files are kept, and how large they may be. */
  readonly attachments?: AttachmentSettings
  /** How often callers of the API may ask; shared by all replicas. Without it callers are not counted in the database. */
  readonly limits?: ApiLimits
  /** Whose gateway this is; gateways of several tenants may share one database. `PARLEY_TENANT` says the same. */
  readonly tenant?: string
  /** Other gateways whose evidence about people counts here; needs `ports.attestations`. */
  readonly trustedIssuers?: readonly TrustedIssuer[]
  /** Who issues tokens that callers of agents may show, besides this gateway. */
  readonly tokenIssuers?: readonly TokenIssuerSettings[]
  /** Watches what happens; cannot change it. */
  readonly onEvent?: Observer
  /** Parts of the identity stage a host application replaces. */
  readonly ports?: ReplaceablePorts
}

// A new key that is forgotten here does not compile.
const configKeys = Object.keys({
  agents: 1,
  defaultAgent: 1,
  channels: 1,
  connections: 1,
  turns: 1,
  sends: 1,
  retention: 1,
  disk: 1,
  maxBodyBytes: 1,
  http: 1,
  attachments: 1,
  limits: 1,
  tenant: 1,
  trustedIssuers: 1,
  tokenIssuers: 1,
  onEvent: 1,
  ports: 1,
} satisfies Record<keyof ParleyConfig, 1>)

export type ReplaceablePorts = {
  readonly access?: AccessPolicy
  readonly principals?: PrincipalResolver
  /** Checks the signatures of other gateways; without it no evidence from outside counts. */
  readonly attestations?: AttestationVerifier
  readonly consent?: ConsentPolicy
  /** Whether a user of the host has a capability at all; without it a user has only those that are granted. */
  readonly userHas?: UserHas
}

export type ConfiguredConnection = {
  readonly id: string
  /** Whose it is; on a shared connection, the agent that answers where none is addressed. */
  readonly agent: string
  /** Several agents answer here, and each message says whom it is for. */
  readonly isShared: boolean
  readonly access: AccessRule
  readonly strangers: StrangerLimits
  readonly replyParts: number | undefined
  readonly mentionHumans: NonNullable<ConnectionConfig['mentionHumans']>
  readonly replyPolicy: ReplyPolicy
  readonly consent: ConnectionConfig['consent']
  readonly channel: ChannelDefinition
  readonly settings: unknown
}

export type Config = {
  readonly port: number
  readonly host: string
  readonly publicUrl: string | undefined
  readonly domain: string
  readonly dataDir: string
  /** A PostgreSQL server; undefined: the embedded one in the data folder. */
  readonly databaseUrl: Secret | undefined
  /** Of the embedded PostgreSQL, by name. */
  readonly postgresSettings: Readonly<Record<string, string>>
  readonly adminToken: Secret | undefined
  readonly sealKeys: readonly Secret[]
  readonly tenant: string
  readonly trustedIssuers: TrustedIssuers
  readonly tokenIssuers: TokenIssuers
  readonly agents: readonly Agent[]
  readonly connections: readonly ConfiguredConnection[]
  readonly turns: Partial<TurnPolicy>
  readonly sends: Partial<SettlePolicy>
  readonly retention: RetentionPolicy
  readonly disk: DiskSettings
  readonly maxBodyBytes: number
  readonly http: HttpLimits
  readonly attachments: AttachmentConfig
  readonly limits: ApiLimits
  /** Web pages that may call the API, by origin; `*`: all. */
  readonly corsOrigins: readonly string[]
  readonly onEvent: Observer | undefined
  readonly ports: ReplaceablePorts
  readonly logLevel: LogLevel
  /** How much of an exception the log shows. Undefined: in full at a developer's terminal, else its place. */
  readonly logErrors: 'place' | 'full' | undefined
  /** How often platforms are asked how connections stand; 0: never. */
  readonly probeMs: number
  /** Who may read the metrics. `local`: callers on this machine, or with the admin token. */
  readonly metrics: 'local' | 'public' | 'off'
  /** What an operator should look at, and what does not stop the start. */
  readonly warnings: readonly string[]
}

export type { LogLevel }

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The configuration of `parley.config.ts`. What is left out comes from the environment; problems are told at the start, all of them.
 *
 * @example
 * export default defineConfig({
 *   agents: [helper],
 *   connections: [{ channel: 'slack', id: 'default', access: { mode: 'pairing' }, settings: { … } }],
 * })
 */
export function defineConfig(config: ParleyConfig): ParleyConfig {
  return config
}

/** Throws one error that lists everything that is wrong. `builtIn`: the channels that are there without a word in the configuration. */
export function loadConfig(env: Environment, file: ParleyConfig, builtIn: readonly ChannelDefinition[]): Config {
  const problems: string[] = []
  const channels = mergeChannelDefinitions(builtIn, file.channels ?? [], problems)
  const read = environmentSchema.safeParse(dropBlankVariables(env))
  if (!read.success) for (const issue of read.error.issues) problems.push(`${issue.path.join('.')}: ${issue.message}`)
  const unknown = unknownVariableProblems(dropBlankVariables(env), channels)
  problems.push(...unknownKeyProblems(file, configKeys), ...unknown.problems)
  const agents = readAgents(dropBlankVariables(env), file.agents, problems)
  if (file.defaultAgent !== undefined && !agents.some(({ slug }) => slug === file.defaultAgent))
    problems.push(`defaultAgent: no agent "${file.defaultAgent}"; name one of agents`)
  problems.push(...agentCallProblems(agents))
  const connections = readConnections(env, file, channels, agents, problems)
  const tenant = readTenant(dropBlankVariables(env)['PARLEY_TENANT'], file.tenant, problems)
  const trustedIssuers = readConfiguredTrustedIssuers(
    file.trustedIssuers ?? [],
    file.ports?.attestations !== undefined,
    problems,
  )
  const tokenIssuers = readConfiguredTokenIssuers(dropBlankVariables(env), file.tokenIssuers, problems)
  const attachments = readAttachments(dropBlankVariables(env), file.attachments, problems)
  const api = readApiSettings(dropBlankVariables(env)['PARLEY_CORS_ORIGINS'], file.limits, problems)
  const maxBodyBytes = file.maxBodyBytes ?? 1024 * 1024
  const http = readHttpLimits(file.http, maxBodyBytes, problems)
  const postgresSettings = readPostgresSettings(dropBlankVariables(env)['PARLEY_POSTGRES_OPTIONS'], problems)
  for (const { slug, access } of agents)
    if (access !== undefined) problems.push(...accessProblems(access).map((problem) => `agent "${slug}": ${problem}`))
  const retention = { ...defaultRetention, ...file.retention }
  problems.push(...retentionProblems(retention))
  const disk = readDiskSettings(file.disk, problems)
  if (!read.success || problems.length > 0) throw invalidConfigError(problems)
  const settings = read.data
  const publicUrl = settings.PARLEY_PUBLIC_URL
  return Object.freeze({
    port: settings.PARLEY_PORT,
    host: settings.PARLEY_HOST,
    publicUrl,
    domain: agentAddressDomain(publicUrl),
    dataDir: settings.PARLEY_DATA_DIR,
    databaseUrl: toOptionalSecret(settings.DATABASE_URL),
    postgresSettings,
    adminToken: toOptionalSecret(settings.PARLEY_ADMIN_TOKEN),
    sealKeys: parseSealKeys(settings.PARLEY_SEAL_KEY),
    tenant,
    trustedIssuers,
    tokenIssuers,
    agents,
    connections,
    turns: file.turns ?? {},
    sends: file.sends ?? {},
    retention,
    disk,
    maxBodyBytes,
    http,
    attachments,
    ...api,
    onEvent: file.onEvent,
    ports: file.ports ?? {},
    logLevel: settings.PARLEY_LOG_LEVEL,
    logErrors: settings.PARLEY_LOG_ERRORS,
    probeMs: settings.PARLEY_PROBE_SECONDS * 1000,
    metrics: settings.PARLEY_METRICS,
    warnings: unknown.warnings,
  })
}

/** Of the agents' own addresses. `localhost` and numbers are no domain that an address could be at. */
function agentAddressDomain(publicUrl: string | undefined): string {
  const host = publicUrl === undefined ? '' : new URL(publicUrl).hostname
  return parseAddress(`agent@${host}`) === undefined ? 'parley.localhost' : host
}

function invalidConfigError(problems: readonly string[]): GatewayError {
  const list = problems.join('\n  - ')
  return new GatewayError('config_invalid', `the configuration has ${problems.length} problem(s):\n  - ${list}`)
}

// It stands in webhook URLs, in names of metrics and in the keys of rows.
const channelNamePattern = /^[a-z][a-z0-9-]{0,31}$/

/** Built-in channels and those of the configuration, every name once. */
function mergeChannelDefinitions(
  builtIn: readonly ChannelDefinition[],
  added: readonly ChannelDefinition[],
  problems: string[],
): readonly ChannelDefinition[] {
  const channels = [...builtIn]
  for (const [index, each] of added.entries()) {
    const { channel: name, create } = each ?? {}
    if (typeof name !== 'string' || typeof create !== 'function')
      problems.push(`channels[${index}] is no channel; name what the package exports as its ChannelDefinition`)
    else if (!channelNamePattern.test(name))
      problems.push(
        `channels[${index}]: the name ${JSON.stringify(name.slice(0, 64))} must be small letters, digits and hyphens, 32 at most`,
      )
    else if (builtIn.some(({ channel }) => channel === name))
      problems.push(`channels[${index}]: "${name}" is a built-in channel; give the added one another name`)
    else if (channels.some(({ channel }) => channel === name))
      problems.push(`channels[${index}]: another channel is called "${name}" too; leave one of them out`)
    else channels.push(each)
  }
  return channels
}

function readConnections(
  env: Environment,
  file: ParleyConfig,
  channels: readonly ChannelDefinition[],
  agents: readonly Agent[],
  problems: string[],
): readonly ConfiguredConnection[] {
  const asked = [...(file.connections ?? []), ...readConnectionsFromEnvironment(env, file, channels, problems)]
  const resolved: ConfiguredConnection[] = []
  for (const each of asked) {
    const channel = channels.find((known) => known.channel === each.channel)
    if (channel === undefined)
      problems.push(
        `connection "${each.id}": unknown channel "${each.channel}"; add its definition to channels, or name one of ${channels.map((known) => known.channel).join(', ')}`,
      )
    else {
      for (const issue of channel.settingsSchema.safeParse(each.settings).error?.issues ?? []) {
        problems.push(`[${each.channel}] connection "${each.id}": ${issue.path.join('.')} ${issue.message}`)
      }
      const agent = each.agent ?? file.defaultAgent ?? agents[0]?.slug ?? ''
      if (each.agent !== undefined && !agents.some((known) => known.slug === agent))
        problems.push(`connection "${each.id}": no agent "${agent}"`)
      if (each.mentionHumans !== undefined && !mentionPolicies.includes(each.mentionHumans))
        problems.push(`connection "${each.id}": mentionHumans must be one of ${mentionPolicies.join(', ')}`)
      if (each.access !== undefined)
        problems.push(...accessProblems(each.access).map((problem) => `connection "${each.id}": ${problem}`))
      problems.push(...consentProblems(each), ...connectionLimitProblems(each))
      const access = each.access ?? channel.defaultAccess
      resolved.push({
        id: each.id,
        agent,
        // With one agent there is nothing to choose, and nothing is looked at.
        isShared: each.agent === undefined && agents.length > 1,
        access,
        strangers: strangerLimits(each.strangers, access),
        replyParts: each.replyParts,
        mentionHumans: each.mentionHumans ?? 'participants',
        replyPolicy: readReplyPolicy(each, problems, channel.defaultReplyMode),
        consent: each.consent,
        channel,
        settings: each.settings,
      })
    }
  }
  problems.push(
    ...findDuplicates(asked.map((each) => `${each.channel}/${each.id}`)).map(
      (id) => `two connections are called "${id}"; give one an id of its own`,
    ),
  )
  return resolved
}

/** A set variable switches its channel on; the file wins where both name the same connection. */
function readConnectionsFromEnvironment(
  env: Environment,
  file: ParleyConfig,
  channels: readonly ChannelDefinition[],
  problems: string[],
): readonly ConnectionConfig[] {
  const found: ConnectionConfig[] = []
  for (const channel of channels) {
    const isInFile = (file.connections ?? []).some(
      (each) => each.channel === channel.channel && each.id === channel.defaultConnectionId,
    )
    const reading = isInFile ? undefined : channel.fromEnvironment(dropBlankVariables(env))
    if (reading === undefined) continue
    if ('missing' in reading) {
      problems.push(
        ...reading.missing.map(
          (name) => `[${channel.channel}] ${name} is missing; set it, or unset the channel's other variables`,
        ),
      )
    } else {
      const access = reading.access === undefined ? {} : { access: reading.access }
      // An unknown word is told by the schema that reads it.
      const replyPolicy = reading.replyPolicy === undefined ? {} : { replyPolicy: reading.replyPolicy }
      const own = { channel: channel.channel, id: channel.defaultConnectionId, settings: reading.settings }
      found.push({ ...own, ...access, ...replyPolicy })
    }
  }
  return found
}

function dropBlankVariables(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''))
}

function toOptionalSecret(value: string | undefined): Secret | undefined {
  return value === undefined ? undefined : secret(value)
}
