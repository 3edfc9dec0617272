// From the configuration in effect to the facts the checks look at. Secrets are measured here and go no further.
import type { Config } from '../../config.ts'
import type { Secret } from '../../contract/index.ts'
import type { ConfigFacts, SecretFacts } from './facts.ts'

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
      webhookSecrets: measureSecrets(settings),
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
    tokenIssuers: issuerFacts(config.tokenIssuers),
    adminToken: adminToken === undefined ? undefined : measureSecret('PARLEY_ADMIN_TOKEN', adminToken.reveal()),
  }
}

function isSettingOn(settings: unknown, name: string): boolean {
  return typeof settings === 'object' && settings !== null && Reflect.get(settings, name) === true
}

function hasSetting(settings: unknown, name: string): boolean {
  return typeof settings === 'object' && settings !== null && Reflect.get(settings, name) !== undefined
}

function issuerFacts({ jwt, introspected }: Config['tokenIssuers']): ConfigFacts['tokenIssuers'] {
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
function measureSecrets(settings: unknown): readonly SecretFacts[] {
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings)
    .filter(([name]) => /secret/i.test(name))
    .flatMap(([name, value]) =>
      [value].flat().flatMap((each) => secretTexts(each).map((text) => measureSecret(name, text))),
    )
}

function secretTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  const isSecret = typeof value === 'object' && value !== null && 'reveal' in value
  return isSecret && typeof value.reveal === 'function' ? [String(value.reveal())] : []
}

function measureSecret(name: string, text: string): SecretFacts {
  return { name, length: text.length, differentCharacters: new Set(text).size }
}
