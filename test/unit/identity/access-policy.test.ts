// Hop 6: policy reads evidence, the rules and stored grants, and nothing else.
import { describe, expect, test } from 'vitest'
import { noStoredAccess, type StoredGrant } from '../../../src/contract/access.ts'
import type { AccessRule, Sender } from '../../../src/contract/index.ts'
import { type AccessContext, createAccessPolicy, strongestRole } from '../../../src/identity/access-policy.ts'
import { accessScene } from '../../doubles/access-context.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

const policy = createAccessPolicy()
const { sender } = aMessage()
const { identities: _identities, ...bare } = sender
const unproven: Sender = { ...bare, auth_method: 'none', verified: false }
const open: AccessRule = { mode: 'public', allow: [] }
const allowing = (...allow: string[]): AccessRule => ({ mode: 'allow_list', allow })
const decide = (from: Sender, changes: Partial<AccessContext>) => policy.decide(from, accessScene(changes))

test.each([
  ['public admits whoever has evidence', sender, open, 'admitted public'],
  ['public refuses whoever has none', unproven, open, 'refused no_evidence'],
  ['an allow list admits its subjects', sender, allowing('test:alice'), 'admitted allow_list'],
  ['an allow list refuses everybody else', sender, allowing('test:bob'), 'refused not_on_allow_list'],
  ['pairing keeps whoever is not known waiting', sender, { mode: 'pairing', allow: [] }, 'unpaired pairing'],
  ['pairing admits whoever is listed', sender, { mode: 'pairing', allow: ['test:alice'] }, 'admitted allow_list'],
  ['closed admits nobody', sender, { mode: 'closed', allow: ['test:alice'] }, 'refused connection_closed'],
] as const)('%s', async (_claim, from, rule, expected) => {
  const decision = await decide(from, { rule })
  expect(`${decision.kind} ${decision.kind === 'refused' ? decision.reason : decision.rule}`).toBe(expected)
})

test('NM-15 a profile that names an allowed subject opens nothing', async () => {
  const profile = { provider_subject: 'test:alice', username: 'test:alice' }
  const spoof: Sender = { ...unproven, profile, display_name: 'test:alice' }
  expect(await decide(spoof, { rule: allowing('test:alice') })).toMatchObject({
    kind: 'refused',
    reason: 'no_evidence',
  })
})

test('evidence that came over a wire is not ours and admits nobody', async () => {
  const [first] = sender.identities ?? []
  if (first === undefined) throw new Error('no evidence')
  const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', value: 'v' } as const
  expect(await decide({ ...sender, identities: [{ ...first, proof }] }, { rule: open })).toMatchObject({
    kind: 'refused',
  })
})

describe('evidence holds for one agent and one moment', () => {
  test.each([
    ['for another agent', { recipient: '@other@parley.localhost' }, 'EV_AUDIENCE'],
    ['of tomorrow', { receivedAt: '2026-11-15T12:00:00.000Z' }, 'EV_NOT_YET_VALID'],
  ])('%s it admits nobody, and says why', async (_what, changes, reason) => {
    expect(await decide(sender, { rule: open, ...changes })).toMatchObject({ kind: 'refused', reason })
  })

  test('what had expired when it came admits nobody', async () => {
    const [first] = sender.identities ?? []
    if (first === undefined) throw new Error('no evidence')
    const expired = { ...sender, identities: [{ ...first, expires_at: '2026-11-16T12:05:00.000Z' }] } as Sender
    const late = { rule: open, receivedAt: '2026-11-16T12:10:00.000Z' }
    expect(await decide(expired, late)).toMatchObject({ kind: 'refused', reason: 'EV_EXPIRED' })
  })
})

