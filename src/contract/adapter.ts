// The adapter: four verbs in the order of the journey, and optional verbs, each there if the channel has it.

import type { JsonObject } from '../lib/json-value.ts'
import type { Capabilities, PresenceDetails, PresenceUpdate } from './capabilities.ts'
import type { CallQuestion } from './delivery.ts'
import type { Connection, InboundEvent, OnceClaim, RawRequest, RequestHead, StoredEventFacts } from './inbound-event.ts'
import type { NormalizedMessage } from './message.ts'
import type {
  AncestorMessage,
  AncestorsRequest,
  EmailEvent,
  EmailEventResult,
  Endpoint,
  FollowRequest,
  IngressContext,
  LiveVerbs,
  OpenedFile,
  OpenListener,
  Operations,
  ReferencedMessage,
  ServeContext,
  WebFinger,
} from './optional-verbs.ts'
import type { ProbeRequest, ProbeResult } from './probe.ts'
import type { NormalizedResponse } from './response.ts'
import type { AcceptResult, DeliveryResult, LookupResult, TransportAnswer, VerifyResult } from './results.ts'

/** Verify and normalize together: a verdict, and for a verified event what it says. */
export type NormalizeResult =
  | Exclude<VerifyResult<never>, { kind: 'genuine' }>
  | { readonly kind: 'read'; readonly events: readonly InboundEvent[] }
  | ({ readonly kind: 'unreadable'; readonly reason: string } & UnparsableEventFacts)

/** One vendor call as data. */
export type RenderedCall = {
  /** All that `deliver` needs, as JSON: it is stored, and comes back from there. Never a secret of the connection. */
  readonly call: JsonObject
  /** True for every call of the answer: its message is answered once they are all delivered. False for what accompanies it. */
  readonly primary: boolean
  /** What it goes out in order with, where that is not its conversation. */
  readonly orderKey?: string
  /** Set by the core after `render`; `expand` keeps it. */
  readonly question?: CallQuestion
}

/** One try at one call. */
export type Attempt = {
  readonly outboxId: string
  /** The run whose answer this is. */
  readonly runId: string | undefined
  /** The first is 1. */
  readonly number: number
  /** The same for every try of the same call: the key for a platform that takes one. */
  readonly clientId: string
  /** Set when an earlier try may have arrived, so that the text can say so. */
  readonly isMaybeRepeat: boolean
  /** Vendor id of the live message this call finishes, where one was opened and is there. */
  readonly liveReference?: string
  /** The call only edits that message: where it cannot, it is refused, and nothing is posted in its place. */
  readonly mustEdit?: boolean
  /** Of every request of this try: it ends with `capabilities.callTimeoutMs`. */
  readonly signal: AbortSignal
}

/** What a watching request is told in the end. */
export type WatchResult =
  | { readonly kind: 'answered'; readonly response: NormalizedResponse; readonly runId: string }
  /** Kept until an operator lets the sender in; the response says what it takes. */
  | { readonly kind: 'held'; readonly response: NormalizedResponse | null; readonly reason: string }
  | { readonly kind: 'ended'; readonly state: string; readonly reason: string }
  | { readonly kind: 'pending' }

/** How a channel shows presence. Each update is sent at most once, outside the outbox, and no turn waits for one. */
export interface Presence {
  /** What it shows besides `typing`. */
  readonly shows: readonly PresenceUpdate[]
  show(to: JsonObject, update: PresenceUpdate, details?: PresenceDetails): Promise<void>
}

/** The ways in besides webhooks: each is there if the connection uses it. */
export interface Ingress {
  /** Fetches what came, from where the cursor stands. One process at a time does. */
  poll?: ((cursor: string | undefined, signal: AbortSignal) => AsyncIterable<PolledBatch>) | undefined
  /** Opens a port for callers of the adapter's own protocol. Every process that stays does; a port that is taken throws. */
  listen?: ((context: IngressContext, signal: AbortSignal) => Promise<OpenListener>) | undefined
  /** Takes a mail that the runtime itself received. Undefined: it is for no agent of this connection. */
  onEmailEvent?: ((event: EmailEvent, context: IngressContext) => Promise<EmailEventResult | undefined>) | undefined
}

