// Which other gateway is believed, for what, and in which order that is found out.
import { describe, expect, test } from 'vitest'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { listOnBehalfOfSubjects } from '../../../src/identity/evidence.ts'
import { readTrustedIssuers, type SignatureCode, verifyForwardedEvidence } from '../../../src/identity/trust.ts'
import { at, audience, carriedEvidence, evidenceNow, ownEvidence } from '../../doubles/evidence.ts'

const entry = {
  issuer: 'connector.example',
  methods: ['urn:test:member:v1'],
  assurance: ['platform'],
  subject_prefixes: ['space:T123/'],
}

async function admit(
  carried: unknown,
  {
    entries = [entry],
    verdict = () => undefined,
    now = () => evidenceNow,
  }: {
    entries?: unknown
    verdict?: (issuer: { readonly keys?: unknown }) => SignatureCode | undefined
    now?: () => number
  } = {},
) {
  const asked: string[] = []
  const attestations = {
    verify: async (_carried: unknown, { issuer }: { readonly issuer: { issuer: string; keys?: unknown } }) => {
      asked.push(issuer.issuer)
      return verdict(issuer)
    },
  }
  const trusted = readTrustedIssuers(entries)
  const outcome = await verifyForwardedEvidence({ issuers: () => trusted, attestations, now }, carried, {
    audience,
    messageId: 'm1',
  })
  return { ...outcome, asked }
}

const one = (changes: Partial<IdentityEvidence> = {}, how?: Parameters<typeof admit>[1]) =>
  admit([carriedEvidence(changes)], how)

describe('evidence of a trusted issuer', () => {
  test('is admitted without its signature, which nobody can then replay', async () => {
    const { admitted, dropped, asked } = await one()
    const { proof: _proof, ...facts } = carriedEvidence()
    expect(dropped).toEqual([])
    expect(asked).toEqual(['connector.example'])
    expect(admitted).toEqual([
      {
        ...facts,
        proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'connector.example#k1', verified_by: 'parley' },
      },
    ])
  })

  test('is dropped with the code of its signature', async () => {
    expect(await one({}, { verdict: () => 'EV_SIG_INVALID' })).toMatchObject({
      admitted: [],
      dropped: [{ index: 0, code: 'EV_SIG_INVALID' }],
    })
  })

  test('is dropped when the verifier breaks', async () => {
    const verdict = () => {
      throw new Error('no network')
    }
    expect(await one({}, { verdict })).toMatchObject({
      admitted: [],
      dropped: [{ index: 0, code: 'EV_SIG_UNAVAILABLE' }],
    })
  })

  test('is dropped when it expired while its key was looked up', async () => {
    let now = evidenceNow
    const verdict = () => {
      now += 600_000
      return undefined
    }
    expect(await one({}, { now: () => now, verdict })).toMatchObject({
      admitted: [],
      dropped: [{ index: 0, code: 'EV_EXPIRED' }],
    })
  })
})

test.each<[string, Partial<IdentityEvidence>, string]>([
  ['an issuer nobody named', { issuer: 'evil.example' }, 'TR_UNTRUSTED_ISSUER'],
  ['an issuer that only begins alike', { issuer: 'connector.example.evil' }, 'TR_UNTRUSTED_ISSUER'],
  ['an issuer in other letters', { issuer: 'Connector.example' }, 'TR_UNTRUSTED_ISSUER'],
  ['another method', { method: 'urn:test:other:v1' }, 'TR_METHOD'],
  ['another assurance', { assurance: 'oauth' }, 'TR_ASSURANCE'],
  ['another workspace', { subject: 'space:T1234/U1' }, 'TR_SUBJECT'],
  ['no workspace', { subject: 'space:T123' }, 'TR_SUBJECT'],
  ['another audience', { audience: '@other@verse8.io' }, 'EV_AUDIENCE'],
  ['an end in the past', { issued_at: at(-400), expires_at: at(-61) }, 'EV_EXPIRED'],
  ['a proof by transport', { proof: { type: 'transport', verified_by: 'parley' } }, 'EV_PROOF_NOT_PORTABLE'],
])('%s is dropped before anybody is asked', async (_what, change, code) => {
  expect(await one(change)).toEqual({ admitted: [], dropped: [{ index: 0, code }], asked: [] })
})