describe('stored grants', () => {
  const grant = (changes: Partial<StoredGrant> = {}): StoredGrant => ({
    id: 'g1',
    subject: 'test:alice',
    effect: 'allow',
    role: null,
    connection: null,
    agent: null,
    workspaceId: null,
    ...changes,
  })
  const stored = (...grants: StoredGrant[]) => ({ ...noStoredAccess, grants })

  test.each([
    ['lets in whom it names', grant(), 'admitted grant g1'],
    ['lets nobody in on another connection', grant({ connection: 'test/other' }), 'refused not_on_allow_list'],
    ['lets nobody in with another agent', grant({ agent: 'other' }), 'refused not_on_allow_list'],
    ['of a viewer lets nobody speak', grant({ role: 'viewer' }), 'refused not_on_allow_list'],
    ['of an operator lets speak', grant({ role: 'operator', agent: 'demo' }), 'admitted grant g1'],
    ['for somebody else lets nobody in', grant({ subject: 'test:alic' }), 'refused not_on_allow_list'],
  ])('a grant %s', async (_claim, given, expected) => {
    const decision = await decide(sender, { stored: stored(given) })
    expect(`${decision.kind} ${decision.kind === 'refused' ? decision.reason : decision.rule}`).toBe(expected)
  })

  test('a block wins over everything, also where everybody is let in', async () => {
    const both = stored(grant(), grant({ id: 'g2', effect: 'deny' }))
    expect(await decide(sender, { rule: open, stored: both })).toMatchObject({ reason: 'blocked', rule: 'grant g2' })
    expect(await decide(sender, { rule: allowing('test:alice'), stored: both })).toMatchObject({ reason: 'blocked' })
  })

  test('what counts for a person counts under every subject linked to them', async () => {
    const links = [{ subject: 'test:alice', principal: 'mail:alice@example.org' }]
    const deny = grant({ subject: 'mail:alice@example.org', effect: 'deny' })
    const allow = grant({ subject: 'mail:alice@example.org' })
    expect(await decide(sender, { stored: { ...stored(allow), links } })).toMatchObject({ kind: 'admitted' })
    expect(await decide(sender, { rule: open, stored: { ...stored(deny), links } })).toMatchObject({
      reason: 'blocked',
    })
  })
})

describe('rules of a connection', () => {
  test('a denial wins over an open door', async () => {
    const rule: AccessRule = { ...open, rules: [{ effect: 'deny', id: 'no-tests', subject_prefix: 'test:' }] }
    expect(await decide(sender, { rule })).toMatchObject({ reason: 'denied_by_rule', rule: 'no-tests' })
  })

  test('a rule may ask for a strength of proof', async () => {
    const asking = (min_assurance: 'platform' | 'wallet'): AccessRule => ({
      mode: 'allow_list',
      allow: [],
      rules: [{ effect: 'allow', id: 'tests', subject_prefix: 'test:', min_assurance }],
    })
    expect(await decide(sender, { rule: asking('platform') })).toMatchObject({ kind: 'admitted', rule: 'tests' })
    expect(await decide(sender, { rule: asking('wallet') })).toMatchObject({ reason: 'not_on_allow_list' })
  })
})

describe("an agent's own rule", () => {
  test.each([
    [{ mode: 'closed', allow: [] }, 'refused agent_closed'],
    [{ mode: 'allow_list', allow: ['test:bob'] }, 'refused not_on_allow_list'],
    [{ mode: 'pairing', allow: [] }, 'unpaired pairing'],
    [{ mode: 'public', allow: [] }, 'admitted public'],
  ] as const)('%j only narrows', async (own, expected) => {
    const decision = await decide(sender, { rule: open, own })
    expect(`${decision.kind} ${decision.kind === 'refused' ? decision.reason : decision.rule}`).toBe(expected)
  })

  test('opens nothing that the connection keeps shut', async () => {
    expect(await decide(sender, { rule: allowing('test:bob'), own: open })).toMatchObject({ kind: 'refused' })
  })
})

describe('a role', () => {
  const [own] = sender.identities ?? []
  if (own === undefined) throw new Error('no evidence')
  const admin: StoredGrant = {
    id: 'g1',
    subject: 'test:root',
    effect: 'allow',
    role: 'admin',
    connection: null,
    agent: null,
    workspaceId: null,
  }
  const scene = accessScene({ rule: open, stored: { ...noStoredAccess, grants: [admin] } })
  const roleOf = (...others: NonNullable<Sender['identities']>) =>
    strongestRole({ ...sender, identities: [own, ...others] }, scene)
  const root = { ...own, subject: 'test:root' }

  test('comes with evidence that holds', () => {
    expect(roleOf(root)).toBe('admin')
  })

  test.each([
    ['was not verified', { proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', value: 'v' } }],
    ['is of a kind nobody can check', { proof: { type: 'wallet-signature' } }],
    ['had expired', { issued_at: '2026-11-16T10:00:00.000Z', expires_at: '2026-11-16T11:00:00.000Z' }],
    ['is for another agent', { audience: '@other@parley.localhost' }],
    ['acts for somebody else', { proof: { type: 'bearer-token', verified_by: 'p' }, on_behalf_of: ['test:eve'] }],
  ])('does not come with evidence that %s', (_what, changes) => {
    expect(roleOf({ ...root, ...changes } as typeof root)).toBeNull()
  })
})

test('of a closed connection it is known who was turned away', async () => {
  const closed = { rule: { mode: 'closed', allow: [] } } as const
  expect(await decide(sender, closed)).toMatchObject({ evidence: { subject: 'test:alice' } })
  expect(await decide(unproven, closed)).toEqual({ kind: 'refused', reason: 'connection_closed', rule: 'closed' })
})
