// Consent: every operation on its own, and whether a person can be asked is said, never guessed.
import { expect, test } from 'vitest'
import { type ConsentContext, consentOperations, decideConsent } from '../../../src/identity/consent.ts'

const scene = (changes: Partial<ConsentContext>): ConsentContext => ({ interactive: true, consent: {}, ...changes })
const allowed = (given: ConsentContext) =>
  consentOperations.filter((operation) => decideConsent(operation, given).allowed)

test.each(consentOperations)('consent to %s is consent to nothing else', (operation) => {
  expect(allowed(scene({ consent: { [operation]: true } }))).toEqual([operation])
})

test('nothing is allowed in silence, whatever the mode is called', () => {
  for (const mode of ['chat', 'interactive', 'rest', 'cron']) {
    expect(allowed(scene({ mode }))).toEqual([])
    expect(allowed(scene({ mode, interactive: false, consent: { store_memory: true } }))).toEqual([])
  }
})

test('a channel where a person can be asked is interactive because its adapter says so', () => {
  expect(decideConsent('use_memory', scene({ mode: 'channel', consent: { use_memory: true } }))).toMatchObject({
    allowed: true,
    reason: 'explicit_consent',
  })
})

test('the operator’s basis keeps transcripts, and does nothing else', () => {
  const given = scene({ interactive: false, transcriptBasis: 'contract' })
  expect(allowed(given)).toEqual(['store_transcript'])
  expect(decideConsent('store_transcript', given)).toEqual({
    operation: 'store_transcript',
    allowed: true,
    reason: 'operator_grant',
    audit_metadata: {
      policy: 'default',
      operation: 'store_transcript',
      interactive: false,
      mode: null,
      agent_id: null,
      user_id: null,
      basis: 'contract',
    },
  })
  expect(allowed(scene({ transcriptBasis: '  ' }))).toEqual([])
})

test('only true is consent', () => {
  // What a careless host may pass.
  const loose = { store_memory: 'true', use_memory: 1, __proto__: { share_transcript: true } } as never
  expect(allowed(scene({ consent: loose }))).toEqual([])
})

test('a decision carries what an audit needs', () => {
  const given = scene({ mode: 'chat', agentId: 'demo', userId: 7 })
  expect(decideConsent('share_transcript', given).audit_metadata).toEqual({
    policy: 'default',
    operation: 'share_transcript',
    interactive: true,
    mode: 'chat',
    agent_id: 'demo',
    user_id: 7,
  })
})
