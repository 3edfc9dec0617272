// Who may say `verified`: only evidence. The lines marked as errors do not compile, and the checker holds us to it.
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { IdentityEvidence } from '../../../src/contract/evidence.ts'
import { mintEvidence, type Sender, unverifiedSender, verifiedSender } from '../../../src/contract/index.ts'
import { isNamespacedSubject } from '../../../src/contract/mint-evidence.ts'
import { type PolicySender, senderSchema } from '../../../src/contract/sender.ts'

const evidence = mintEvidence({
  subject: 'test:alice',
  issuer: 'parley.localhost',
  method: 'urn:test:v1',
  assurance: 'platform',
  recipient: '@demo@parley.localhost',
  issuedAt: '2026-11-16T12:00:00.000Z',
})
const shown = { address: '@alice@test.parley.localhost', auth_method: 'test' }

describe('a verified sender', () => {
  test('is made from evidence', () => {
    expect(verifiedSender([evidence], { ...shown, display_name: 'Alice' })).toEqual({
      ...shown,
      display_name: 'Alice',
      verified: true,
      identities: [evidence],
    })
  })

  test('cannot be written down by hand', () => {
    // @ts-expect-error: no literal is a verified sender, with evidence or without
    const byHand: Sender = { ...shown, verified: true, identities: [evidence] }
    // @ts-expect-error: and least of all without
    const bare: Sender = { ...shown, verified: true }
    // @ts-expect-error: an empty list is no evidence
    expect(() => verifiedSender([], shown)).toThrow('needs evidence')
    expect(senderSchema.safeParse(byHand).success).toBe(true)
    expect(senderSchema.safeParse(bare).success).toBe(false)
  })

  test('was proven by some method', () => {
    expect(() => verifiedSender([evidence], { ...shown, auth_method: 'none' })).toThrow('the method by which')
  })
})

test('an unverified sender has no address but the connection’s own', () => {
  expect(unverifiedSender('parley.localhost', { display_name: 'Admin' })).toEqual({
    address: '@unverified@parley.localhost',
    display_name: 'Admin',
    auth_method: 'none',
    verified: false,
  })
})

test('policy sees evidence, and no name, address or profile', () => {
  expectTypeOf<keyof PolicySender>().toEqualTypeOf<'verified' | 'identities'>()
  expectTypeOf<Sender>().toExtend<PolicySender>()
  const policy = (sender: PolicySender): unknown =>
    // @ts-expect-error: presentation is not there to be read
    sender.profile ?? sender.display_name ?? sender.address
  expect(policy(verifiedSender([evidence], shown))).toBe(shown.address)
})

describe('minted evidence', () => {
  test('is bound to the agent, proven by transport, and carries what else was seen', () => {
    const minted: IdentityEvidence = mintEvidence({
      subject: 'test:alice',
      issuer: 'parley.localhost',
      method: 'urn:test:v1',
      assurance: 'platform',
      recipient: '@demo@parley.localhost',
      issuedAt: '2026-11-16T12:00:00.000Z',
      keyId: 'k1',
      claims: { room: 'r1' },
    })
    expect(minted).toEqual({
      ...evidence,
      claims: { room: 'r1' },
      proof: { type: 'transport', verified_by: 'parley', key_id: 'k1' },
    })
  })

  test.each([
    'alice',
    '',
    ':alice',
    'Test:alice',
    'test:',
    'test:al ice',
    'test:al\u0000ice',
    'test:al\u202eice',
    'test:al\u200bice',
    'test:al\ud800',
    'test:\nadmin',
    `test:${'a'.repeat(508)}`,
  ])('refuses the subject %j', (subject) => {
    expect(isNamespacedSubject(subject)).toBe(false)
    expect(() =>
      mintEvidence({
        subject,
        issuer: 'parley.localhost',
        method: 'urn:test:v1',
        assurance: 'platform',
        recipient: '@demo@parley.localhost',
        issuedAt: '2026-11-16T12:00:00.000Z',
      }),
    ).toThrow('invalid_subject')
  })
})
