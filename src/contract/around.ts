// Thread ancestors: messages of others that a message answers (hop 7). They are something to know and never a request.
import type { NormalizedMessage } from './message.ts'
import type { KnownPart } from './parts.ts'

/** A message that was let in, and what the conversation has already. */
export type AncestorsRequest = {
  readonly message: Pick<NormalizedMessage, 'id' | 'in_reply_to' | 'channel'>
  readonly agent: string
  /** Ids of messages that the agent is shown anyway. */
  readonly known: ReadonlySet<string>
}

/** A person's words as the platform shows them. The author is shown, and nothing is proven by it. */
export type AncestorMessage = {
  readonly id: string
  readonly address: string
  readonly name?: string
  readonly parts: readonly KnownPart[]
  readonly at?: string
}

/** `refused`: it says nothing to this agent, or not as its sender's own; `reason` is what the message ends with. */
export type ReferencedMessage =
  | { readonly kind: 'said'; readonly parts: readonly KnownPart[] }
  | { readonly kind: 'refused'; readonly reason: string }
