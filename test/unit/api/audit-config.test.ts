// Weak settings by id: each is found where it is and not where it is not, and docs/audit.md tells of all of them.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../../src/agents/tools/define-tool.ts'
import { auditConfig } from '../../../src/api/audit-config/audit-config.ts'
import { type ConfigFacts, type ConnectionFacts, readConfigFacts } from '../../../src/api/audit-config/facts.ts'
import { type FindingId, findingIds } from '../../../src/api/audit-config/finding.ts'
import { loadConfig } from '../../../src/config.ts'
import type { AccessRule } from '../../../src/contract/index.ts'
import { defaultRetention } from '../../../src/db/retention.ts'
import type { TokenLine } from '../../../src/db/tokens.ts'
import { loopbackChannels } from '../../doubles/test-gateway.ts'

const now = Date.parse('2026-06-01T00:00:00Z')
const goodSecret = { name: 'secret', length: 64, differentCharacters: 16 }

/** Nothing in it is weak. */
const sound: ConfigFacts = {
  ...{ now, host: '127.0.0.1', publicUrl: 'https://gateway.example', metrics: 'local' },
  publicUrlFound: { state: 'reached', forwardedBy: ['x-forwarded-for'], host: 'passed_on' },
  ...{ database: 'postgres', databaseServer: { host: 'db.example', sslMode: 'verify-full' } },
  ...{ retention: defaultRetention, trustedIssuers: [], tokenIssuers: [], adminToken: goodSecret, hasFirstToken: true },
  ...{ dataDirMode: 0o40700, tokens: [], agents: [] },
  connections: [
    {
      ...{
        key: 'space/main',
        agent: 'demo',
        isShared: false,
        mentionHumans: 'participants',
        webhookSecrets: [goodSecret],
        isAnonymous: false,
        takesGuests: false,
        trustsLoopback: false,
        talksPlainly: false,
      },
      access: listed(),
    },
  ],
}

function listed(changes: Partial<AccessRule> = {}): AccessRule {
  return { mode: 'allow_list', allow: ['space:T1/U1'], ...changes }
}

const at = (changes: Partial<ConnectionFacts>): Partial<ConfigFacts> => ({
  connections: sound.connections.map((each) => ({ ...each, ...changes })),
})
const ruled = (rule: NonNullable<AccessRule['rules']>[number], mode: AccessRule['mode'] = 'allow_list') =>
  at({ access: listed({ mode, rules: [rule] }) })
const agent = {
  ...{ slug: 'demo', access: undefined, writingTools: ['bank/pay'], mcpServers: ['files'] },
  unaskedTools: [] as readonly string[],
}
const open = { mode: 'public', allow: [] } as const
const issuer = { issuer: 'other.example', methods: [], assurance: [], subject_prefixes: [], max_ttl_seconds: 60 }
const tokenIssuer = {
  ...{ issuer: 'https://login.example', anyScopes: [], maxLifetimeSeconds: 3600 },
  ...{ sharedAudiences: [], urls: ['https://login.example'] },
}
const token: TokenLine = {
  ...{ id: '1', prefix: 'parley_00000001', label: 'backup job', scopes: ['admin'], principal: null, state: 'active' },
  ...{ agent: null, workspace: { workspace_type: 'tenant', workspace_id: 'default' }, allowedCapabilities: null },
  ...{ clientId: null, createdBy: null, createdAt: '2026-05-01T00:00:00Z', lastUsedAt: '2026-05-31T00:00:00Z' },
  ...{ expiresAt: '2026-07-01T00:00:00Z', revokedAt: null },
}

type Weak = { readonly weak: Partial<ConfigFacts>; readonly fine: Partial<ConfigFacts> }

