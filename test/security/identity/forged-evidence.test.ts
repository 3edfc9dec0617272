// Attacks on evidence: each is refused with its code, and none of them costs the message or a look-up.
import { describe, expect, test } from 'vitest'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { createAccessPolicy, createEvidenceAccess, readEvidenceRules } from '../../../src/identity/access-policy.ts'
import { findIdentityEvidence } from '../../../src/identity/evidence.ts'
import { readTrustedIssuers, verifyForwardedEvidence } from '../../../src/identity/trust.ts'
import { accessScene } from '../../doubles/access-context.ts'
import { at, audience, carriedEvidence, evidenceNow, ownEvidence, senderWith } from '../../doubles/evidence.ts'

const admin = 'space:T123/UADMIN'
const trusted = readTrustedIssuers([
  {
    issuer: 'connector.example',
    methods: ['urn:test:member:v1'],
    assurance: ['platform'],
    subject_prefixes: ['space:T123/'],
  },
])
const access = createEvidenceAccess(
  readEvidenceRules({
    visibility: 'restricted',
    rules: [
      { effect: 'allow', subject: admin },
      { effect: 'allow', subject_prefix: 'space:T123/', method: 'urn:test:member:v1', min_assurance: 'platform' },
    ],
  }),
)

async function attack(carried: unknown) {
  let lookUps = 0
  const attestations = {
    verify: async () => {
      lookUps += 1
      return 'EV_SIG_INVALID' as const
    },
  }
  const deps = { issuers: () => trusted, attestations, now: () => evidenceNow }
  const { admitted, dropped } = await verifyForwardedEvidence(deps, carried, { audience, messageId: 'm1' })
  return { admitted, codes: dropped.map(({ code }) => code), lookUps }
}

const old = { issued_at: at(-3600), expires_at: at(-3300) }

test.each<[string, Record<string, unknown>, string, number]>([
  ['a signature of somebody else', {}, 'EV_SIG_INVALID', 1],
  ['an expired one', old, 'EV_EXPIRED', 0],
  ['an expired one with a new beginning', { ...old, not_before: at(0) }, 'EV_EXPIRED', 0],
  ['one that is valid tomorrow', { issued_at: at(86_400), expires_at: at(86_700) }, 'EV_NOT_YET_VALID', 0],
  ['one that is valid for a year', { expires_at: at(31_536_000) }, 'EV_TTL', 0],
  ['one that never ends', { expires_at: undefined }, 'EV_TTL', 0],
  ['one for another agent', { audience: '@other@verse8.io' }, 'EV_AUDIENCE', 0],
  ['one for any agent', { audience: '*' }, 'EV_AUDIENCE', 0],
  ['one for an agent that begins alike', { audience: '@agent2@verse8.io' }, 'EV_AUDIENCE', 0],
  ['one of an issuer nobody trusts', { issuer: 'evil.example' }, 'TR_UNTRUSTED_ISSUER', 0],
  ['one of a private address', { issuer: '169.254.169.254' }, 'TR_UNTRUSTED_ISSUER', 0],
  ['one of an issuer that ends alike', { issuer: 'evil-connector.example' }, 'TR_UNTRUSTED_ISSUER', 0],
  ['one of an issuer with a hidden letter', { issuer: 'connector\u200b.example' }, 'EV_MALFORMED', 0],
  ['one of a look-alike issuer', { issuer: 'c\u043ennector.example' }, 'TR_UNTRUSTED_ISSUER', 0],
  ['a workspace that begins alike', { subject: 'space:T1234/U1' }, 'TR_SUBJECT', 0],
  ['a workspace in other letters', { subject: 'space:t123/U1' }, 'TR_SUBJECT', 0],
  ['a workspace reached by a path', { subject: '../space:T123/U1' }, 'TR_SUBJECT', 0],
  ['a subject with a line break', { subject: `space:T123/U1\n${admin}` }, 'EV_MALFORMED', 0],
  ['a subject with a NUL', { subject: `${admin}\u0000` }, 'EV_MALFORMED', 0],
  ['a subject turned around', { subject: 'space:T123/\u202eNIMDAU' }, 'EV_MALFORMED', 0],
  ['a method that is not the connector’s', { method: 'urn:test:admin:v1' }, 'TR_METHOD', 0],
  ['more than it may claim', { assurance: 'wallet' }, 'TR_ASSURANCE', 0],
  ['a proof that cannot travel', { proof: { type: 'transport', verified_by: 'parley' } }, 'EV_PROOF_NOT_PORTABLE', 0],
  [
    'a token it says was checked',
    { proof: { type: 'bearer-token', verified_by: 'parley' } },
    'EV_PROOF_NOT_PORTABLE',
    0,
  ],
  [
    'a proof it says was verified',
    { proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', verified_by: 'parley' } },
    'EV_MALFORMED',
    0,
  ],
  ['a wallet', { proof: { type: 'wallet-signature', value: '0x00' } }, 'EV_PROOF_UNKNOWN', 0],
  ['an inherited proof type', { proof: { type: 'constructor' } }, 'EV_PROOF_UNKNOWN', 0],
  ['a mountain of claims', { claims: { a: 'x'.repeat(10_000) } }, 'EV_LIMIT', 0],
])('%s is dropped', async (_what, change, code, lookUps) => {
  const outcome = await attack([{ ...carriedEvidence({ subject: admin }), ...change }])
  expect(outcome).toEqual({ admitted: [], codes: [code], lookUps })
})

test('a pit of brackets is dropped like anything else', async () => {
  const pit: unknown = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)
  expect(await attack([{ ...carriedEvidence(), claims: { pit } }])).toMatchObject({ codes: ['EV_LIMIT'] })
})

