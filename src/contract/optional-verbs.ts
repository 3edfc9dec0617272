// Optional verbs of an adapter: serving its own requests, own ingress, live messages, operations, addresses, thread
// ancestors, files.
import type * as z from 'zod'
import type { JsonObject } from '../lib/json-value.ts'
import type { Connection, IgnoredEvent, InboundMessage, RawRequest, RequestSource } from './inbound-event.ts'
import type { NormalizedMessage } from './message.ts'
import type { KnownPart } from './parts.ts'
import type { AcceptResult, ReceiveResult, RejectReason } from './results.ts'

/**
 * A path beside `/hooks/{channel}/{connection}`; `watch` keeps the request open until the run has its answer, `serve` leaves the
 * whole exchange to the adapter, whatever the method.
 */
export type Endpoint = {
  readonly path: string
  readonly answer: 'acknowledge' | 'watch' | 'serve'
  /** How the document of the API shows it; without it: as a path that belongs to the channel. */
  readonly describe?: readonly DescribedRequest[]
}

/** One request for the document of the API, with the schema that the adapter reads it with. */
export type DescribedRequest = {
  readonly method: 'get' | 'post' | 'delete'
  /** Its name there, the same for ever. */
  readonly id: string
  readonly summary: string
  readonly about?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: { readonly schema: z.ZodType; readonly example?: unknown }
  readonly answers: Readonly<
    Record<
      number,
      {
        readonly what: string
        readonly schema?: z.ZodType
        readonly example?: unknown
        /** Besides JSON. */
        readonly mediaType?: string
      }
    >
  >
  /** Statuses of its errors. */
  readonly problems?: readonly number[]
}

/** What an adapter is given with a request that it answers itself. */
export interface ServeContext {
  readonly from: RequestSource
  readonly receivedAt: string
  /** Accepts what the adapter has verified and read: stored in one commit when this resolves. */
  accept(messages: readonly InboundMessage[]): Promise<readonly AcceptResult[]>
  /** Verify, normalize and accept, as for a webhook: for a request whose body is an inbound event. Resolves when what was taken is committed. */
  receive(rawRequest: RawRequest): Promise<ReceiveResult>
  /** A rejected caller gets a trace id to ask by; nothing else of theirs is kept. */
  logRejection(reason: RejectReason): string
  /** Something broke: it is written down, and the caller is given a trace id to ask by and nothing else. */
  fail(error: unknown): string
  /** Work that outlives the answer: an open stream. Until it is over the process does not end by itself. */
  keepOpen(work: Promise<void>): void
}

/** A request that was taken in and wants to be shown what comes of it. */
export type FollowRequest = {
  readonly acceptance: AcceptResult
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly keepOpen: (until: Promise<void>) => void
}

// Ingress: an adapter delivers inbound events by itself, from a port or a request of its own protocol, and is told what to answer.

/** What a listener is given. */
export interface IngressContext {
  /** Verify, normalize and accept. Resolves when what was taken is committed; a fault on our side is `later`. */
  receive(rawRequest: RawRequest): Promise<ReceiveResult>
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

// How a reply is shown while it grows (docs/decisions/0015, 0018).

/**
 * A live message: opened by an outbox row, whose vendor id is the reference of every frame; frames are shown at most once and
 * outside the outbox; the reply's first call, rendered with `hasLive`, is an edit of it when it is delivered.
 */
export interface LiveVerbs {
  /** Least time between two frames of one message. */
  readonly everyMs: number
  /** The call that opens it with the words so far. Undefined: not in this place. */
  open(to: JsonObject, text: string): JsonObject | undefined
  /**
   * Words that are no message yet and vanish by themselves. Where they can be shown nothing is opened: frames carry this
   * reference, and the reply is a message like any other. `turnId` is the same for every attempt. Undefined: not in this place.
   */
  preview?(to: JsonObject, turnId: string): LivePreview | undefined
  frame(frame: LiveFrame): Promise<FrameOutcome>
}

export type LivePreview = {
  readonly reference: string
  readonly everyMs: number
  /** Shown again after so long without a new word, before it vanishes. */
  readonly refreshMs: number
}

export type LiveFrame = {
  readonly reference: string
  readonly to: JsonObject
  /** All words so far, Markdown as the model writes it. */
  readonly text: string
  /** What the last frame that was shown, or the opening, showed. After a take-over that is unknown: then it is no beginning of `text`. */
  readonly shown: string
  readonly signal: AbortSignal
}

/** `over`: no more frames for this message; the final reply still comes. `unavailable`: a preview cannot be shown, a live message may. */
export type FrameOutcome =
  | { readonly kind: 'shown' }
  | { readonly kind: 'later'; readonly afterMs: number }
  | { readonly kind: 'over' | 'unavailable'; readonly reason: string }

// Operations that an operator asks of a channel: what one changes is taken like an inbound event: one row, one commit, once by its name.

export type OperationFacts = { readonly connection: Connection; readonly at: string }

/** Stored as an inbound event that asks for nothing: `reason` says what was done, `deliveryId` makes it happen once. */
export type OperationChange = Pick<
  IgnoredEvent,
  'recordWrites' | 'protocolReplies' | 'cancelPending' | 'roomStatus' | 'subject' | 'deliveryId'
> & {
  readonly reason: string
}

/** `value`: what is shown to the operator. Without `change` it only looked. */
export type OperationResult = { readonly value: JsonObject; readonly change?: OperationChange }

/** Throws `bad_request` or `not_found` where what was asked cannot be done, with what to do instead. */
export type Operation = (input: JsonObject, facts: OperationFacts) => Promise<OperationResult>

/** By name, such as `reports.list`. */
export type Operations = Readonly<Record<string, Operation>>

// Where an agent of ours is found on a channel: what stands in the WebFinger document of its address.

/** Each place in full, by https; on this machine alone also by http. */
export type AgentUrls = {
  /** Its card, for other agents. */
  readonly card?: string
  /** Its actor, where it speaks ActivityPub. */
  readonly self?: string
  readonly profilePage?: string
  /** Where a user of another server goes to follow it: a template with `{uri}` in it. */
  readonly subscribe?: string
  /** Its mail address. */
  readonly mail?: string
  /** The domain of its address, where that is another one than this gateway's own. */
  readonly domain?: string
}

/** What a channel says when a client asks for an agent's address. */
export interface WebFinger {
  /** Undefined: it is not on this channel. `gone`: it was, and is no more. `agent` is any name that a client asked for. */
  urls(agent: string): Promise<AgentUrls | 'gone' | undefined>
  /** Whom an address of this channel's own belongs to, where a client asks by that. Pure. */
  agentAt?(url: URL): string | undefined
}

// Thread ancestors: messages of others that a message answers. They are something to know and never a request.

/** A message that was let in, and what the conversation has already. */
export type AncestorsRequest = {
  readonly message: Pick<NormalizedMessage, 'id' | 'in_reply_to' | 'channel'>
  readonly agent: string
  /** Ids of messages that the agent is shown anyway. */
  readonly knownIds: ReadonlySet<string>
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

// A file that a message refers to, opened at its platform.

/** What a platform gave for a file. `mime` and `name` are its words; the bytes are judged by the store. */
export type OpenedFile =
  | {
      readonly kind: 'opened'
      readonly body: ReadableStream<Uint8Array>
      readonly mime?: string
      readonly name?: string
      readonly size?: number
    }
  /** For good: gone, too large for the platform's own API, not ours to read, or a login page in its place. */
  | { readonly kind: 'refused'; readonly reason: 'gone' | 'too_large' | 'not_allowed' | 'login_page' }
  | { readonly kind: 'retry'; readonly reason: string }
