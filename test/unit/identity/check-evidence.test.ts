// What evidence must look like, each fault with its code.
import { describe, expect, test } from 'vitest'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { checkEvidence, limitForwardedEvidence, parseInstant } from '../../../src/identity/evidence.ts'
import { at, audience, carriedEvidence, evidenceNow, ownEvidence } from '../../doubles/evidence.ts'

const here = { audience, now: evidenceNow, origin: 'in-process' } as const
const wire = { ...here, origin: 'wire' } as const
const attestation = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k' }

test('evidence of this process passes unchanged', () => {
  expect(checkEvidence(ownEvidence(), here)).toEqual({ ok: true, evidence: ownEvidence() })
})

test('signed evidence passes on the wire', () => {
  expect(checkEvidence(carriedEvidence(), wire)).toEqual({ ok: true, evidence: carriedEvidence() })
})

test.each<[string, Record<string, unknown>, string]>([
  ['no subject', { subject: undefined }, 'EV_MALFORMED'],
  ['an empty subject', { subject: '' }, 'EV_MALFORMED'],
  ['a subject of 513 characters', { subject: 's'.repeat(513) }, 'EV_MALFORMED'],
  ['a method of 257 characters', { method: 'm'.repeat(257) }, 'EV_MALFORMED'],
  ['an assurance of 257 characters', { assurance: 'a'.repeat(257) }, 'EV_MALFORMED'],
  ['an issuer with a blank at its end', { issuer: 'connector.example ' }, 'EV_MALFORMED'],
  ['a number as issuer', { issuer: 7 }, 'EV_MALFORMED'],
  ['a subject with a NUL', { subject: 'space:T123/\u0000U456' }, 'EV_MALFORMED'],
  ['a subject that turns text around', { subject: 'space:\u202eT123' }, 'EV_MALFORMED'],
  ['a subject with an invisible joint', { subject: 'space:T123\u200b/U456' }, 'EV_MALFORMED'],
  ['half a character', { subject: 'space:\ud800' }, 'EV_MALFORMED'],
  ['claims that are a list', { claims: ['admin'] }, 'EV_MALFORMED'],
  ['another audience', { audience: '@other@verse8.io' }, 'EV_AUDIENCE'],
  ['an audience that only begins like ours', { audience: `${audience}.evil.example` }, 'EV_AUDIENCE'],
  ['an audience in other letters', { audience: '@Agent@verse8.io' }, 'EV_AUDIENCE'],
  ['no audience in the list', { audience: [] }, 'EV_AUDIENCE'],
  ['a time without a zone', { issued_at: '2026-11-16T12:00:00' }, 'EV_TIME_MALFORMED'],
  ['a time without seconds', { issued_at: '2026-11-16T12:00Z' }, 'EV_TIME_MALFORMED'],
  ['the 30th of February', { issued_at: '2026-02-30T12:00:00Z' }, 'EV_TIME_MALFORMED'],
  ['a number as expiry', { expires_at: 1_795_000_000 }, 'EV_TIME_MALFORMED'],
  ['an expiry before the issue', { expires_at: at(-11) }, 'EV_TIME_MALFORMED'],
  ['an issue in 61 seconds', { issued_at: at(61), expires_at: at(100) }, 'EV_NOT_YET_VALID'],
  ['a beginning in 61 seconds', { not_before: at(61) }, 'EV_NOT_YET_VALID'],
  [
    'an early beginning of a late issue',
    { issued_at: at(61), not_before: at(-9), expires_at: at(99) },
    'EV_NOT_YET_VALID',
  ],
  ['an expiry 61 seconds ago', { issued_at: at(-300), expires_at: at(-61) }, 'EV_EXPIRED'],
  ['a life of 601 seconds', { expires_at: at(591) }, 'EV_TTL'],
  ['no end', { expires_at: undefined }, 'EV_TTL'],
  ['a transport proof', { proof: { type: 'transport', verified_by: 'parley' } }, 'EV_PROOF_NOT_PORTABLE'],
  ['a bearer proof', { proof: { type: 'bearer-token', verified_by: 'parley' } }, 'EV_PROOF_NOT_PORTABLE'],
  ['a proof of a kind nobody knows', { proof: { type: 'blood-oath' } }, 'EV_PROOF_UNKNOWN'],
  ['an attestation without a value', { proof: attestation }, 'EV_MALFORMED'],
  ['one that says it was verified', { proof: { ...attestation, verified_by: 'parley' } }, 'EV_MALFORMED'],
  ['no proof', { proof: undefined }, 'EV_MALFORMED'],
  ['claims of 9 KiB', { claims: { a: 'x'.repeat(9 * 1024) } }, 'EV_LIMIT'],
  ['claims seven levels deep', { claims: { a: { a: { a: { a: { a: { a: {} } } } } } } }, 'EV_LIMIT'],
  ['33 KiB of anything', { source: { a: 'x'.repeat(33 * 1024) } }, 'EV_LIMIT'],
])('on the wire %s is dropped', (_what, change, code) => {
  expect(checkEvidence({ ...carriedEvidence(), ...change }, wire)).toEqual({ ok: false, code })
})

