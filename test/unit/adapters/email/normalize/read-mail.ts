// A mail as hop 3 is given it, with everything about it that a test does not say.
import type { Addresses } from '../../../../../adapters/email/normalize/addressing.ts'
import { threadKey } from '../../../../../adapters/email/threading.ts'
import type { Envelope, MailBody, MailHead, MailProof } from '../../../../../adapters/email/wire/mail.ts'
import type { VerifiedMail, VerifiedRecipient } from '../../../../../adapters/email/wire/verified-mail.ts'
export const alice = { address: 'alice@sender.example', domain: 'sender.example', name: 'Alice' }
const demo = { address: 'demo@agents.example', domain: 'agents.example', name: '' }

export const addresses: Addresses = { domains: ['agents.example'], agents: ['demo', 'billing'], aliases: {} }

export type Given = {
  readonly raw?: string
  readonly head?: Partial<MailHead>
  readonly proof?: Partial<MailProof>
  readonly body?: Partial<MailBody>
  readonly envelope?: Partial<Envelope>
  readonly recipients?: readonly VerifiedRecipient[]
  readonly hop?: number
  readonly original?: string
  readonly originalId?: string
}

export async function recipient(
  agent: string,
  changes: Partial<Extract<VerifiedRecipient, { kind: 'agent' }>> = {},
): Promise<VerifiedRecipient> {
  const id = 'one@sender.example'
  const key = await threadKey(id)
  const address = `${agent}@agents.example`
  const thread = { id, key, candidates: [], also: [`t:${key}`] }
  return { given: address, kind: 'agent', agent, address, thread, ...changes }
}

export async function readMail({
  raw,
  head,
  proof,
  body,
  envelope,
  recipients,
  hop,
  original,
  originalId,
}: Given = {}): Promise<VerifiedMail> {
  const bytes = new TextEncoder().encode(raw ?? 'From: alice@sender.example\r\n\r\nHello')
  return {
    way: 'smtp',
    raw: bytes,
    receivedAt: '2026-11-17T12:00:00.000Z',
    envelope: { mailFrom: alice.address, rcptTo: ['demo@agents.example'], ...envelope },
    head: {
      fields: [],
      bodyStart: 30,
      faults: [],
      from: alice,
      to: [demo],
      cc: [],
      replyTo: [],
      subject: 'Hello',
      messageId: 'one@sender.example',
      inReplyTo: [],
      references: [],
      threadIndex: undefined,
      date: '2026-11-17T11:59:00.000Z',
      ...head,
    },
    proof: {
      standing: 'verified',
      method: 'email-dmarc',
      author: alice,
      keyId: 's1._domainkey.sender.example',
      signedHeaders: ['from', 'subject'],
      reasons: ['dmarc=pass'],
      signatures: [],
      ...proof,
    },
    body: { text: 'Good morning.', mime: 'text/plain', files: [], flags: [], ...body },
    recipients: recipients ?? [await recipient('demo')],
    id: 'one@sender.example',
    hop,
    ...(original === undefined ? {} : { original }),
    ...(originalId === undefined ? {} : { originalId }),
  }
}
