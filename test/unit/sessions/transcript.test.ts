// The one codec between messages and transcript lines: what is stored reads back as what was said.
import { expect, test } from 'vitest'
import { type Part, verifiedSender } from '../../../src/contract/index.ts'
import {
  amendmentEnvelope,
  assistantEnvelope,
  toHistoricalMessage,
  userEnvelope,
} from '../../../src/sessions/transcript.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'

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
  const turn = toHistoricalMessage(userEnvelope(aMessage({ parts: [...given] }), facts))
  expect(turn).toMatchObject({ id: 'm1', role: 'user', parts: given, timestamp: '2026-11-16T12:00:00.000Z' })
})

test('an envelope has the fields of its schema, and the run it belongs to', () => {
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
  expect(JSON.stringify(toHistoricalMessage(userEnvelope(message, facts)))).not.toContain('canary')
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
  const turn = toHistoricalMessage(userEnvelope(aMessage({ sender: spoken }), facts))
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
  expect(toHistoricalMessage(line)).toMatchObject({ role: 'assistant', sender: { address: '@demo@parley.localhost' } })
})

test('a deleted line is no turn any more, and a withdrawal says nothing of what was said', () => {
  const line = userEnvelope(aMessage({ text: 'secret' }), facts)
  expect(toHistoricalMessage({ ...line, metadata: { ...line.metadata, deleted: true } })).toBeUndefined()
  expect(
    JSON.stringify(amendmentEnvelope(aMessage({ text: 'secret' }), { ...facts, amends: 'm1', event: 'delete' })),
  ).not.toContain('secret')
})

test('a line of a newer release is left out of the history, not misread', () => {
  const line = userEnvelope(aMessage(), facts)
  // What a release to come may write beside us.
  expect(toHistoricalMessage({ ...line, version: 2 as 1 })).toBeUndefined()
})

const stored = (id: string, name: string): Part => ({
  kind: 'file',
  bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64) },
  mime: 'image/jpeg',
  name,
  size: 3,
  attachment: { id, bucket: 'agent-files', path: `agent-inputs/u/t/r/${name}` },
})
const one = stored('018f0000-0000-7000-8000-000000000001', 'img.jpg')
const two = stored('018f0000-0000-7000-8000-000000000002', 'other.jpg')
const said: Part = { kind: 'text', mime: 'text/plain', content: '帮我看看这张图' }

test('one attachment is stored as a single object, beside our own list, and reads back as it was', () => {
  const line = userEnvelope(aMessage({ parts: [said, one] }), facts)
  const { user_message_attachments, attachments } = line.metadata
  expect({ user_message_attachments }).toEqual({
    user_message_attachments: {
      bucket: 'agent-files',
      path: 'agent-inputs/u/t/r/img.jpg',
      mime_type: 'image/jpeg',
    },
  })
  expect(attachments).toEqual([
    {
      id: '018f0000-0000-7000-8000-000000000001',
      bucket: 'agent-files',
      path: 'agent-inputs/u/t/r/img.jpg',
      mime_type: 'image/jpeg',
      size: 3,
      sha256: 'a'.repeat(64),
      name: 'img.jpg',
    },
  ])
  expect(toHistoricalMessage(line)?.parts).toEqual([said, one])
})

test('SU-24 two attachments are both there, and the key for one is not written', () => {
  const line = userEnvelope(aMessage({ parts: [one, said, two] }), facts)
  expect(line.metadata).not.toHaveProperty('user_message_attachments')
  expect(line.metadata['attachments']).toMatchObject([{ name: 'img.jpg' }, { name: 'other.jpg' }])
  expect(toHistoricalMessage(line)?.parts).toEqual([one, said, two])
})

test("a reply's files are listed, and are nobody's upload", () => {
  const line = assistantEnvelope('@demo@parley.localhost', [one], { ...facts, at: '2026-11-16T12:00:01.000Z' })
  expect(line.metadata).toMatchObject({ attachments: [{ name: 'img.jpg' }] })
  expect(line.metadata).not.toHaveProperty('user_message_attachments')
})

test.each([
  ['an object', (ref: object) => ref],
  ['an array', (ref: object) => [ref]],
])('SU-25 a line of an older writer that names its file as %s is read with that file', (_name, as) => {
  const line = userEnvelope(aMessage({ parts: [said] }), facts)
  const ref = { bucket: 'agent-files', path: 'agent-inputs/u/t/r/img.jpg', mime_type: 'image/jpeg' }
  const legacy = { ...line, metadata: { ...line.metadata, user_message_attachments: as(ref) } }
  expect(toHistoricalMessage(legacy)?.parts).toMatchObject([
    said,
    { kind: 'file', mime: 'image/jpeg', name: 'img.jpg' },
  ])
  const broken = { ...line, metadata: { ...line.metadata, user_message_attachments: as({ bucket: 'x' }) } }
  expect(toHistoricalMessage(broken)?.parts).toEqual([said])
})

const references: readonly (readonly [string, Extract<Part, { kind: 'file' }>['bytes_ref']])[] = [
  ['bytes', { kind: 'inline', data_base64: 'c2VjcmV0' }],
  ['an address', { kind: 'url', url: 'https://secret.example/x?token=secret' }],
  ["a channel's own reference", { kind: 'channel', ref: { file_id: 'secret' } }],
  ['a digest with an address', { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64) }],
]
test.each(references)('%s of a file never becomes part of a transcript', (_name, bytes_ref) => {
  const part: Part = { kind: 'file', bytes_ref, name: 'x.txt' }
  const line = userEnvelope(aMessage({ parts: [said, part] }), facts)
  expect(JSON.stringify(line)).not.toMatch(/secret|c2VjcmV0/)
  expect(toHistoricalMessage(line)?.parts).toEqual([
    said,
    { kind: 'text', mime: 'text/plain', content: '[file x.txt]' },
  ])
})

test('an address beside a digest is left out, also of a file that is kept', () => {
  const url = 'https://secret.example/x?token=secret'
  const part = { ...one, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: 'a'.repeat(64), url } } as Part
  expect(JSON.stringify(userEnvelope(aMessage({ parts: [part] }), facts))).not.toContain('secret')
})

test('a withdrawal names no file either', () => {
  const line = amendmentEnvelope(aMessage({ parts: [one] }), { ...facts, amends: 'm1', event: 'delete' })
  expect(JSON.stringify(line)).not.toContain('img.jpg')
})