export interface OptionalVerbs {
  /**
   * What the webhook is answered once everything of it is stored; without it 200 and a line of JSON. `acceptances`: one for each event
   * that `normalize` returned, in their order, ignored ones too (`accepted`, and `duplicate` for noise). Not asked about what
   * `normalize` could not read: that is answered 200. `others`: what became of the other messages of a request that is watched, in their
   * order.
   */
  acknowledge?(
    acceptances: readonly AcceptResult[],
    result: WatchResult | undefined,
    others?: readonly WatchResult[],
  ): TransportAnswer
  /** Answers a watching request with a stream of what comes of it. Undefined: the request asked for none. */
  follow?(request: FollowRequest): Promise<Response | undefined>
  /**
   * What was rendered becomes what is sent: one call for each recipient. Called before the commit that queues the calls, and again
   * where that failed; it may look things up, and sends nothing. Calls to the requester stay primary, the others are not. What a
   * rendered call asks (`question`) every call made of it asks.
   */
  expand?(calls: readonly RenderedCall[], to: JsonObject): Promise<readonly RenderedCall[]>
  /** What stands in the document of an agent's address. */
  readonly webfinger?: WebFinger | undefined
  /** Looks up whether a call whose outcome is unknown has arrived, where `capabilities.idempotentSend` is `lookup`. */
  reconcile?(call: JsonObject, attempt: Attempt): Promise<LookupResult>
  /** Shows a reply while it grows. */
  readonly live?: LiveVerbs | undefined
  /** How inbound events come where they do not come as webhooks. */
  readonly ingress?: Ingress | undefined
  /** Undefined: there is nothing at this address. */
  serve?: ((request: Request, context: ServeContext) => Promise<Response | undefined>) | undefined
  /** Typing indicators, reactions and status. */
  readonly presence?: Presence | undefined
  /** Opens a file that a message refers to by `bytes_ref.kind: 'channel'`, with the platform's credential, which stays here. */
  openFile?(ref: JsonObject, signal: AbortSignal): Promise<OpenedFile>
  /** What an operator may ask for while the gateway runs. */
  readonly admin?: Operations | undefined
  /** Asks the platform how we stand there, without a message. Ends when it is told to; throws only what is a fault of ours. */
  probe?(request: ProbeRequest): Promise<ProbeResult>
  /** What a sender is called whose messages carry an id alone; asked for a stranger's pairing, and for who decided a question. */
  senderName?(
    message: Pick<NormalizedMessage, 'channel'>,
    to: JsonObject,
    signal: AbortSignal,
  ): Promise<string | undefined>
  /** Words of others that a message answers and the conversation does not have, the oldest first. Only what all may read. */
  fetchAncestors?: ((asked: AncestorsRequest, signal: AbortSignal) => Promise<readonly AncestorMessage[]>) | undefined
  /** What a message says that came by its address alone (`channel.named_at`). Throws where it cannot be asked for now. */
  fetchReferenced?(asked: Omit<AncestorsRequest, 'knownIds'>, signal: AbortSignal): Promise<ReferencedMessage>
}

/** Inbound events pulled together; the cursor moves, and `acknowledge` is called, only after they are committed. */
export type PolledBatch = {
  readonly requests: readonly RawRequest[]
  readonly cursor: string
  /** For transports that want an answer to each: the answers in the order of the events. */
  acknowledge?(answers: readonly TransportAnswer[]): Promise<void>
}

/** Looked up where the adapter has to: the sender may be known only to its store. */
type MaybePayload<Payload> = Payload | undefined | Promise<Payload | undefined>

/**
 * What headers alone rule out, asked before a byte of a webhook's body is read: no credential at all, one that cannot be right. It makes
 * no request, and rejects nothing that `verify` would take.
 */
export type ScreenHeaders = (head: RequestHead) => Extract<VerifyResult<never>, { kind: 'rejected' }> | undefined

/** What an adapter author writes. */
export interface AdapterDefinition<Payload, Call extends JsonObject> extends OptionalVerbs {
  /** The name of the channel, as in its definition. */
  readonly channel: string
  /** Limits and abilities as data: the core decides by them. */
  readonly capabilities: Capabilities
  /** Paths of its own beside the webhook, which is `/hooks/<channel>/<connection>`. */
  readonly endpoints?: readonly Endpoint[]
  /** What the operator should know at the start of this connection: the end of a line, in plain words. */
  readonly notice?: string
  /** No message gets here from another machine. */
  readonly isLocalOnly?: boolean
  readonly screenHeaders?: ScreenHeaders
  /** Whether the platform sent this. Nothing of the body counts before the signature does, the test of an endpoint included. */
  verify(rawRequest: RawRequest): Promise<VerifyResult<Payload>>
  /**
   * The payload of an inbound event that was verified when it came; without it a rejected event cannot be replayed. Undefined where
   * what is kept does not say who sent it: no sender is guessed.
   */
  payloadOf?(rawRequest: RawRequest, kept: StoredEventFacts): MaybePayload<Payload>
  /**
   * What a verified payload says: messages and ignored events. Pure: no network, no clock. What it throws is kept as dead and answered
   * 200, so that the platform does not send it for ever: an `UnparsableEventError` by its code, anything else as `normalize_failed`.
   */
  normalize(payload: Payload, rawRequest: RawRequest, connection: Connection): readonly InboundEvent[]
  /**
   * A reply as calls, in their order; none where there is nothing to say. Pure. `to`: `InboundMessage.replyTo`, as it was stored.
   * `mayNotify`: names as written, in small letters, that may reach whom they name; any other must notify no person.
   */
  render(
    reply: NormalizedResponse,
    to: JsonObject,
    mayNotify: ReadonlySet<string>,
    /** A live message may be open: the first call of words finishes it, if `Attempt.liveReference` says so. */
    hasLive: boolean,
  ): readonly (RenderedCall & { readonly call: Call })[]
  /**
   * One call to one request with `attempt.signal`, and its answer to an outcome. It follows no redirect. What it
   * throws counts as `unknown`.
   */
  deliver(call: Call, attempt: Attempt): Promise<DeliveryResult>
  /** Where several conversations share what `limits.conversation` grants: the name of what they share. Pure. */
  limitedBy?(call: Call): string | undefined
  /** The call with a line below its words where there is room for it, as an edit of the message it became. Pure. */
  withLine?(call: Call, words: string): Call
}

