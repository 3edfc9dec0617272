// Rules on evidence: what they match, which of them wins, and which of them are never loaded.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccessEntry } from '../../../src/contract/access.ts'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import type { AccessRule } from '../../../src/contract/index.ts'
import { assuranceClasses } from '../../../src/contract/mint-evidence.ts'
import {
  type AccessDecision,
  createAccessPolicy,
  createEvidenceAccess,
  type EvidenceRule,
  readEvidenceRules,
} from '../../../src/identity/access-policy.ts'
import { rankAssurance } from '../../../src/identity/evidence.ts'
import { accessScene } from '../../doubles/access-context.ts'
import { audience, carriedEvidence, ownEvidence, senderWith } from '../../doubles/evidence.ts'
import { scaled } from '../../setup/scale.ts'

const access = (rules: readonly unknown[], visibility = 'restricted') =>
  createEvidenceAccess(readEvidenceRules({ visibility, rules }))
const outcome = (rules: readonly unknown[], ...evidence: readonly IdentityEvidence[]) => {
  const decision = access(rules).decide(senderWith(...evidence))
  return decision.allowed ? `by ${decision.rule}` : decision.code
}
const allow = (conditions: object) => ({ effect: 'allow', ...conditions })
const deny = (conditions: object) => ({ effect: 'deny', ...conditions })

describe('a rule', () => {
  test.each<[string, object, boolean]>([
    ['names the subject', { subject: 'space:T123/U456' }, true],
    ['names a longer subject', { subject: 'space:T123/U4567' }, false],
    ['names the workspace', { subject_prefix: 'space:T123/' }, true],
    ['names the whole space', { subject_prefix: 'space:' }, true],
    ['names a workspace that begins alike', { subject_prefix: 'space:T12/' }, false],
    ['names the issuer', { issuer: 'gw.example' }, true],
    ['names another issuer', { issuer: 'other.example' }, false],
    ['names the method', { method: 'urn:test:member:v1' }, true],
    ['names issuer and method', { issuer: 'gw.example', method: 'urn:test:member:v1' }, true],
    ['names the issuer and another method', { issuer: 'gw.example', method: 'urn:test:other:v1' }, false],
    ['asks for no more than there is', { min_assurance: 'platform' }, true],
    ['asks for more', { subject: 'space:T123/U456', min_assurance: 'oauth' }, false],
  ])('that %s', (_what, conditions, isMatch) => {
    expect(outcome([allow(conditions)], ownEvidence())).toBe(isMatch ? 'by rule 1' : 'no_rule')
    if ('min_assurance' in conditions) return
    expect(access([deny(conditions)], 'public').decide(senderWith(ownEvidence()))).toMatchObject({ allowed: !isMatch })
  })
})

describe('a decision', () => {
  test('a denial wins over any allowance, wherever it stands', () => {
    const both = [allow({ subject: 'space:T123/U456' }), deny({ id: 'ban', subject_prefix: 'space:T123/' })]
    expect(access(both).decide(senderWith(ownEvidence()))).toEqual({
      allowed: false,
      code: 'denied_by_rule',
      rule: 'ban',
    })
    expect(outcome(both.toReversed(), ownEvidence())).toBe('denied_by_rule')
  })

  test('whoever is denied under one name does not come in under another', () => {
    const rules = [allow({ subject: 'gw:user/1' }), deny({ subject: 'space:T123/U456' })]
    expect(outcome(rules, ownEvidence({ subject: 'gw:user/1' }), ownEvidence())).toBe('denied_by_rule')
  })

  test('a restricted agent without rules is for nobody, a public one for everybody with evidence', () => {
    expect(outcome([], ownEvidence())).toBe('no_rule')
    expect(access([], 'public').decide(senderWith(ownEvidence()))).toMatchObject({ allowed: true, rule: 'public' })
    expect(access([], 'public').decide(senderWith())).toEqual({ allowed: false, code: 'no_evidence' })
  })

  test('evidence nobody verified is none', () => {
    expect(access([], 'public').decide(senderWith(carriedEvidence()))).toEqual({ allowed: false, code: 'no_evidence' })
  })

  test('of many allowances the one that asks for least decides', () => {
    const rules = [
      allow({ id: 'strict', subject_prefix: 'space:', min_assurance: 'wallet' }),
      allow({ id: 'mild', subject_prefix: 'space:', min_assurance: 'domain' }),
      allow({ id: 'strict again', subject_prefix: 'space:', min_assurance: 'agent' }),
    ]
    expect(outcome(rules, ownEvidence())).toBe('by mild')
    expect(outcome(rules, ownEvidence({ assurance: 'hearsay' }))).toBe('no_rule')
  })
})

describe('a caller who acts for somebody', () => {
  const proof = { type: 'bearer-token', verified_by: 'parley' } as const
  const caller = ownEvidence({ subject: 'agent:a', on_behalf_of: ['user:boss', 'user:other'], proof })
  const both = [allow({ subject: 'agent:a' }), allow({ subject: 'user:boss' })]

  test.each<[string, readonly unknown[], string]>([
    ['both are allowed', both, 'by rule 1'],
    ['only the caller is', [allow({ subject: 'agent:a' })], 'no_rule'],
    ['only the one behind is', [allow({ subject: 'user:boss' })], 'no_rule'],
    ['the one behind is denied', [...both, deny({ subject: 'user:boss' })], 'denied_by_rule'],
    ['somebody further back is allowed', [allow({ subject: 'agent:a' }), allow({ subject: 'user:other' })], 'no_rule'],
  ])('%s', (_what, rules, expected) => {
    expect(outcome(rules, caller)).toBe(expected)
  })

  test('says so in vain where the proof does not cover it', () => {
    const bare = ownEvidence({ subject: 'agent:a', on_behalf_of: ['user:boss'] })
    expect(outcome([allow({ subject: 'user:boss' })], bare)).toBe('no_rule')
    expect(outcome([allow({ subject: 'agent:a' })], bare)).toBe('by rule 1')
  })
})

