// Evidence and who is trusted to send it.
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { createEvidenceAccess, readEvidenceRules } from '../../../src/identity/access-policy.ts'
import { checkEvidence, listOnBehalfOfSubjects } from '../../../src/identity/evidence.ts'
import { readTrustedIssuers, verifyForwardedEvidence } from '../../../src/identity/trust.ts'
import { at, audience, carriedEvidence, evidenceNow, ownEvidence, senderWith } from '../../doubles/evidence.ts'
import { type Case, refusal } from '../conform.ts'

const check = (change: Partial<IdentityEvidence> | Record<string, unknown>) =>
  checkEvidence({ ...carriedEvidence(), ...change }, { audience, now: evidenceNow, origin: 'wire' })
const code = (change: Record<string, unknown>) => {
  const checked = check(change)
  return checked.ok ? 'ok' : checked.code
}

const entry = {
  issuer: 'connector.example',
  methods: ['urn:test:member:v1'],
  assurance: ['platform'],
  subject_prefixes: ['space:T123/'],
}
/** Codes of what was dropped, how many were admitted, and how often anybody outside was asked. */
async function admitted(carried: readonly unknown[], entries: readonly unknown[] = [entry]) {
  let calls = 0
  const attestations = {
    verify: async () => {
      calls += 1
      return undefined
    },
  }
  const issuers = readTrustedIssuers(entries)
  const deps = { issuers: () => issuers, attestations, now: () => evidenceNow }
  const outcome = await verifyForwardedEvidence(deps, carried, { audience, messageId: 'm1' })
  return { count: outcome.admitted.length, codes: outcome.dropped.map((each) => each.code), calls }
}
const decided = (rules: readonly unknown[], evidence: IdentityEvidence) =>
  createEvidenceAccess(readEvidenceRules({ visibility: 'restricted', rules })).decide(senderWith(evidence))

export const evidenceCases: readonly Case[] = [
  {
    id: 'ID-01',
    claim: 'evidence for another agent',
    run: () => code({ audience: '@other@verse8.io' }),
    equals: 'EV_AUDIENCE',
  },
  {
    id: 'ID-02',
    claim: 'a list of audiences with us in it',
    run: () => code({ audience: ['@o@x.example', audience] }),
    equals: 'ok',
  },
  { id: 'ID-03', claim: 'a life of 601 seconds', run: () => code({ expires_at: at(591) }), equals: 'EV_TTL' },
  {
    id: 'ID-04',
    claim: 'an end 59 and 61 seconds ago',
    run: () => [-59, -61].map((end) => code({ issued_at: at(-300), expires_at: at(end) })),
    equals: ['ok', 'EV_EXPIRED'],
  },
  { id: 'ID-05', claim: 'no end', run: () => code({ expires_at: undefined }), equals: 'EV_TTL' },
  {
    id: 'ID-06',
    claim: 'the fifth of five is dropped',
    run: () => admitted(Array.from({ length: 5 }, () => carriedEvidence())),
    expected: { count: 4, codes: ['EV_LIMIT'] },
  },
  {
    id: 'TR-01',
    claim: 'an issuer nobody named causes no call',
    run: () => admitted([carriedEvidence({ issuer: 'evil.example' })]),
    equals: { count: 0, codes: ['TR_UNTRUSTED_ISSUER'], calls: 0 },
  },
  {
    id: 'TR-02',
    claim: 'a method that is not listed',
    run: () => admitted([carriedEvidence({ method: 'urn:test:other:v1' })]),
    equals: { count: 0, codes: ['TR_METHOD'], calls: 0 },
  },
  {
    id: 'TR-03',
    claim: 'oauth where the entry says platform',
    run: () => admitted([carriedEvidence({ assurance: 'oauth' })]),
    equals: { count: 0, codes: ['TR_ASSURANCE'], calls: 0 },
  },
  {
    id: 'TR-04',
    claim: 'a workspace that begins alike',
    run: () => admitted([carriedEvidence({ subject: 'space:T1234/U1' })]),
    equals: { count: 0, codes: ['TR_SUBJECT'], calls: 0 },
  },
  {
    id: 'TR-05',
    claim: 'a prefix that ends inside a name is refused at load',
    run: async () => {
      const wide = { ...entry, subject_prefixes: ['space:T123'] }
      return (await refusal(() => readTrustedIssuers([wide]))).includes('add the delimiter')
    },
    equals: true,
  },
  {
    id: 'TR-06',
    claim: 'the method of one entry with the prefix of another',
    run: () =>
      admitted(
        [carriedEvidence()],
        [
          { ...entry, subject_prefixes: ['space:T9/'] },
          { ...entry, methods: ['urn:test:other:v1'] },
        ],
      ),
    expected: { count: 0, calls: 0 },
  },
  {
    id: 'TR-07',
    claim: 'a rule for a subject is not one for a longer subject',
    run: () => decided([{ effect: 'allow', subject: 'space:T123/U456' }], ownEvidence({ subject: 'space:T123/U4567' })),
    equals: { allowed: false, code: 'no_rule' },
  },
  {
    id: 'TR-08',
    claim: 'a restricted agent without rules is for nobody',
    run: () => decided([], ownEvidence()),
    equals: { allowed: false, code: 'no_rule' },
  },
  {
    id: 'TR-09',
    claim: 'whom a caller acts for is ignored where the proof does not cover it',
    run: () => listOnBehalfOfSubjects(ownEvidence({ on_behalf_of: ['user:boss'] })),
    equals: [],
  },
]
