// Dedupe keys: what makes two deliveries the same message, and a hash of what the message says.
import type { InboundMessage } from '../contract/index.ts'

/** Structured, not joined by a separator: no id can imitate another one's key. */
export function dedupeKey(arrived: InboundMessage): string {
  const { channel } = arrived.message
  return JSON.stringify([
    arrived.isIdForAllAgents === true ? null : arrived.agent,
    // An unauthenticated event never occupies an authenticated sender's key.
    arrived.message.sender.verified,
    arrived.isSenderChosenId ? (arrived.subject ?? null) : null,
    channel?.event ?? 'new',
    arrived.semanticId,
    arrived.version,
  ])
}

/** The claims that a platform's own id may stand for, when all one has is the id; and those of a rejected or unparsable event. */
export function listDedupeKeys(platformId: string, agents: readonly string[]): readonly string[] {
  const asMessage = agents.flatMap((agent) =>
    [true, false].map((isVerified) => JSON.stringify([agent, isVerified, null, 'new', platformId, '0'])),
  )
  return [...asMessage, rejectedEventKey(platformId), operationKey(platformId)]
}

/** Inbound events that became no message are told apart by their delivery alone. */
export function rejectedEventKey(deliveryId: string): string {
  return JSON.stringify(['remains', deliveryId])
}

/** What an operator asked for: no inbound event can take its place, whatever it is called. */
export function operationKey(deliveryId: string): string {
  return JSON.stringify(['operation', deliveryId])
}

/** What the message says, for telling a redelivery from another body under the same id. */
export function contentKey(arrived: InboundMessage): string {
  if (arrived.isOnceById === true) return 'by its id'
  return JSON.stringify([arrived.subject ?? null, arrived.message.parts, arrived.message.channel?.command ?? null])
}
