// The routing facts of a mail: who else is in it, and whether this agent is addressed. Only To and Cc count, never the text
// of a mail. Pure.
import type { ChannelContext, Connection } from '../../../src/contract/index.ts'
import type { Mailbox } from '../wire/judged.ts'
import type { VerifiedMail, VerifiedRecipient } from '../wire/read.ts'
import { isFieldCounted } from '../wire/signed-fields.ts'
import { type Addresses, isOurAddress, resolveRecipient } from './recipients.ts'
import { provenAuthor } from './sender.ts'

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

const maxMentions = 50

export function mailChannelContext(
  mail: VerifiedMail,
  recipient: AgentRecipient,
  scene: { readonly connection: Connection; readonly addresses: Addresses; readonly threadId: string },
): ChannelContext {
  const { head, proof } = mail
  const author = provenAuthor(proof)
  const isOther = ({ address }: Mailbox): boolean =>
    address !== author?.address && !isOurAddress(scene.addresses, address)
  // A recipient that a server on the way wrote in makes it less direct, and is neither addressed nor addresses the agent.
  const named = [...(isFieldCounted(proof, 'to') ? head.to : []), ...(isFieldCounted(proof, 'cc') ? head.cc : [])]
  const others = [...head.to, ...head.cc].filter(isOther)
  const isNamed = named.some(({ address }) => {
    const meant = resolveRecipient(scene.addresses, address)
    return meant.kind === 'agent' && meant.agent === recipient.agent
  })
  // A blind copy is ambient context: answering it would tell the others of it.
  const isDirect = others.length === 0 && (isNamed || recipient.tokenKey !== undefined)
  return {
    connector_id: scene.connection.id,
    external_provider: 'email',
    external_conversation_id: scene.threadId,
    external_message_id: recipient.thread.id,
    sender_id: author?.address ?? null,
    room_kind: isDirect ? 'dm' : 'group',
    from_self: false,
    addressed: isDirect ? 'dm' : recipient.tokenKey !== undefined ? 'reply' : isNamed ? 'mention' : 'none',
    visibility: isDirect ? 'direct' : 'private',
    mentions: named
      .filter(isOther)
      .slice(0, maxMentions)
      .map(({ address }) => ({ text: address, subject: `mailto:${address}` })),
    event: 'new',
  }
}