describe('evidence that slipped past its check', () => {
  const slipped: readonly [string, IdentityEvidence][] = [
    ['unverified', carriedEvidence({ subject: admin })],
    ['of an unknown kind', ownEvidence({ subject: admin, proof: { type: 'wallet-signature', value: '0x00' } })],
    ['reduced for history', ownEvidence({ subject: admin, proof: { type: 'reduced' } })],
  ]

  test.each(slipped)('%s opens nothing', async (_what, evidence) => {
    const sender = senderWith(evidence)
    expect(access.decide(sender)).toEqual({ allowed: false, code: 'no_evidence' })
    expect(findIdentityEvidence({ sender }, { method: evidence.method })).toBeUndefined()
    const open = accessScene({ rule: { mode: 'public', allow: [] } })
    expect(await createAccessPolicy().decide(sender, open)).toMatchObject({ kind: 'refused', reason: 'no_evidence' })
  })
})

describe('prefix confusion', () => {
  const outcome = (changes: Partial<IdentityEvidence>) => access.decide(senderWith(ownEvidence(changes))).allowed

  test.each([
    ['space:T123/U1', true],
    ['space:T1234/U1', false],
    ['space:T12/U1', false],
    ['space:T123', false],
    ['space:T123:U1', false],
    ['space:T123#U1', false],
    ['xspace:T123/U1', false],
    ['space:T124/../T123/U1', false],
    ['space:T123%2FU1', false],
    ['SPACE:T123/U1', false],
  ])('%s is a member of T123: %j', (subject, isMember) => {
    expect(outcome({ subject })).toBe(isMember)
  })

  test('a weaker proof does not stand in for the strong one', () => {
    expect(outcome({ subject: 'space:T123/U1', assurance: 'domain' })).toBe(false)
    expect(outcome({ subject: 'space:T123/U1', assurance: 'Platform' })).toBe(false)
  })
})

describe('profile spoofing', () => {
  const fields = ['display_name', 'username', 'url', 'provider', 'provider_subject', 'locale', 'timezone'] as const

  test.each(fields)('the admin’s subject as %s of a profile opens nothing', (field) => {
    const spoof = { ...senderWith(), display_name: admin, address: '@UADMIN@space.gw.example' }
    expect(access.decide({ ...spoof, ...{ profile: { [field]: admin, extensions: { admin } } } })).toEqual({
      allowed: false,
      code: 'no_evidence',
    })
  })

  test('nor beside true evidence of somebody else', () => {
    const mallory = { ...senderWith(ownEvidence({ subject: 'space:T999/U1' })), profile: { provider_subject: admin } }
    expect(access.decide(mallory)).toEqual({ allowed: false, code: 'no_rule' })
  })

  test('claims are no subjects', () => {
    const claims = { subject: admin, role: 'admin', sub: admin }
    expect(access.decide(senderWith(ownEvidence({ subject: 'space:T999/U1', claims })))).toMatchObject({
      allowed: false,
    })
  })
})