test('of several pieces the good ones stay, and each fault keeps its place', async () => {
  const carried = [carriedEvidence({ issuer: 'evil.example' }), carriedEvidence(), null, 7, carriedEvidence()]
  const { admitted, dropped } = await admit(carried)
  expect(admitted).toHaveLength(1)
  expect(dropped).toEqual([
    { index: 0, code: 'TR_UNTRUSTED_ISSUER' },
    { index: 2, code: 'EV_MALFORMED' },
    { index: 3, code: 'EV_MALFORMED' },
    { index: 4, code: 'EV_LIMIT' },
  ])
})

describe('the entries', () => {
  test('of one issuer are never put together', async () => {
    const entries = [
      { ...entry, methods: ['urn:test:other:v1'] },
      { ...entry, subject_prefixes: ['space:T999/'] },
    ]
    expect(await one({}, { entries })).toEqual({ admitted: [], dropped: [{ index: 0, code: 'TR_SUBJECT' }], asked: [] })
  })

  test('that match are tried one after the other, each with its own keys', async () => {
    const entries = [
      { ...entry, keys: [{ kid: 'old' }] },
      { ...entry, keys: [{ kid: 'new' }] },
    ]
    const verdict = ({ keys }: { keys?: unknown }) =>
      JSON.stringify(keys).includes('new') ? undefined : ('EV_SIG_KID' as const)
    expect((await one({}, { entries, verdict })).admitted).toHaveLength(1)
  })

  test.each([
    ['no entries', []],
    ['no methods', [{ ...entry, methods: [] }]],
    ['no classes', [{ ...entry, assurance: [] }]],
    ['no prefixes', [{ ...entry, subject_prefixes: [] }]],
    ['an entry whose time is over', [{ ...entry, not_after: at(-1) }]],
  ])('%s: nothing is trusted', async (_what, entries) => {
    expect(await one({}, { entries })).toMatchObject({ admitted: [], asked: [] })
  })

  test('may ask for a shorter life', async () => {
    const entries = [{ ...entry, max_ttl_seconds: 60 }]
    expect(await one({}, { entries })).toMatchObject({ dropped: [{ code: 'EV_TTL' }], asked: [] })
    expect((await one({ expires_at: at(50) }, { entries })).admitted).toHaveLength(1)
  })

  test('that were removed are gone at the next message', async () => {
    let trusted = readTrustedIssuers([entry])
    const deps = {
      issuers: () => trusted,
      attestations: { verify: async () => undefined },
      now: () => evidenceNow,
    }
    const message = { audience, messageId: 'm1' }
    expect((await verifyForwardedEvidence(deps, [carriedEvidence()], message)).admitted).toHaveLength(1)
    trusted = readTrustedIssuers([])
    expect((await verifyForwardedEvidence(deps, [carriedEvidence()], message)).admitted).toEqual([])
  })

  test.each([
    ['a prefix without a delimiter', { subject_prefixes: ['space:T123'] }, 'add the delimiter'],
    ['an empty prefix', { subject_prefixes: [''] }, 'subject_prefixes.0'],
    ['a wildcard', { issuer: '*.example' }, 'wildcards'],
    ['a blank at the end', { issuer: 'connector.example ' }, 'issuer'],
    ['an http card', { card_url: 'http://connector.example/card' }, 'card_url'],
    ['a misspelt field', { subject_prefix: ['space:'] }, 'subject_prefix'],
    ['an endless life', { max_ttl_seconds: 86_400 }, 'max_ttl_seconds'],
  ])('with %s are refused at load', (_what, change, complaint) => {
    expect(() => readTrustedIssuers([{ ...entry, ...change }])).toThrow(complaint)
  })
})

describe('on behalf of', () => {
  const on_behalf_of = ['mailto:boss@example.org']

  test('counts where the proof covers it', () => {
    const bearer = { type: 'bearer-token', verified_by: 'parley' } as const
    expect(listOnBehalfOfSubjects(ownEvidence({ on_behalf_of, proof: bearer }))).toEqual(on_behalf_of)
  })

  test('a transport proves nothing about others', () => {
    expect(listOnBehalfOfSubjects(ownEvidence({ on_behalf_of }))).toEqual([])
  })

  test('is kept from another gateway only where the entry allows it', async () => {
    expect((await one({ on_behalf_of })).admitted[0]).not.toHaveProperty('on_behalf_of')
    const entries = [{ ...entry, allow_on_behalf_of: true }]
    expect((await one({ on_behalf_of }, { entries })).admitted[0]?.on_behalf_of).toEqual(on_behalf_of)
  })
})