const cases: Readonly<Record<FindingId, readonly Weak[]>> = {
  'AC-001': [
    { weak: at({ access: open }), fine: at({ access: { mode: 'pairing', allow: [] } }) },
    {
      weak: at({ access: open, webhookSecrets: [], isAnonymous: true }),
      fine: at({ access: { mode: 'closed', allow: [] }, webhookSecrets: [], isAnonymous: true }),
    },
  ],
  'AC-002': [{ weak: at({ access: listed({ allow: [] }) }), fine: ruled({ effect: 'allow', subject: 'space:T1/U2' }) }],
  'AC-003': [
    {
      weak: { ...at({ access: { mode: 'pairing', allow: [] } }), hasFirstToken: false },
      fine: { ...at({ access: { mode: 'pairing', allow: [] } }), hasFirstToken: false, tokens: [token] },
    },
  ],
  'AC-004': [
    {
      weak: ruled({ effect: 'allow', subject_prefix: 'space:', min_assurance: 'platform' }),
      fine: ruled({ effect: 'allow', subject_prefix: 'space:T1/', min_assurance: 'platform' }),
    },
    {
      weak: {
        agents: [{ ...agent, access: listed({ rules: [{ effect: 'allow', subject_prefix: 'space:' }] }) }],
      },
      fine: { agents: [{ ...agent, access: listed() }] },
    },
  ],
  'AC-005': [
    {
      weak: ruled({ effect: 'allow', issuer: 'other.example' }),
      fine: ruled({ effect: 'allow', issuer: 'other.example', min_assurance: 'address' }),
    },
    {
      weak: ruled({ effect: 'allow', subject: 'space:T1/U1', min_assurance: 'domain' }),
      fine: ruled({ effect: 'allow', subject: 'space:T1/U1' }),
    },
  ],
  'AC-006': [
    {
      weak: ruled({ effect: 'deny', subject: 'space:T1/U9' }, 'closed'),
      fine: ruled({ effect: 'deny', subject: 'space:T1/U9' }),
    },
    {
      weak: ruled({ effect: 'deny', subject_prefix: 'T1/' }),
      fine: ruled({ effect: 'deny', subject_prefix: 'space:T1/' }),
    },
  ],
  'AC-007': [{ weak: at({ mentionHumans: 'anyone' }), fine: at({ mentionHumans: 'nobody' }) }],
  'AC-008': [
    {
      weak: { ...at({ access: open }), agents: [agent] },
      fine: { ...at({ access: open }), agents: [{ ...agent, access: listed() }] },
    },
    { weak: { ...at({ access: open }), agents: [agent] }, fine: { agents: [agent] } },
    {
      weak: { ...at({ access: open, agent: 'other', isShared: true }), agents: [agent] },
      fine: { ...at({ access: open, agent: 'other' }), agents: [agent] },
    },
  ],
  'AC-009': [
    {
      weak: { ...at({ access: open }), agents: [agent] },
      fine: { ...at({ access: open }), agents: [{ ...agent, mcpServers: [] }] },
    },
  ],
  'AC-010': [
    {
      weak: { trustedIssuers: [{ ...issuer, max_ttl_seconds: undefined }] },
      fine: { trustedIssuers: [issuer] },
    },
  ],
  'AC-011': [
    { weak: { trustedIssuers: [{ ...issuer, allow_on_behalf_of: true }] }, fine: { trustedIssuers: [issuer] } },
  ],
  'AC-012': [
    { weak: { tokenIssuers: [{ ...tokenIssuer, anyScopes: ['run'] }] }, fine: { tokenIssuers: [tokenIssuer] } },
  ],
  'AC-013': [
    {
      weak: { tokenIssuers: [{ ...tokenIssuer, maxLifetimeSeconds: 7200 }] },
      fine: { tokenIssuers: [{ ...tokenIssuer, maxLifetimeSeconds: undefined }] },
    },
  ],
  'AC-014': [
    {
      weak: {
        agents: [agent, agent],
        tokenIssuers: [{ ...tokenIssuer, sharedAudiences: ['https://gateway.example'] }],
      },
      fine: { agents: [agent], tokenIssuers: [{ ...tokenIssuer, sharedAudiences: ['https://gateway.example'] }] },
    },
  ],
  'AC-015': [
    {
      weak: { tokenIssuers: [{ ...tokenIssuer, urls: ['http://127.0.0.1:9000/keys'] }] },
      fine: { publicUrl: undefined, tokenIssuers: [{ ...tokenIssuer, urls: ['http://127.0.0.1:9000/keys'] }] },
    },
  ],
  'AC-016': [{ weak: { agents: [{ ...agent, unaskedTools: ['bank/pay'] }] }, fine: { agents: [agent] } }],
  'AC-101': [
    { weak: { host: '0.0.0.0', publicUrl: undefined }, fine: { host: '0.0.0.0' } },
    { weak: { host: '::', publicUrl: 'http://gateway.example' }, fine: { host: '::1', publicUrl: 'http://x.example' } },
  ],
  'AC-102': [{ weak: { metrics: 'public' }, fine: { metrics: 'off' } }],
  'AC-103': [{ weak: { publicUrl: undefined }, fine: { publicUrl: undefined, ...at({ webhookSecrets: [] }) } }],
  'AC-104': [
    { weak: at({ webhookSecrets: [{ ...goodSecret, length: 16 }] }), fine: at({ webhookSecrets: [goodSecret] }) },
    { weak: at({ webhookSecrets: [{ ...goodSecret, differentCharacters: 2 }] }), fine: {} },
  ],
  'AC-105': [
    { weak: { adminToken: { ...goodSecret, length: 16 } }, fine: { adminToken: undefined } },
    { weak: { adminToken: { ...goodSecret, differentCharacters: 1 } }, fine: {} },
  ],
  'AC-106': [
    {
      weak: { publicUrl: undefined, ...at({ takesGuests: true, access: open }) },
      fine: at({ takesGuests: true, access: open }),
    },
    {
      weak: { publicUrl: undefined, ...at({ takesGuests: true, access: open }) },
      fine: { publicUrl: undefined, ...at({ takesGuests: true, access: open, webhookSecrets: [] }) },
    },
  ],
  'AC-107': [
    { weak: { publicUrlFound: { state: 'looks_local', remedy: 'do' } }, fine: { publicUrlFound: undefined } },
    { weak: { publicUrlFound: { state: 'other_server', remedy: 'do' } }, fine: {} },
    { weak: { publicUrlFound: { state: 'unreachable', remedy: 'do' } }, fine: {} },
  ],
  'AC-108': [{ weak: at({ trustsLoopback: true }), fine: { publicUrl: undefined, ...at({ trustsLoopback: true }) } }],
  'AC-110': [{ weak: at({ talksPlainly: true }), fine: { publicUrl: undefined, ...at({ talksPlainly: true }) } }],
  'AC-201': [
    {
      weak: { tokens: [{ ...token, expiresAt: null }] },
      fine: { tokens: [{ ...token, expiresAt: null, state: 'revoked' }] },
    },
  ],
  'AC-202': [
    { weak: { tokens: [{ ...token, lastUsedAt: '2026-01-01T00:00:00Z' }] }, fine: { tokens: [token] } },
    {
      weak: { tokens: [{ ...token, createdAt: '2026-01-01T00:00:00Z', lastUsedAt: null }] },
      fine: { tokens: [{ ...token, lastUsedAt: null }] },
    },
  ],
  'AC-203': [
    { weak: { tokens: [{ ...token, label: 'test 1' }] }, fine: { tokens: [{ ...token, label: 'test runner of ci' }] } },
  ],
  'AC-301': [
    {
      weak: { databaseServer: { host: 'db.example', sslMode: 'prefer' } },
      fine: { databaseServer: { host: 'db.example', sslMode: 'require' } },
    },
    {
      weak: { databaseServer: { host: '10.0.0.5', sslMode: undefined } },
      fine: { databaseServer: { host: '/var/run/postgresql', sslMode: undefined } },
    },
  ],
  'AC-303': [
    {
      weak: { retention: { ...defaultRetention, contentDays: 365 } },
      fine: { retention: { ...defaultRetention, contentDays: 30 } },
    },
    { weak: { retention: { ...defaultRetention, auditDays: 4000 } }, fine: {} },
  ],
  'AC-304': [
    { weak: { dataDirMode: 0o40755 }, fine: { dataDirMode: 0o40700 } },
    { weak: { dataDirMode: 0o40750 }, fine: { dataDirMode: 0o40710 } },
    { weak: { dataDirMode: 0o40701 }, fine: { dataDirMode: undefined } },
  ],
}

