// Evidence is worth something to one agent only; which one of several is known after it was written down.
import { expect, test } from 'vitest'
import { checkEvidence, readdressMessage } from '../../../src/identity/evidence.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

const billing = '@billing@parley.localhost'
const now = Date.parse('2026-11-16T12:00:10.000Z')
const codes = (message: ReturnType<typeof aMessage>) =>
  (message.sender.identities ?? []).map((evidence) => {
    const checked = checkEvidence(evidence, { audience: message.recipient, now, origin: 'in-process' })
    return checked.ok ? 'ok' : checked.code
  })

test('what this gateway proved holds for the agent that takes the message', () => {
  const message = readdressMessage(aMessage(), billing)
  expect(message.recipient).toBe(billing)
  expect(codes(message)).toEqual(['ok'])
})

test('what another gateway signed is for whom it was signed', () => {
  const given = aMessage()
  const [own] = given.sender.identities ?? []
  if (own === undefined) throw new Error('a message has evidence')
  const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1', verified_by: 'parley' }
  const signed = { ...own, issuer: 'other.example', proof }
  const message = readdressMessage({ ...given, sender: { ...given.sender, identities: [own, signed] } }, billing)
  expect(codes(message)).toEqual(['ok', 'EV_AUDIENCE'])
})

test('evidence for others keeps its audience; of several only ours is changed', () => {
  const given = aMessage()
  const [own] = given.sender.identities ?? []
  if (own === undefined) throw new Error('a message has evidence')
  const other = { ...own, audience: '@other@parley.localhost' }
  const both = { ...own, audience: ['@demo@parley.localhost', '@other@parley.localhost'] }
  const sender = { ...given.sender, identities: [other, both] }
  expect(readdressMessage({ ...given, sender }, billing).sender.identities?.map(({ audience }) => audience)).toEqual([
    '@other@parley.localhost',
    [billing, '@other@parley.localhost'],
  ])
})

test('a message that is for the agent already is the same one', () => {
  const message = aMessage()
  expect(readdressMessage(message, message.recipient)).toBe(message)
})