test('agent and connection together are never wider than either', () => {
  const word = fc.constantFrom('space:T1/U1', 'space:T1/U2', 'space:T2/U1')
  const rule = fc.oneof(
    fc.record({ effect: fc.constantFrom('allow', 'deny'), subject: word }),
    fc.record({ effect: fc.constantFrom('allow', 'deny'), subject_prefix: fc.constantFrom('space:T1/', 'space:') }),
  )
  const policy = fc.record({
    mode: fc.constantFrom('public', 'allow_list'),
    allow: fc.constant([]),
    rules: fc.array(rule) as fc.Arbitrary<AccessEntry[]>,
  })
  const decided = (subject: string, rule: AccessRule, own?: AccessRule) =>
    createAccessPolicy().decide(
      senderWith(ownEvidence({ subject })),
      accessScene({ rule, own, recipient: audience }),
    ) as AccessDecision
  fc.assert(
    fc.property(policy, policy, word, (one, other, subject) => {
      const together = decided(subject, one, other).kind === 'admitted'
      expect(together).toBe([one, other].every((each) => decided(subject, each).kind === 'admitted'))
    }),
  )
})

test('the tables decide as a plain reading of the rules would', () => {
  const conditions = {
    issuer: fc.option(fc.constantFrom('gw.example', 'other.example'), { nil: undefined }),
    method: fc.option(fc.constantFrom('m1', 'm2'), { nil: undefined }),
  }
  const subject = fc.constantFrom('s:a/1', 's:a/12', 's:ab/1', 't:a/1', 's:a/1/x')
  const prefix = fc.constantFrom('s:', 's:a/', 's:ab/', 't:', 's:a/1/')
  const rule = fc.oneof(
    fc.record({ effect: fc.constant('deny'), subject, ...conditions }),
    fc.record({ effect: fc.constant('deny'), subject_prefix: prefix, ...conditions }),
    fc.record({ effect: fc.constant('allow'), subject, ...conditions }),
    fc.record({
      effect: fc.constant('allow'),
      subject_prefix: prefix,
      min_assurance: fc.constantFrom(...assuranceClasses),
      ...conditions,
    }),
    fc.record({ effect: fc.constant('allow'), min_assurance: fc.constantFrom(...assuranceClasses), ...conditions }),
  )
  const evidence = fc.record({
    subject,
    issuer: fc.constantFrom('gw.example', 'other.example', 'third.example'),
    method: fc.constantFrom('m1', 'm2', 'm3'),
    assurance: fc.constantFrom(...assuranceClasses, 'hearsay'),
  })
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 12 }), evidence, (rules, facts) => {
      const proven = ownEvidence(facts)
      const read = readEvidenceRules({ visibility: 'restricted', rules }).rules
      const matching = read.filter((each) => matches(each, proven))
      const expected = matching.some(({ effect }) => effect === 'deny')
        ? 'denied_by_rule'
        : matching.length > 0
          ? 'allowed'
          : 'no_rule'
      const decision = access(rules).decide(senderWith(proven))
      expect(decision.allowed ? 'allowed' : decision.code).toBe(expected)
    }),
    { numRuns: scaled(2_000) },
  )
})

function matches(rule: EvidenceRule, evidence: IdentityEvidence): boolean {
  const minimum = rule.effect === 'allow' && rule.min_assurance !== undefined ? rankAssurance(rule.min_assurance) : 0
  return (
    (rule.subject ?? evidence.subject) === evidence.subject &&
    evidence.subject.startsWith(rule.subject_prefix ?? '') &&
    (rule.issuer ?? evidence.issuer) === evidence.issuer &&
    (rule.method ?? evidence.method) === evidence.method &&
    rankAssurance(evidence.assurance) >= minimum
  )
}

test.each<[string, unknown, string]>([
  ['no visibility', { rules: [] }, 'visibility'],
  [
    'a prefix without a delimiter',
    { visibility: 'restricted', rules: [allow({ subject_prefix: 'space:T1' })] },
    'delimiter',
  ],
  ['a rule for everybody', { visibility: 'restricted', rules: [allow({})] }, 'visibility: public'],
  [
    'subject and prefix at once',
    { visibility: 'restricted', rules: [allow({ subject: 's:a', subject_prefix: 's:' })] },
    'two rules',
  ],
  [
    'a strength nobody knows',
    { visibility: 'restricted', rules: [allow({ min_assurance: 'platfrom' })] },
    'min_assurance',
  ],
  [
    'a denial for strong proof only',
    { visibility: 'public', rules: [deny({ subject: 's:a', min_assurance: 'oauth' })] },
    'min_assurance',
  ],
  ['a condition on a name', { visibility: 'restricted', rules: [allow({ display_name: 'Boss' })] }, 'display_name'],
  ['a line break', { visibility: 'restricted', rules: [allow({ issuer: 'a\nb' })] }, 'invisible'],
])('rules with %s stop the start', (_what, policy, complaint) => {
  expect(() => readEvidenceRules(policy)).toThrow(complaint)
})
