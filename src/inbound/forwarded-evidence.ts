// Evidence that another gateway attached to a message: judged before the message is stored, because it lives for minutes.
import {
  type IdentityEvidence,
  type InboundMessage,
  mentionRelaySchema,
  type NormalizedMessage,
  type Sender,
  verifiedSender,
} from '../contract/index.ts'
import { admitForwarded } from '../identity/trust.ts'
import type { GatewayDeps } from '../turns/deps.ts'

type ForwardedDeps = Pick<GatewayDeps, 'trustedIssuers' | 'attestations' | 'now'>

/** What is believed joins what the adapter proved itself; of the rest the codes stay, for operators who ask why. */
export async function withForwarded(deps: ForwardedDeps, event: InboundMessage): Promise<InboundMessage> {
  const { forwarded, relay, ...rest } = event
  if (forwarded === undefined) return event
  const { message } = rest
  const { trustedIssuers, attestations, now } = deps
  const { admitted, dropped } = await admitForwarded({ issuers: () => trustedIssuers, attestations, now }, forwarded, {
    audience: message.recipient,
    messageId: message.id,
  })
  const sender = senderWith(message.sender, admitted)
  const recipient_capabilities = capabilitiesWith(message, admitted.length > 0 ? relay : undefined)
  const codes = dropped.map(({ code }) => code)
  const subject = rest.subject ?? admitted[0]?.subject
  return {
    ...rest,
    message: {
      ...message,
      recipient_capabilities,
      sender: codes.length === 0 ? sender : { ...sender, dropped_evidence: codes },
    },
    ...(subject === undefined ? {} : { subject }),
  }
}

/** A gateway that is believed about people is believed about its own channel; what cannot be read changes nothing. */
function capabilitiesWith(
  { recipient_capabilities: own }: NormalizedMessage,
  relay: unknown,
): NormalizedMessage['recipient_capabilities'] {
  const read = mentionRelaySchema.safeParse(relay)
  return read.success ? { ...own, mention_relay: read.data } : own
}

/** Evidence on a sender whom the adapter did not verify proves nothing, and does not come to count beside some that does. */
function senderWith(sender: Sender, admitted: readonly IdentityEvidence[]): Sender {
  const { identities, verified, ...shown } = sender
  const [first, ...others] = [...(verified ? identities : []), ...admitted]
  return admitted.length === 0 || first === undefined ? sender : verifiedSender([first, ...others], shown)
}
