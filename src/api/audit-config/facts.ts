// Facts for the configuration audit: settings as they are in effect, and of secrets no more than how long and how varied they are.

import type { Config } from '../../config.ts'
import type { AccessRule } from '../../contract/index.ts'
import type { RetentionPolicy } from '../../db/retention.ts'
import type { TokenLine } from '../../db/tokens.ts'
import type { TrustedIssuer } from '../../identity/trust.ts'
import type { Secret } from '../../lib/secret.ts'
import type { PublicUrlHealth } from '../../observability/readiness.ts'

export type SecretFacts = { readonly name: string; readonly length: number; readonly differentCharacters: number }

export type ConnectionFacts = {
  /** As the ledger names it. */
  readonly key: string
  readonly agent: string
  /** Every agent answers there; `agent` is the one that does where no agent is named. */
  readonly isShared: boolean
  readonly access: AccessRule
  readonly mentionHumans: string
  /** What its webhook is proven by; without one it has none. */
  readonly webhookSecrets: readonly SecretFacts[]
  /** Callers need no credential. */
  readonly isAnonymous: boolean
  /** Callers on a port of this machine may speak there without a credential. */
  readonly takesGuests: boolean
  /** Connections from this machine may name any author. */
  readonly trustsLoopback: boolean
  /** Servers on this machine are asked and told by plain http (`insecureLoopback`). */
  readonly talksPlainly: boolean
}

export type AgentAuditFacts = {
  readonly slug: string
  readonly access: AccessRule | undefined
  /** Tools that write without asking first. */
  readonly writingTools: readonly string[]
  /** Tools with terms of approval that run without it. */
  readonly unaskedTools: readonly string[]
  readonly mcpServers: readonly string[]
}

export type TokenIssuerFacts = {
  readonly issuer: string
  /** Our scopes that every token of it has. */
  readonly anyScopes: readonly string[]
  /** Undefined: it is asked about each token. */
  readonly maxLifetimeSeconds: number | undefined
  /** What its tokens are made out to for all agents at once. */
  readonly sharedAudiences: readonly string[]
  /** Every URL it is asked at. */
  readonly urls: readonly string[]
}

export type ConfigFacts = {
  readonly now: number
  readonly host: string
  readonly publicUrl: string | undefined
  /** Where it leads, as a running gateway found; undefined: none runs. */
  readonly publicUrlFound: PublicUrlHealth | undefined
  readonly metrics: string
  /** Its host and sslmode, where it is a server of its own. */
  readonly databaseServer: { readonly host: string; readonly sslMode: string | undefined } | undefined
  readonly retention: RetentionPolicy
  readonly connections: readonly ConnectionFacts[]
  readonly agents: readonly AgentAuditFacts[]
  readonly trustedIssuers: readonly TrustedIssuer[]
  readonly tokenIssuers: readonly TokenIssuerFacts[]
  /** The token of PARLEY_ADMIN_TOKEN; undefined: it is made by us, or there is none. */
  readonly adminToken: SecretFacts | undefined
  /** Whether there is a first token at all. */
  readonly hasFirstToken: boolean
  /** Undefined: they could not be read. */
  readonly tokens: readonly TokenLine[] | undefined
  /** Permission bits of the data folder; undefined where there is none. */
  readonly dataDirMode: number | undefined
}

/** Without a platform behind it there are no strangers: callers sit on this machine or hold a token, unless they need none. */
export function isOpenToStrangers({ access, webhookSecrets, isAnonymous }: ConnectionFacts): boolean {
  return access.mode === 'public' && (webhookSecrets.length > 0 || isAnonymous)
}

export function isLoopbackHostName(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)
}

// Secrets are measured here and go no further.

/** What the configuration does not say by itself. */
export type ConfigSurroundings = Pick<
  ConfigFacts,
  'now' | 'tokens' | 'dataDirMode' | 'hasFirstToken' | 'publicUrlFound'
>

export function readConfigFacts(config: Config, around: ConfigSurroundings): ConfigFacts {
  const { host, publicUrl, metrics, retention, adminToken } = config
  return {
    ...around,
    host,
    publicUrl,
    metrics,
    retention,
    databaseServer: readDatabaseServer(config.databaseUrl),
    connections: config.connections.map(({ channel, id, agent, isShared, access, mentionHumans, settings }) => ({
      key: `${channel.channel}/${id}`,
      agent,
      isShared,
      access,
      mentionHumans,
      webhookSecrets: measureSecretsInSettings(settings),
      isAnonymous: isSettingOn(settings, 'anonymous'),
      takesGuests: channel.takesGuests === true,
      trustsLoopback: isSettingOn(settings, 'trustLoopback'),
      talksPlainly: hasSetting(settings, 'insecureLoopback'),
    })),
    agents: config.agents.map(({ slug, access, writingTools = [], unaskedTools = [], mcpServers = [] }) => ({
      slug,
      access,
      writingTools,
      unaskedTools,
      mcpServers: mcpServers.map(({ name }) => name),
    })),
    trustedIssuers: [...config.trustedIssuers.values()].flat(),
    tokenIssuers: summarizeTokenIssuers(config.tokenIssuers),
    adminToken: adminToken === undefined ? undefined : measureSecret('PARLEY_ADMIN_TOKEN', adminToken.reveal()),
  }
}

function isSettingOn(settings: unknown, name: string): boolean {
  return typeof settings === 'object' && settings !== null && Reflect.get(settings, name) === true
}

function hasSetting(settings: unknown, name: string): boolean {
  return typeof settings === 'object' && settings !== null && Reflect.get(settings, name) !== undefined
}

function summarizeTokenIssuers({ jwt, introspected }: Config['tokenIssuers']): ConfigFacts['tokenIssuers'] {
  return [...jwt, ...(introspected === undefined ? [] : [introspected])].map((each) => ({
    issuer: each.issuer,
    anyScopes: Object.entries(each.scopes).flatMap(([ours, theirs]) => (theirs === 'any' ? [ours] : [])),
    maxLifetimeSeconds: 'maxLifetimeSeconds' in each ? each.maxLifetimeSeconds : undefined,
    sharedAudiences: each.audience.filter((audience) => !audience.includes('{agent}')),
    urls: 'introspectionUrl' in each ? [each.introspectionUrl] : [each.jwksUrl ?? each.issuer],
  }))
}

function readDatabaseServer(url: Secret | undefined): ConfigFacts['databaseServer'] {
  if (url === undefined) return undefined
  const { hostname, searchParams } = new URL(url.reveal())
  return { host: searchParams.get('host') ?? hostname, sslMode: searchParams.get('sslmode') ?? undefined }
}

/** By name, whatever the channel: settings are read by its own schema only. */
function measureSecretsInSettings(settings: unknown): readonly SecretFacts[] {
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings)
    .filter(([name]) => /secret/i.test(name))
    .flatMap(([name, value]) =>
      [value].flat().flatMap((each) => revealSecretText(each).map((text) => measureSecret(name, text))),
    )
}

function revealSecretText(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  const isSecret = typeof value === 'object' && value !== null && 'reveal' in value
  return isSecret && typeof value.reveal === 'function' ? [String(value.reveal())] : []
}

function measureSecret(name: string, text: string): SecretFacts {
  return { name, length: text.length, differentCharacters: new Set(text).size }
}
