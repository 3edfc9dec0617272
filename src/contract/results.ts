// Results that we expect, as closed unions: verification, acceptance, delivery.
import type { Task } from './tasks.ts'

/** What a transport is answered: status and body, decided by the adapter or by the table in api/http-answers.ts. */
export type TransportAnswer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export type RejectReason =
  | 'missing_credential'
  | 'wrong_credential'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'wrong_agent'
  // What is wrong with a token of another issuer.
  | 'token_issuer'
  | 'token_algorithm'
  | 'token_key'
  | 'token_key_header'
  | 'token_signature'
  | 'token_type'
  | 'token_audience'
  | 'token_expired'
  | 'token_not_yet_valid'
  | 'token_lifetime'
  | 'token_inactive'
  | 'token_replayed'
  /** Its issuer cannot be asked now. The same token may hold a moment later. */
  | 'issuer_unavailable'
  | 'bad_signature'
  | 'stale_timestamp'
  | 'future_timestamp'
  | 'replayed'
  | 'not_allowed_here'
  /** A web page had a browser send it, and the page is not the gateway's own. */
  | 'foreign_page'
  | 'malformed_request'

/** Verification: whether an inbound event is what it claims to be. Nothing else is read before this is `genuine`. */
export type VerifyResult<Payload> =
  | { readonly kind: 'genuine'; readonly payload: Payload }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  /** `challenge`: the WWW-Authenticate header of the answer. */
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge?: string }
  /** It cannot be judged now: nothing is kept, and the sender should send it again. */
  | { readonly kind: 'later'; readonly reason: string }
  /** It is what it claims to be and will never be taken. A row says so. `remedy`: what its sender could do. */
  | ({ readonly kind: 'rejected_event'; readonly reason: string; readonly remedy: string } & RejectedEventFacts)

/** What is known of a sender who is rejected for good, as far as it was proven. */
export type RejectedEventFacts = {
  readonly subject?: string
  /** The sender's own id for it, by which it can be asked for. */
  readonly deliveryId?: string
}

/** Acceptance: what became of one message. Everything but a thrown error means: stored, and may be acknowledged. */
export type AcceptResult =
  | {
      readonly kind: 'accepted'
      readonly inboxId: string
      readonly flagged: boolean
      /** Of the task that it began or goes on with. */
      readonly taskId?: string
      /** The task that it began, as it was stored. */
      readonly task?: Task
    }
  /** `isReplay`: its proof was used before, by a message of another id. */
  | { readonly kind: 'duplicate'; readonly inboxId: string; readonly isReplay?: boolean }
  | { readonly kind: 'stale'; readonly inboxId: string }
  | { readonly kind: 'refused'; readonly reason: string }

/** Receiving: what became of one request, whichever way it came in (webhook, poll, socket, SMTP). `trace`: a refused sender can ask by it. */
export type ReceiveResult =
  /** `isUnproven`: nothing proves who sent it. */
  | { readonly kind: 'stored'; readonly acceptances: readonly AcceptResult[]; readonly isUnproven?: boolean }
  /** Kept as ignored, with why; coming again would change nothing. */
  | {
      readonly kind: 'rejected_event'
      readonly reason: string
      readonly remedy: string
      readonly isUnproven?: boolean
      readonly acceptances: readonly AcceptResult[]
    }
  /** Kept as dead, with why. */
  | {
      readonly kind: 'unreadable'
      readonly reason: string
      readonly remedy?: string
      readonly acceptances: readonly AcceptResult[]
    }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  /** Its origin was not proven: nothing was kept. */
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge?: string; readonly trace: string }
  /** Nothing was kept: it has to come again. */
  | { readonly kind: 'later'; readonly reason: string; readonly trace?: string }
  /** More than strangers may send at once. `isDropped`: it was acknowledged, since its platform would hold up or stop the others. */
  | {
      readonly kind: 'limited'
      readonly reason: string
      readonly seconds: number
      readonly isDropped: boolean
      readonly trace: string
    }
  /** The day's share of people who are not admitted is used up, or there is too little room for them: nothing was kept. */
  | {
      readonly kind: 'spent'
      readonly reason: 'strangers_spent' | 'disk_low'
      readonly isUnproven: boolean
      readonly retryAfterSeconds: number
      readonly trace: string
    }

/** Delivery: what a vendor call came to. Unknown is its own case: repeating may double, dropping may lose. */
export type DeliveryResult =
  /** `name`: what the conversation is called there from now on, too, where the vendor gave the message a name of its own. */
  | { readonly kind: 'delivered'; readonly vendorId?: string; readonly name?: string }
  | {
      readonly kind: 'retry'
      readonly reason: string
      readonly afterMs?: number
      readonly scope?: 'conversation' | 'connection'
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Reconciling an unknown send by looking it up at the vendor. */
export type LookupResult =
  | { readonly kind: 'found'; readonly vendorId: string }
  | { readonly kind: 'absent' }
  /** `afterMs`: the vendor wants to be asked again no sooner. */
  | { readonly kind: 'undecided'; readonly reason: string; readonly afterMs?: number }
