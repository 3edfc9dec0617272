// Where an adapter delivers inbound events by itself, from a port or a request of its own protocol, and what it is told to
// answer.
import type { RawRequest } from './arrival.ts'
import type { AcceptResult, TransportAnswer } from './outcomes.ts'

/**
 * What a caller is answered with. `later`: the same may be taken in a while; the others will never be. `trace`: the id by which a
 * rejected caller can ask.
 */
export type ListenResult =
  | { readonly kind: 'stored'; readonly acceptances: readonly AcceptResult[]; readonly isUnproven?: boolean }
  | {
      /** `spent`: the day's share of those who are not admitted is used up, or there is too little room for them. */
      readonly kind: 'rejected' | 'later' | 'turned_away' | 'unreadable' | 'spent'
      readonly reason: string
      /** Nothing proved who sent it. */
      readonly isUnproven?: boolean
      readonly trace?: string
      /** What the adapter's own rules answer, for a protocol that has statuses. */
      readonly answer?: TransportAnswer
    }

/** What a listener is given. */
export interface IngressContext {
  /** Hops 2-4. Resolves when what was taken is committed; a fault on our side is `later`. */
  receive(arrival: RawRequest): Promise<ListenResult>
}

/** A listener that is open. `address`: where, as people write it. */
export interface OpenListener {
  readonly address: string
  /** Takes no new callers, lets those that are connected finish, and resolves when none is left. */
  stop(): Promise<void>
}

/** What the runtime itself took in and hands over, where it has a transport of its own: an envelope and a body. */
export type EmailEvent = {
  readonly from: string
  readonly to: string
  /** As the runtime says. */
  readonly size: number
  readonly body: ReadableStream<Uint8Array>
}

/** `text`: what the sender is told. */
export type EmailEventResult =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly text: string }
  | { readonly kind: 'later'; readonly reason: string }
