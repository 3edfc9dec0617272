// The question an agent may ask about its sender, and the order of strengths it may demand.
import { expect, test } from 'vitest'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { assuranceClasses } from '../../../src/contract/mint-evidence.ts'
import { findIdentityEvidence, type IdentityQuestion, isAssuranceAtLeast } from '../../../src/identity/evidence.ts'
import { carriedEvidence, ownEvidence, senderWith } from '../../doubles/evidence.ts'

const method = 'urn:test:member:v1'
const asked = (question: Partial<IdentityQuestion>, ...evidence: readonly IdentityEvidence[]) =>
  findIdentityEvidence({ sender: senderWith(...evidence) }, { method, ...question })?.subject

test.each<[string, Partial<IdentityQuestion>, boolean]>([
  ['the method alone', {}, true],
  ['another method', { method: 'urn:test:other:v1' }, false],
  ['the exact subject', { subject: 'space:T123/U456' }, true],
  ['a subject that is longer', { subject: 'space:T123/U4567' }, false],
  ['a subject that is shorter', { subject: 'space:T123/U45' }, false],
  ['its workspace', { subjectPrefix: 'space:T123/' }, true],
  ['a workspace that begins alike', { subjectPrefix: 'space:T12/' }, false],
  ['a prefix without its delimiter', { subjectPrefix: 'space:T12' }, false],
  ['the prefix that is everything', { subjectPrefix: '' }, false],
  ['the issuer', { issuer: 'gw.example' }, true],
  ['an issuer that begins alike', { issuer: 'gw.example.evil' }, false],
  ['its own strength', { assurance: 'platform' }, true],
  ['less strength', { assurance: 'domain' }, true],
  ['more strength', { assurance: 'oauth' }, false],
  ['a strength nobody knows', { assurance: 'platfrom' }, false],
])('asked for %s', (_what, question, isFound) => {
  expect(asked(question, ownEvidence())).toBe(isFound ? 'space:T123/U456' : undefined)
})

test('of several pieces the one that answers is given', () => {
  const other = ownEvidence({ subject: 'gw:user/7', method: 'urn:test:session:v1' })
  expect(asked({ method: 'urn:test:session:v1' }, ownEvidence(), other)).toBe('gw:user/7')
})

test('evidence nobody has verified answers nothing', () => {
  expect(asked({}, carriedEvidence())).toBeUndefined()
  const verified = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', verified_by: 'parley' }
  expect(asked({}, carriedEvidence({ proof: verified }))).toBe('space:T123/U456')
  expect(asked({}, carriedEvidence({ proof: { ...verified, value: 'header..signature' } }))).toBeUndefined()
  expect(asked({}, ownEvidence({ proof: { type: 'reduced' } }))).toBeUndefined()
})

test('the classes have one order, and every unknown class stands below it', () => {
  for (const [rank, assurance] of assuranceClasses.entries()) {
    for (const [minimumRank, minimum] of assuranceClasses.entries()) {
      expect(isAssuranceAtLeast(assurance, minimum), `${assurance} for ${minimum}`).toBe(rank >= minimumRank)
    }
    expect(isAssuranceAtLeast('hearsay', assurance)).toBe(false)
    expect(isAssuranceAtLeast(assurance, 'hearsay')).toBe(false)
  }
  expect(isAssuranceAtLeast('hearsay', 'hearsay')).toBe(false)
})
