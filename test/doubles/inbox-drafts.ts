// Inbox drafts and messages for tests: everything filled in, the test names what matters.
import { randomUUID } from 'node:crypto'
import { type NormalizedMessage, verifiedSender } from '../../src/contract/index.ts'
import type { InboxDraft } from '../../src/db/inbox.ts'

export function aMessage(
  changes: Partial<NormalizedMessage> & { readonly text?: string; readonly subject?: string } = {},
): NormalizedMessage {
  const { text = 'hello', subject = 'test:alice', ...fields } = changes
  const audience = '@demo@parley.localhost'
  return {
    id: 'm1',
    thread_id: 'c1',
    sender: verifiedSender(
      [
        {
          subject,
          issuer: 'parley.localhost',
          method: 'urn:test:v1',
          assurance: 'platform',
          audience,
          issued_at: '2026-11-16T12:00:00.000Z',
          proof: { type: 'transport', verified_by: 'parley' },
        },
      ],
      { address: '@alice@test.parley.localhost', auth_method: 'test' },
    ),
    recipient: audience,
    parts: [{ kind: 'text', mime: 'text/plain', content: text }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'test',
    received_at: '2026-11-16T12:00:00.000Z',
    raw: null,
    ...fields,
  }
}

export function aDraft(changes: Partial<InboxDraft> = {}): InboxDraft {
  const subject = changes.subject === undefined ? 'test:alice' : changes.subject
  const { raw: _raw, ...message } = aMessage({ id: changes.messageId ?? 'm1', subject: subject ?? '' })
  const id = changes.id ?? randomUUID()
  return {
    id,
    arrivalId: id,
    once: [],
    tenant: 'default',
    connection: 'test',
    agent: 'demo',
    kind: 'message',
    state: 'queued',
    reason: null,
    dedupe: changes.messageId ?? 'm1',
    content: 'hello',
    recipient: '@demo@parley.localhost',
    subject,
    obligation: null,
    messageId: 'm1',
    deliveryId: null,
    event: 'new',
    editOf: null,
    // A validated message is JSON.
    message: message as unknown as NonNullable<InboxDraft['message']>,
    raw: {},
    task: null,
    also: [],
    originals: [],
    bounce: null,
    effects: [],
    sends: [],
    cancels: null,
    isFarewell: false,
    replyTo: { chat: 'c1' },
    bytes: 100,
    platformAt: null,
    horizonMs: 86_400_000,
    traceId: 'trace',
    candidates: ['c1'],
    isVouched: true,
    fresh: 'fresh',
    replyToken: null,
    isExclusive: false,
    isControl: false,
    settleMs: 0,
    routing: null,
    copies: 0,
    conversationId: randomUUID(),
    ...changes,
  }
}
