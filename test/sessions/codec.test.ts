// The one codec (ruling 2): what is stored reads back as what was said.
import { expect, test } from 'vitest'
import { type Part, verifiedSender } from '../../src/contract/index.ts'
import { amendmentEnvelope, assistantEnvelope, historyTurn, userEnvelope } from '../../src/sessions/codec.ts'
import { aMessage } from '../doubles/drafts.ts'

const facts = { runId: 'run-1' }
const parts: readonly (readonly [string, readonly Part[]])[] = [
  ['plain text', [{ kind: 'text', mime: 'text/plain', content: 'hello' }]],
  ['Markdown', [{ kind: 'text', mime: 'text/markdown', content: '**hello**' }]],
  [
    'two texts',
    [
      { kind: 'text', mime: 'text/plain', content: 'a' },
      { kind: 'text', mime: 'text/plain', content: 'b' },
    ],
  ],
  [
    'a link and a kind from the future',
    [
      { kind: 'link', url: 'https://example.org' },
      { kind: 'sticker', emoji: 'x' },
    ],
  ],
]

test.each(parts)('%s survives the round trip', (_name, given) => {
  const turn = historyTurn(userEnvelope(aMessage({ parts: [...given] }), facts))
  expect(turn).toMatchObject({ id: 'm1', role: 'user', parts: given, timestamp: '2026-11-16T12:00:00.000Z' })
})

test("an envelope has the original's fields, and the run it belongs to", () => {
  expect(userEnvelope(aMessage(), facts)).toMatchObject({
    schema: 'agents-api.message',
    version: 1,
    type: 'text',
    role: 'user',
    content: 'hello',
    metadata: { run_id: 'run-1', stage: 'intent', message_id: 'm1' },
  })
})

test('history shows the sender without proof, claims or bearer material', () => {
  const message = aMessage()
  const [evidence] = message.sender.identities ?? []
  if (evidence === undefined) throw new Error('no evidence')
  evidence.claims = { secret: 'canary' }
  evidence.proof = { type: 'bearer-token', verified_by: 'x', token_id: 'canary' }
  expect(JSON.stringify(historyTurn(userEnvelope(message, facts)))).not.toContain('canary')
})

test('history keeps of evidence who, by whom, how and how strong, and of the sender no profile and no key', () => {
  const { sender } = aMessage()
  const [evidence] = sender.identities ?? []
  if (evidence === undefined) throw new Error('no evidence')
  const canaries = { source: { connector: 'canary' }, on_behalf_of: ['canary:boss'], id: 'canary' }
  const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'canary#1', value: 'canary..canary' } as const
  const spoken = verifiedSender([{ ...evidence, ...canaries, proof }], {
    address: sender.address,
    auth_method: 'test',
    key_id: 'canary',
    profile: { username: 'canary', extensions: { token: 'canary' } },
  })
  const turn = historyTurn(userEnvelope(aMessage({ sender: spoken }), facts))
  expect(JSON.stringify(turn)).not.toContain('canary')
  const { subject, issuer, method, assurance } = evidence
  expect(turn?.sender.identities).toMatchObject([{ subject, issuer, method, assurance, proof: { type: 'reduced' } }])
})

test("a reply reads back as the assistant's turn", () => {
  const line = assistantEnvelope('@demo@parley.localhost', [{ kind: 'text', mime: 'text/plain', content: 'hi' }], {
    ...facts,
    latencyMs: 5,
    at: '2026-11-16T12:00:01.000Z',
  })
  expect(line.metadata).toMatchObject({ stage: 'reply', latency_ms: 5 })
  expect(historyTurn(line)).toMatchObject({ role: 'assistant', sender: { address: '@demo@parley.localhost' } })
})

test('a deleted line is no turn any more, and a withdrawal says nothing of what was said', () => {
  const line = userEnvelope(aMessage({ text: 'secret' }), facts)
  expect(historyTurn({ ...line, metadata: { ...line.metadata, deleted: true } })).toBeUndefined()
  expect(
    JSON.stringify(amendmentEnvelope(aMessage({ text: 'secret' }), { ...facts, amends: 'm1', event: 'delete' })),
  ).not.toContain('secret')
})

test('a line of a newer release is left out of the history, not misread', () => {
  const line = userEnvelope(aMessage(), facts)
  // What a release to come may write beside us.
  expect(historyTurn({ ...line, version: 2 as 1 })).toBeUndefined()
})
