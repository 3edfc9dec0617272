// Hop 6: policy reads evidence and nothing else.
import { expect, test } from 'vitest'
import type { Sender } from '../../src/contract/index.ts'
import { createEvidencePolicy } from '../../src/identity/access.ts'
import { aMessage } from '../doubles/drafts.ts'

const policy = createEvidencePolicy()
const { sender } = aMessage()
const { identities: _identities, ...bare } = sender
const unproven: Sender = { ...bare, auth_method: 'none', verified: false }
const allowing = (...allow: string[]) => ({ mode: 'allow_list', allow }) as const

test.each([
  ['public admits whoever has evidence', sender, { mode: 'public', allow: [] }, 'test:alice'],
  ['public refuses whoever has none', unproven, { mode: 'public', allow: [] }, 'no_evidence'],
  ['an allow list admits its subjects', sender, allowing('test:alice'), 'test:alice'],
  ['an allow list refuses everybody else', sender, allowing('test:bob'), 'not_on_allow_list'],
  ['pairing holds out whoever is not paired', sender, { mode: 'pairing', allow: [] }, 'not_paired'],
  ['pairing admits whoever is listed', sender, { mode: 'pairing', allow: ['test:alice'] }, 'test:alice'],
  ['closed admits nobody', sender, { mode: 'closed', allow: ['test:alice'] }, 'connection_closed'],
] as const)('%s', async (_claim, from, rule, expected) => {
  const decision = await policy.decide(from, rule)
  expect(decision.kind === 'admitted' ? decision.principal.id : decision.reason).toBe(expected)
})

test('NM-15 a profile that names an allowed subject opens nothing', async () => {
  const profile = { provider_subject: 'test:alice', username: 'test:alice' }
  const spoof: Sender = { ...unproven, profile, display_name: 'test:alice' }
  expect(await policy.decide(spoof, allowing('test:alice'))).toEqual({
    kind: 'refused',
    reason: 'no_evidence',
  })
})

test('evidence that came over a wire is not ours and admits nobody', async () => {
  const [first] = sender.identities ?? []
  if (first === undefined) throw new Error('no evidence')
  const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', value: 'v' } as const
  expect(
    await policy.decide({ ...sender, identities: [{ ...first, proof }] }, { mode: 'public', allow: [] }),
  ).toMatchObject({
    kind: 'refused',
  })
})
