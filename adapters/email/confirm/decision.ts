// A pressed button behind a decision link, as the command it stands for: from the person the link was sent to, proven by having it. Pure.
import {
  type Connection,
  formatAddress,
  type InboundMessage,
  mintEvidence,
  parseAddress,
  type Sender,
  textPart,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { mailSubject } from '../wire/address.ts'
import type { Decision, DecisionNote } from './note.ts'

export type PressedDecision = {
  readonly decision: Decision
  /** The hash of the link's token: one link, one message, whatever is pressed how often. */
  readonly key: string
  readonly note: DecisionNote
  readonly receivedAt: string
  readonly connection: Connection
}

export function decisionMessage({ decision, key, note, receivedAt, connection }: PressedDecision): InboundMessage {
  const subject = mailSubject(note.address)
  const recipient = formatAddress({ local: note.agent, domain: connection.domain })
  const id = `decide:${key}`
  return {
    kind: 'message',
    message: {
      id,
      thread_id: note.thread_id,
      sender: decisionSender(note, subject, recipient, { receivedAt, connection }),
      recipient,
      parts: [textPart(`/${decision} ${note.code}`)],
      recipient_capabilities: { mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] } },
      received_via: 'email',
      received_at: receivedAt,
      raw: { link: key, decision },
      channel: {
        connector_id: connection.id,
        external_provider: 'email',
        external_conversation_id: note.thread_id,
        external_message_id: null,
        sender_id: note.address,
        room_kind: 'dm',
        from_self: false,
        addressed: 'command',
        visibility: 'direct',
        mentions: [],
        event: 'new',
        command: { name: decision, args: note.code },
      },
    },
    agent: note.agent,
    isAddressed: true,
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    // Approve and reject pressed at once are one message: the first that is stored.
    isOnceById: true,
    deliveryId: id,
    subject,
    // The link is ours and stands for a mail in this thread.
    thread: { candidates: [`t:${note.thread}`], vouched: true, fresh: `t:${note.thread}` },
    replyTo: note.reply_to,
    obligation: 'click',
  }
}

function decisionSender(
  { address, name }: DecisionNote,
  subject: string,
  recipient: string,
  { receivedAt, connection }: Pick<PressedDecision, 'receivedAt' | 'connection'>,
): Sender {
  const parsed = parseAddress(address) ?? { local: 'unverified', domain: connection.domain }
  const evidence = mintEvidence({
    subject,
    issuer: connection.domain,
    method: 'urn:gw:auth:email-link:v0.1',
    // A link can be passed on, so it never proves more than the mail it answers did.
    assurance: 'domain',
    recipient,
    issuedAt: receivedAt,
  })
  return verifiedSender([evidence], {
    address: formatAddress(parsed),
    ...(name === '' ? {} : { display_name: name }),
    auth_method: 'email-link',
  })
}