describe('the check of the configuration', () => {
  const ids = (changes: Partial<ConfigFacts>) => auditConfig({ ...sound, ...changes }).map(({ id }) => id)

  test('finds nothing where nothing is weak', () => {
    expect(auditConfig(sound)).toEqual([])
  })

  const all = Object.entries(cases).flatMap(([id, weak]) => weak.map((each, index) => ({ id, index, ...each })))
  test.each(all)('finds $id where it is, and not where it is not ($index)', ({ id, weak, fine }) => {
    expect(ids(weak)).toContain(id)
    expect(ids(fine)).not.toContain(id)
  })

  test('knows strangers from callers on this machine or with a token', () => {
    const severities = (webhookSecrets: ConnectionFacts['webhookSecrets']) =>
      auditConfig({ ...sound, ...at({ access: open, webhookSecrets }), agents: [agent] }).map(
        ({ id, severity }) => `${id} ${severity}`,
      )
    expect(severities([goodSecret])).toEqual(['AC-008 critical', 'AC-001 warning', 'AC-009 warning'])
    expect(severities([])).toEqual(['AC-001 info', 'AC-008 info', 'AC-009 info'])
  })

  test('tells the worst first, each with what to do', () => {
    const found = auditConfig({ ...sound, metrics: 'public', host: '0.0.0.0', publicUrl: undefined })
    expect(found.map(({ severity }) => severity)).toEqual(['critical', 'warning', 'info'])
    for (const { where, weak, remedy } of found)
      expect([where, weak, remedy].every((text) => text.length > 3)).toBe(true)
  })

  test('has every id in the document, with its meaning, and no other', () => {
    const text = readFileSync(new URL('../../../docs/audit.md', import.meta.url), 'utf8')
    const rows = [...text.matchAll(/^\| `(AC-\d{3})` +\| (.*?) +\| /gm)].map(([, id, meaning]) => [id, meaning])
    expect(Object.fromEntries(rows)).toEqual(findingIds)
  })
})

