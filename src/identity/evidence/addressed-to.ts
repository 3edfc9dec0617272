// A message read by the agent that takes it (hop 6): where several share an account, that is known only after the message and
// its evidence were written down.
import type { IdentityEvidence, NormalizedMessage } from '../../contract/index.ts'

type AddressedMessage = Pick<NormalizedMessage, 'recipient' | 'sender'>

/**
 * `recipient` and the audience of what this gateway proved itself name the agent afterwards. What another gateway signed keeps
 * the audience it was signed for: it is worth nothing to any other recipient.
 */
export function readdressMessage<Message extends AddressedMessage>(message: Message, address: string): Message {
  const { recipient, sender } = message
  if (recipient === address) return message
  const { identities } = sender
  if (identities === undefined) return { ...message, recipient: address }
  const readdressed = identities.map((evidence) =>
    isProvenByGateway(evidence) ? readdressEvidence(evidence, recipient, address) : evidence,
  )
  return { ...message, recipient: address, sender: { ...sender, identities: readdressed } }
}

function isProvenByGateway({ proof }: IdentityEvidence): boolean {
  return proof.type === 'transport' || proof.type === 'bearer-token'
}

function readdressEvidence(evidence: IdentityEvidence, from: string, to: string): IdentityEvidence {
  const { audience } = evidence
  if (typeof audience === 'string') return audience === from ? { ...evidence, audience: to } : evidence
  return { ...evidence, audience: audience.map((each) => (each === from ? to : each)) }
}