test.each<[string, unknown, string]>([
  ['nothing', null, 'EV_MALFORMED'],
  ['text', 'evidence', 'EV_MALFORMED'],
  ['undefined', undefined, 'EV_LIMIT'],
  ['a thing that contains itself', cyclic(), 'EV_LIMIT'],
])('%s is no evidence', (_what, input, code) => {
  expect(checkEvidence(input, wire)).toEqual({ ok: false, code })
})

describe('the skew of clocks', () => {
  test.each<[string, Partial<IdentityEvidence>]>([
    ['an expiry 59 seconds ago', { issued_at: at(-300), expires_at: at(-59) }],
    ['an issue in 59 seconds', { issued_at: at(59), expires_at: at(300) }],
    ['a life of 600 seconds', { expires_at: at(590) }],
    ['claims six levels deep', { claims: { a: { a: { a: { a: { a: {} } } } } } }],
    ['ourselves among others', { audience: ['@other@verse8.io', audience] }],
  ])('%s is accepted', (_what, change) => {
    expect(checkEvidence(carriedEvidence(change), wire)).toMatchObject({ ok: true })
  })
})

test('a transport proof without its verifier is malformed, also at home', () => {
  expect(checkEvidence({ ...ownEvidence(), proof: { type: 'transport' } }, here)).toEqual({
    ok: false,
    code: 'EV_MALFORMED',
  })
})

test.each([
  ['2026-11-16T12:00:00Z', evidenceNow],
  ['2026-11-16T12:00:00.000000Z', evidenceNow],
  ['2026-11-16T21:00:00+09:00', evidenceNow],
  ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
  ['2026-02-29T00:00:00Z', undefined],
  ['2026-13-01T00:00:00Z', undefined],
  ['2026-11-16T24:00:00Z', undefined],
  ['2026-11-16 12:00:00Z', undefined],
  ['2026-11-16T12:00:00z', undefined],
  ['16 Nov 2026 12:00:00 GMT', undefined],
  ['1795000000', undefined],
])('%s is an instant or none', (text, expected) => {
  expect(parseInstant(text)).toBe(expected)
})

describe('evidence that comes with a message', () => {
  test('the fifth piece is dropped with the limit', () => {
    const { kept, dropped } = limitForwardedEvidence(Array.from({ length: 5 }, () => carriedEvidence()))
    expect(kept).toHaveLength(4)
    expect(dropped).toEqual([{ index: 4, code: 'EV_LIMIT' }])
  })

  test('a piece that is too large leaves room for the others', () => {
    const large = carriedEvidence({ source: { a: 'x'.repeat(33 * 1024) } })
    const { kept, dropped } = limitForwardedEvidence([large, carriedEvidence()])
    expect(kept.map(({ index }) => index)).toEqual([1])
    expect(dropped).toEqual([{ index: 0, code: 'EV_LIMIT' }])
  })

  test('64 KiB is the end of all of them together', () => {
    const big = carriedEvidence({ source: { a: 'x'.repeat(30 * 1024) } })
    expect(limitForwardedEvidence([big, big, big]).dropped).toEqual([{ index: 2, code: 'EV_LIMIT' }])
  })

  test('a million entries are told in a few lines', () => {
    expect(limitForwardedEvidence(new Array(1_000_000).fill(null)).dropped.length).toBeLessThanOrEqual(8)
  })

  test.each([
    ['nothing', undefined, []],
    ['an object', { subject: 'space:admin' }, [{ index: 0, code: 'EV_MALFORMED' }]],
    ['text', 'admin', [{ index: 0, code: 'EV_MALFORMED' }]],
  ])('%s in place of a list yields nothing', (_what, carried, dropped) => {
    expect(limitForwardedEvidence(carried)).toEqual({ kept: [], dropped })
  })
})

function cyclic(): unknown {
  const thing: Record<string, unknown> = {}
  thing['self'] = thing
  return thing
}
