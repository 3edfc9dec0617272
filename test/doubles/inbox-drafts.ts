// Inbox drafts and messages for tests: everything filled in, the test names what matters.
import { randomUUID } from 'node:crypto'
import { type NormalizedMessage, verifiedSender } from '../../src/contract/index.ts'
import type { InboxDraft } from '../../src/db/inbox-row.ts'

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
  const { subject } = { subject: 'test:alice', ...changes }
  const { raw: _raw, ...message } = aMessage({ id: changes.messageId ?? 'm1', subject: subject ?? '' })
  return {
    id: randomUUID(),
    tenant: 'default',
    connection: 'test',
    agent: 'demo',
    kind: 'message',
    state: 'queued',
    dedupe: changes.messageId ?? 'm1',
    content: 'hello',
    recipient: '@demo@parley.localhost',
    subject,
    messageId: 'm1',
    event: 'new',
    // A validated message is JSON.
    message: message as unknown as NonNullable<InboxDraft['message']>,
    raw: {},
    replyTo: { chat: 'c1' },
    bytes: 100,
    horizonMs: 86_400_000,
    traceId: 'trace',
    candidates: ['c1'],
    platformVerified: true,
    newThreadKey: 'fresh',
    copies: 0,
    conversationId: randomUUID(),
    ...changes,
  }
}