describe('the facts of a configuration', () => {
  const canary = 'canary-secret-canary-secret-canary'
  const pay = defineTool({
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    write: true,
    execute: () => ({}),
  })
  const ask = defineTool({
    name: 'bank/ask',
    description: 'Asks first.',
    parameters: z.object({ amount: z.number() }),
    write: true,
    action_policy: 'preview',
    execute: () => ({}),
  })
  const model = openAiCompatible({ baseUrl: 'http://127.0.0.1:9', model: 'none' })
  const facts = readConfigFacts(
    loadConfig(
      { PARLEY_ADMIN_TOKEN: canary, DATABASE_URL: `postgres://user:${canary}@db.example/parley?sslmode=require` },
      {
        agents: [defineAgent({ slug: 'demo', instructions: 'x', model, tools: [pay, ask] })],
        connections: [
          {
            ...{ channel: 'loopback-none', id: 'loop', access: open, mentionHumans: 'anyone' as const },
            settings: { secret: canary, vendorUrl: 'http://127.0.0.1:9' },
          },
        ],
      },
      loopbackChannels,
    ),
    { now, tokens: undefined, dataDirMode: undefined, hasFirstToken: true, publicUrlFound: undefined },
  )

  test('are what is in effect, down to the tools that write without asking', () => {
    expect(facts).toMatchObject({
      databaseServer: { host: 'db.example', sslMode: 'require' },
      connections: [
        { key: 'loopback-none/loop', mentionHumans: 'anyone', webhookSecrets: [{ name: 'secret', length: 34 }] },
      ],
      agents: [{ slug: 'demo', writingTools: ['bank/pay'] }],
    })
    expect(auditConfig(facts).map(({ id }) => id)).toEqual(expect.arrayContaining(['AC-001', 'AC-007', 'AC-008']))
  })

  test('hold no secret, and neither do the findings', () => {
    expect(JSON.stringify([facts, auditConfig(facts)])).not.toContain('canary')
  })
})
