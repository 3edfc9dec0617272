// Configuration: every problem at once, nothing weakened by what is missing, no secret in any message.
import { describe, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { channels, telegram } from '../../../src/channels.ts'
import { s3, supabase } from '../../../src/config/attachments.ts'
import { loadConfig } from '../../../src/config.ts'
import type { AccessRule, ChannelDefinition } from '../../../src/contract/index.ts'
import { loopbackClientId } from '../../doubles/loopback/index.ts'

const botToken = '7000001:AAE-canary-canary-canary-canary-canary'
const webhookSecret = 'canary-webhook-secret-canary-webhook-secret'
const agent = defineAgent({ slug: 'one', run: () => 'ok' })
const problemsOf = (env: Record<string, string>, file: Parameters<typeof loadConfig>[1] = {}): string => {
  try {
    loadConfig(env, file, channels)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('nothing at all is a valid configuration: the demo agent for callers, other agents and mail of this machine', () => {
  const config = loadConfig({}, {}, channels)
  expect(config).toMatchObject({ port: 8787, host: '127.0.0.1', domain: 'parley.localhost', dataDir: '.parley' })
  expect(config.agents.map((each) => each.slug)).toEqual(['demo'])
  expect(config.connections.map((each) => [each.channel.channel, each.id, each.access.mode])).toEqual([
    ['agui', 'demo', 'public'],
    ['a2a', 'default', 'public'],
    ['email', 'default', 'public'],
  ])
})

test.for([
  ['https://agents.example.org', 'agents.example.org'],
  ['http://localhost:8787', 'parley.localhost'],
  ['http://127.0.0.1:8787', 'parley.localhost'],
  ['http://[::1]:8787', 'parley.localhost'],
] as const)('agents of a gateway at %s have addresses at %s', ([url, domain]) => {
  expect(loadConfig({ PARLEY_PUBLIC_URL: url }, {}, channels)).toMatchObject({ publicUrl: url, domain })
})

test('reports every problem in one go', () => {
  const text = problemsOf({ PARLEY_PORT: 'eighty', DATABASE_URL: 'mysql://x', SLACK_BOT_TOKEN: 'xoxb-1234' })
  expect(text).toContain('PARLEY_PORT')
  expect(text).toContain('DATABASE_URL: must be an address of PostgreSQL, postgres://')
  expect(text).toContain('SLACK_SIGNING_SECRET is missing')
  expect(text).toContain('3 problem(s)')
})

test('an incomplete channel stops the start; a complete one is on', () => {
  expect(problemsOf({ TELEGRAM_WEBHOOK_SECRET: webhookSecret })).toContain('TELEGRAM_BOT_TOKEN is missing')
  const config = loadConfig({ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: webhookSecret }, {}, channels)
  expect(config.connections.map((each) => each.id)).toEqual(['demo', 'default', 'default', 'default'])
  const quiet = loadConfig({ A2A_CHANNEL: 'off', EMAIL_CHANNEL: 'off' }, {}, channels)
  expect(quiet.connections.map((each) => each.id)).toEqual(['demo'])
})

test.for([
  [{ TELEGRAM_BOT_TOKEN: botToken }, 'polling'],
  [{ TELEGRAM_BOT_TOKEN: botToken, PARLEY_PUBLIC_URL: 'https://bots.example.org' }, 'polling'],
  [{ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: webhookSecret }, 'webhook'],
  [{ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: webhookSecret, TELEGRAM_MODE: 'polling' }, 'polling'],
] as const)('a bot token alone means polling, a secret means a webhook: %j', ([env, mode]) => {
  const found = loadConfig(env, {}, channels).connections.find(({ channel }) => channel.channel === 'telegram')
  expect(found?.channel.settingsSchema.parse(found.settings)).toMatchObject({ mode })
})

test('a webhook that is asked for needs its secret', () => {
  expect(problemsOf({ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_MODE: 'webhook' })).toContain(
    'TELEGRAM_WEBHOOK_SECRET is missing',
  )
})

test('a short webhook secret is refused rather than accepted weakly', () => {
  expect(problemsOf({ TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: 'short' })).toContain('telegram')
})

test('an empty variable counts as absent', () => {
  expect(problemsOf({ TELEGRAM_BOT_TOKEN: '', PARLEY_PORT: ' ' })).toBe('')
})

test('agents of one name are told by where each comes from', () => {
  const provenance = { sourcePackage: '@acme/agents', sourceVersion: '2.1.0', sourceRef: 'agents/one.md' }
  const packed = defineAgent({ slug: 'one', provenance, run: () => 'x' })
  expect(problemsOf({}, { agents: [agent, packed] })).toContain(
    'two agents are called "one": agents[0] of the configuration and @acme/agents@2.1.0 (agents/one.md); rename one of them',
  )
})

test('two of a kind are refused: agents, connections; and an agent nobody defined', () => {
  const bot = telegram({ botToken, webhookSecret })
  const text = problemsOf({}, { agents: [agent, agent], connections: [bot, bot, { ...bot, id: 'x', agent: 'nobody' }] })
  expect(text).toContain(
    'two agents are called "one": agents[0] and agents[1] of the configuration; rename one of them',
  )
  expect(text).toContain('two connections are called "telegram/default"')
  expect(text).toContain('no agent "nobody"')
})

test('settings of the embedded PostgreSQL are read by name', () => {
  const env = { PARLEY_POSTGRES_OPTIONS: ' shared_buffers=256MB  work_mem=16MB ' }
  expect(loadConfig(env, {}, channels).postgresSettings).toEqual({ shared_buffers: '256MB', work_mem: '16MB' })
  expect(loadConfig({}, {}, channels).postgresSettings).toEqual({})
})

test.each([
  ['shared_buffers', '"shared_buffers" is not name=value'],
  ['--fsync=off', '"--fsync=off" is not name=value'],
  ['fsync=off', 'fsync is set by the gateway; leave it out'],
  ['listen_addresses=*', 'listen_addresses is set by the gateway; leave it out'],
])('PARLEY_POSTGRES_OPTIONS=%s is refused', (options, says) => {
  expect(problemsOf({ PARLEY_POSTGRES_OPTIONS: options })).toContain(says)
})

test('access is read by one schema, whether a connection or an agent says it: a mode alone is enough', () => {
  const at = (access: unknown) => [telegram({ botToken, webhookSecret, access: access as AccessRule })]
  const config = loadConfig(
    {},
    { connections: at({ mode: 'public' }), agents: [{ ...agent, access: { mode: 'closed' } }] },
    channels,
  )
  expect(config.connections.find(({ channel }) => channel.channel === 'telegram')?.access.mode).toBe('public')
  for (const [access, problem] of [
    [{ mode: 'open' }, 'access.mode must be one of public, allow_list, pairing, closed'],
    [{ mode: 'allow_list', allow: 'telegram:42' }, 'access.allow must be a list of subjects'],
    [{ mode: 'public', alow: [] }, 'access has unknown keys: alow; known are mode, allow and rules'],
    ['public', "access must be an object such as { mode: 'public' }"],
    [
      { mode: 'public', rules: [{ effect: 'allow', subject_prefix: 'space:T1' }] },
      'access.rules.0.subject_prefix must end in',
    ],
  ] as const) {
    expect(problemsOf({}, { connections: at(access) })).toContain(`connection "default": ${problem}`)
    expect(problemsOf({}, { agents: [{ ...agent, access: access as AccessRule }] })).toContain(
      `agent "one": ${problem}`,
    )
  }
})

test.each([
  ['conections', 'unknown key "conections"; did you mean connections?'],
  ['Agents', 'unknown key "Agents"; did you mean agents?'],
  ['retain', 'unknown key "retain"; known are agents, attachments, channels, connections'],
])('a key %s that the configuration has not stops the start', (key, problem) => {
  expect(problemsOf({}, { [key]: [] })).toContain(problem)
})

test('a list without agents stops the start, and is not taken for the demo agent', () => {
  expect(problemsOf({}, { agents: [] })).toContain(
    'agents is empty; add an agent, or leave agents out for the demo agent',
  )
})

test.each([
  ['PARLEY_PUBLIC_ULR', 'PARLEY_PUBLIC_ULR is read by nothing; did you mean PARLEY_PUBLIC_URL?'],
  ['PARLEY_ADMINTOKEN', 'did you mean PARLEY_ADMIN_TOKEN?'],
  ['PARLEY_COLOUR', 'PARLEY_COLOUR is read by nothing; known are PARLEY_ADMIN_TOKEN, PARLEY_CORS_ORIGINS'],
])('a variable %s that nothing reads stops the start', (name, problem) => {
  expect(problemsOf({ [name]: 'canary' })).toContain(problem)
  expect(problemsOf({ [name]: 'canary' })).not.toContain('canary')
})

test('a variable that begins like those of a channel is a warning: it may be meant for another program', () => {
  const others = { SLACK_TOKEN: 'canary', TELEGRAM_BOT_TOKE: 'canary', HOME: '/', SLACKER: 'x', TELEGRAM_EMPTY: '' }
  expect(loadConfig(others, {}, channels).warnings).toEqual([
    expect.stringContaining('SLACK_TOKEN is read by nothing; '),
    'TELEGRAM_BOT_TOKE is read by nothing; did you mean TELEGRAM_BOT_TOKEN?',
  ])
})

test('what an orchestrator sets beside a service called parley, and our own launcher, is nothing unknown', () => {
  const set = { PARLEY_SERVICE_HOST: '10.0.0.1', PARLEY_PORT_8787_TCP_ADDR: '10.0.0.1', PARLEY_RELAUNCHED: '1' }
  expect(problemsOf(set)).toBe('')
})

test('receipts may not be forgotten before redeliveries end', () => {
  expect(problemsOf({}, { retention: { receiptDays: 10 } })).toContain('receiptDays')
})

test('no secret shows in a problem, in text or in JSON', () => {
  const env = { TELEGRAM_BOT_TOKEN: botToken, TELEGRAM_WEBHOOK_SECRET: `${webhookSecret} !`, PARLEY_PORT: 'x' }
  expect(problemsOf(env)).not.toContain('canary')
  const config = loadConfig(
    {
      TELEGRAM_BOT_TOKEN: botToken,
      TELEGRAM_WEBHOOK_SECRET: webhookSecret,
      PARLEY_ADMIN_TOKEN: 'canary-canary-canary',
    },
    {},
    channels,
  )
  expect(JSON.stringify(config)).not.toContain('canary')
})

test('a log level or an access to metrics that does not exist is refused', () => {
  const text = problemsOf({ PARLEY_LOG_LEVEL: 'loud', PARLEY_METRICS: 'everybody' })
  expect(text).toContain('PARLEY_LOG_LEVEL: must be one of trace, debug, info, warn, error, silent')
  expect(text).toContain('PARLEY_METRICS: must be local, public or off')
  expect(loadConfig({}, {}, channels)).toMatchObject({ logLevel: 'info', metrics: 'local' })
})

describe('a model from the environment', () => {
  const slugs = (env: Record<string, string>) => loadConfig(env, {}, []).agents.map((agent) => agent.slug)

  test('takes the place of the demo agent', () => {
    expect(slugs({})).toEqual(['demo'])
    expect(slugs({ PARLEY_MODEL_URL: 'http://127.0.0.1:1/v1', PARLEY_MODEL: 'small' })).toEqual(['assistant'])
  })

  test.each([
    [{ PARLEY_MODEL: 'small' }, 'PARLEY_MODEL_URL is missing'],
    [{ PARLEY_MODEL_URL: 'http://127.0.0.1:1/v1' }, 'PARLEY_MODEL is missing'],
    [{ PARLEY_MODEL_URL: 'not an address', PARLEY_MODEL: 'small' }, 'PARLEY_MODEL_URL'],
  ])('%j is refused with what is wrong', (env, says) => {
    expect(() => slugs(env)).toThrow(says)
  })
})

test.each([
  [{}, undefined, 'default'],
  [{ PARLEY_TENANT: 'acme' }, undefined, 'acme'],
  [{ PARLEY_TENANT: 'acme' }, 'acme', 'acme'],
  [{}, 'globex', 'globex'],
])('the tenant of %j and %j is %s', (env: Record<string, string>, tenant, expected) => {
  expect(loadConfig(env, tenant === undefined ? {} : { tenant }, channels).tenant).toBe(expected)
})

test('a tenant that is no plain name, or two of them, stops the start', () => {
  for (const tenant of ['Acme', 'a/b', '-a', 'ü', 'a'.repeat(64)])
    expect(problemsOf({}, { tenant })).toContain('tenant')
  expect(problemsOf({ PARLEY_TENANT: 'acme' }, { tenant: 'globex' })).toContain('name two tenants')
})

test('trusted issuers are read at the start, with every problem, and need somebody who checks signatures', () => {
  const entry = {
    issuer: 'connector.example',
    methods: ['urn:m'],
    assurance: ['platform'],
    subject_prefixes: ['s:T1/'],
  }
  const ports = { attestations: { verify: async () => undefined } }
  expect(problemsOf({}, { trustedIssuers: [entry] })).toContain('ports.attestations')
  const wide = [
    { ...entry, subject_prefixes: ['s:T1'] },
    { ...entry, issuer: '*' },
  ]
  const text = problemsOf({}, { trustedIssuers: wide, ports })
  expect(text).toContain('trustedIssuers.0.subject_prefixes.0')
  expect(text).toContain('trustedIssuers.1.issuer')
  expect(loadConfig({}, { trustedIssuers: [entry], ports }, channels).trustedIssuers.get('connector.example')).toEqual([
    entry,
  ])
})

describe('where files are kept', () => {
  const s3Variables = {
    PARLEY_S3_ENDPOINT: 'http://127.0.0.1:9000',
    PARLEY_S3_BUCKET: 'files',
    PARLEY_S3_ACCESS_KEY_ID: 'key-id',
    PARLEY_S3_SECRET_ACCESS_KEY: 'canary-secret-key',
  }
  const storeOf = (env: Record<string, string>) => loadConfig(env, {}, channels).attachments.store

  test('is left to the runtime, with the limits of the design', () => {
    const limits = {
      maxBytes: 25 * 1024 * 1024,
      uploadsInFlight: 8,
      handleSeconds: 300,
      orphanHours: 24,
      handles: 'own',
    }
    expect(loadConfig({}, {}, channels).attachments).toEqual({ ...limits, store: undefined })
  })

  test('is S3 or Supabase when their variables are set, with the secret hidden', () => {
    expect(storeOf(s3Variables)).toMatchObject({ kind: 's3', region: 'us-east-1', bucket: 'files' })
    expect(JSON.stringify(storeOf(s3Variables))).not.toContain('canary')
    const place = { SUPABASE_URL: 'https://x.supabase.co', SUPABASE_SERVICE_KEY: 'canary', SUPABASE_BUCKET: 'files' }
    expect(storeOf(place)).toMatchObject({ kind: 'supabase', url: 'https://x.supabase.co', bucket: 'files' })
    expect(problemsOf({ ...s3Variables, ...place })).toContain('name two stores')
  })

  test.each(Object.keys(s3Variables))('is incomplete without %s, and the start says so', (name) => {
    const { [name]: _, ...rest } = s3Variables as Record<string, string>
    expect(problemsOf(rest)).toContain(`${name} is missing`)
    expect(problemsOf(rest)).toContain('1 problem(s)')
  })

  test('is what the file says, before the environment', () => {
    const options = { url: 'https://y.supabase.co', serviceKey: 'canary', bucket: 'other' }
    const file = { attachments: { store: supabase(options), maxBytes: 1000 } }
    expect(loadConfig(s3Variables, file, channels).attachments).toMatchObject({
      store: { kind: 'supabase', bucket: 'other' },
      maxBytes: 1000,
    })
  })

  test.each([
    [{ PARLEY_S3_ENDPOINT: 'nowhere' }, 'PARLEY_S3_ENDPOINT:'],
    [{ PARLEY_S3_BUCKET: '../x' }, 'PARLEY_S3_BUCKET: must be the name of a bucket'],
  ])('is refused where %j makes no sense', (changes, says) => {
    expect(problemsOf({ ...s3Variables, ...changes })).toContain(says)
  })

  test('is refused with limits that make no sense, and with a store that is none', () => {
    expect(problemsOf({}, { attachments: { maxBytes: 0 } })).toContain('attachments.maxBytes')
    expect(problemsOf({}, { attachments: { handleSeconds: 3600 } })).toContain('attachments.handleSeconds')
    const none = { attachments: { store: { kind: 'ftp' } } } as unknown as Parameters<typeof loadConfig>[1]
    expect(problemsOf({}, none)).toContain('must be s3({…}), supabase({…})')
    expect(() => s3({ endpoint: 'x', bucket: 'files', accessKeyId: 'a', secretAccessKey: 'canary' })).toThrow(
      'endpoint',
    )
  })
})

describe('channels that the configuration adds', () => {
  const settings = { secret: 'canary-secret-canary-secret', vendorUrl: 'http://127.0.0.1:9' }
  const connection = { channel: 'loopback-client-id', id: 'own', settings }
  const named = (channel: string): ChannelDefinition => ({ ...loopbackClientId, channel })

  test('have connections from the file and from their variables, like the built-in ones', () => {
    const added = { channels: [loopbackClientId] }
    const env = { A2A_CHANNEL: 'off', EMAIL_CHANNEL: 'off' }
    const written = loadConfig(env, { ...added, connections: [connection] }, channels)
    expect(written.connections.map((each) => `${each.channel.channel}/${each.id}`)).toContain('loopback-client-id/own')
    const variables = { ...env, LOOPBACK_SECRET: settings.secret, LOOPBACK_VENDOR_URL: settings.vendorUrl }
    const read = loadConfig(variables, added, channels)
    expect(read.connections.map(({ id }) => id)).toContain('loopback-client-id')
    expect(problemsOf({ LOOPBACK_SECRET: settings.secret }, added)).toContain('LOOPBACK_VENDOR_URL is missing')
  })

  test.for<[string, readonly unknown[], string]>([
    [
      'a built-in name',
      [named('slack')],
      'channels[0]: "slack" is a built-in channel; give the added one another name',
    ],
    ['one name twice', [named('pigeon'), named('pigeon')], 'channels[1]: another channel is called "pigeon" too'],
    ['a name that no URL can carry', [named('Carrier Pigeon')], 'must be small letters, digits and hyphens'],
    ['what is no channel', [{ name: 'pigeon' }], 'channels[0] is no channel'],
  ])('refuse the start for %s', ([, given, problem]) => {
    expect(problemsOf({}, { channels: given as readonly ChannelDefinition[] })).toContain(problem)
  })

  test('are asked for where a connection names a channel that is not there', () => {
    expect(problemsOf({}, { connections: [connection] })).toContain('add its definition to channels, or name one of')
  })
})