/** What the core sees: payloads and calls stay inside, as JSON that only the adapter reads. */
export interface Adapter extends OptionalVerbs {
  readonly channel: string
  readonly capabilities: Capabilities
  readonly endpoints: readonly Endpoint[]
  readonly notice?: string
  readonly isLocalOnly?: boolean
  readonly screenHeaders?: ScreenHeaders
  receive(rawRequest: RawRequest, connection: Connection): Promise<NormalizeResult>
  /** Reads what was kept of an earlier, verified event. Never called with anything from outside. */
  readonly reread:
    | ((rawRequest: RawRequest, connection: Connection, kept: StoredEventFacts) => Promise<NormalizeResult | undefined>)
    | undefined
  render(
    reply: NormalizedResponse,
    to: JsonObject,
    mayNotify?: ReadonlySet<string>,
    hasLive?: boolean,
  ): readonly RenderedCall[]
  deliver(call: JsonObject, attempt: Attempt): Promise<DeliveryResult>
  limitedBy(call: JsonObject): string | undefined
  readonly withLine: ((call: JsonObject, words: string) => JsonObject) | undefined
}

export function defineAdapter<Payload, Call extends JsonObject>(definition: AdapterDefinition<Payload, Call>): Adapter {
  const { payloadOf, withLine } = definition
  return {
    ...definition,
    endpoints: definition.endpoints ?? [],
    async receive(rawRequest, connection) {
      const verdict = await definition.verify(rawRequest)
      return verdict.kind === 'genuine'
        ? normalizePayload(definition, verdict.payload, rawRequest, connection)
        : verdict
    },
    reread: payloadOf === undefined ? undefined : createRereadMethod(definition, payloadOf),
    render: (reply, to, mayNotify = new Set(), hasLive = false) => definition.render(reply, to, mayNotify, hasLive),
    // A call was made by this adapter's own render and stored as JSON; only it knows the shape. Bound: an author may write a class.
    deliver: definition.deliver.bind(definition) as Adapter['deliver'],
    limitedBy: (definition.limitedBy?.bind(definition) as Adapter['limitedBy'] | undefined) ?? (() => undefined),
    withLine: withLine === undefined ? undefined : (call, words) => withLine(call as Call, words),
  }
}

function normalizePayload<Payload>(
  definition: Pick<AdapterDefinition<Payload, never>, 'normalize'>,
  payload: Payload,
  rawRequest: RawRequest,
  connection: Connection,
): NormalizeResult {
  try {
    return { kind: 'read', events: definition.normalize(payload, rawRequest, connection) }
  } catch (error) {
    if (!(error instanceof UnparsableEventError)) return { kind: 'unreadable', reason: 'normalize_failed' }
    return { kind: 'unreadable', reason: error.reason, ...error.facts }
  }
}

function createRereadMethod<Payload>(
  definition: Pick<AdapterDefinition<Payload, never>, 'normalize'>,
  payloadOf: (rawRequest: RawRequest, kept: StoredEventFacts) => MaybePayload<Payload>,
): NonNullable<Adapter['reread']> {
  return async (rawRequest, connection, kept) => {
    const payload = await payloadOf(rawRequest, kept)
    return payload === undefined ? undefined : normalizePayload(definition, payload, rawRequest, connection)
  }
}

/** What is known of an inbound event that cannot be read, as far as it could be read. */
export type UnparsableEventFacts = {
  /** Who had proven to be its sender. */
  readonly subject?: string
  /** The sender's own id for it, by which it can be asked for. */
  readonly deliveryId?: string
  /** What proves it, where that counts once. */
  readonly once?: readonly OnceClaim[]
  /** What to correct, where it is not the body. Nothing of what was sent. */
  readonly remedy?: string
  /** Refused for what came beside the body: nothing is kept to be read again. */
  readonly isFinal?: boolean
}

/** Thrown by normalize when an authenticated payload cannot be read; the event is kept as dead with this reason. */
export class UnparsableEventError extends Error {
  readonly reason: string
  readonly facts: UnparsableEventFacts

  constructor(reason: string, facts: UnparsableEventFacts = {}) {
    super(`the event cannot be read: ${reason}`)
    this.name = 'UnparsableEventError'
    this.reason = reason
    this.facts = facts
  }
}
