// The adapter: four verbs in the order of the journey, optional verbs declared as capabilities (ruling 33).
import type { CallerContext } from './caller.ts'
import type { Capabilities, OptionalVerb, RecipientCapabilities } from './capabilities.ts'
import { GatewayError } from './errors.ts'
import type { JsonObject } from './json.ts'
import type { LiveVerbs } from './live.ts'
import type { NormalizedMessage } from './message.ts'
import type { Acceptance, DeliveryOutcome, LookupOutcome, TransportAnswer, Verdict } from './outcomes.ts'
import type { NormalizedResponse } from './response.ts'

/** What came in, before anybody judged it. */
export type RawArrival = {
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly receivedAt: string
  readonly isLoopback: boolean
}

/** What a row knows about an earlier arrival and its body does not say. */
export type KeptFacts = {
  readonly subject: string | null
  readonly caller?: CallerContext | undefined
  readonly agentChain?: RecipientCapabilities['agent_chain']
}

/** Facts about the connection an arrival belongs to; normalize gets them as data and so stays pure. */
export type Connection = {
  readonly tenant: string
  readonly id: string
  readonly agent: string
  /** Domain of the addresses we mint for this connection's people and agents. */
  readonly domain: string
}

/** Threads a message asks to join. `vouched` = the platform itself says so; otherwise the sender merely claims it. */
export type ThreadClaim = {
  readonly candidates: readonly string[]
  readonly vouched: boolean
  /** Conversation to open when no candidate may be joined. */
  readonly fresh: string
  readonly replyToken?: string
}

/** A message with what accept needs to claim it once and queue it in its conversation (rulings 11, 12). */
export type ArrivedMessage = {
  readonly kind: 'message'
  readonly message: NormalizedMessage
  readonly agent: string
  /** The platform's identity of this message, the same for every delivery and twin event of it. */
  readonly semanticId: string
  readonly version: string
  /** True where the sender picks the id, so that it must not collide with another sender's. */
  readonly isSenderChosenId: boolean
  readonly deliveryId?: string
  readonly subject?: string
  /** Evidence another gateway attached, as it came. The sender names how that gateway was recognised, not `none`. */
  readonly forwarded?: unknown
  readonly thread: ThreadClaim
  /** Where the answer goes. Fields called `reply_to_…` say which message it answers and do not make another place. */
  readonly replyTo: JsonObject
  /** Set where the message wants an answer of its own and must not be merged: a command, a click, a run, a task. */
  readonly obligation?: string
  /** More that belongs to it may follow within this time: a conversation that is idle waits so long before it takes a turn. */
  readonly settleMs?: number
  /** Refuse instead of queueing behind a busy conversation. */
  readonly isExclusive?: boolean
  readonly platformAt?: string
}

/** An authenticated arrival that asks for nothing. Noise is on the adapter's closed list and leaves no row. */
export type ArrivedNothing = {
  readonly kind: 'ignored'
  readonly reason: string
  readonly isNoise: boolean
  readonly deliveryId: string
  /** Whose it is, where its delivery proves that: so that it can be forgotten with them. */
  readonly subject?: string | undefined
  /** The platform says that a thread goes by another name from now on: what comes under it joins the same conversation. */
  readonly renamed?: { readonly from: string; readonly to: string }
  /** The platform says that a place takes nothing more from us, or takes it again. */
  readonly reach?: PlaceChange
  readonly raw: unknown
}

/** `place` is the adapter's own name for it; `closed` why nothing can be sent there, null where it can; `at` the platform's time. */
export type PlaceChange = { readonly place: string; readonly closed: string | null; readonly at: string }

export type Arrived = ArrivedMessage | ArrivedNothing

/** Hops 2 and 3 together: a verdict, and for a genuine arrival what it says. */
export type Reception =
  | Exclude<Verdict<never>, { kind: 'genuine' }>
  | { readonly kind: 'read'; readonly arrivals: readonly Arrived[] }
  | ({ readonly kind: 'unreadable'; readonly reason: string } & UnreadableFacts)

/** One vendor call as data. Primary calls are the answer itself; the others accompany it. */
export type RenderedCall = { readonly call: JsonObject; readonly primary: boolean }

/** One try at one call. `clientId` is the same for every try of the same row. */
export type Attempt = {
  readonly outboxId: string
  readonly runId: string | undefined
  readonly number: number
  readonly clientId: string
  /** Set when an earlier try may have arrived, so that the text can say so. */
  readonly isMaybeRepeat: boolean
  /** Vendor id of the live message this call finishes, where one was opened and is there. */
  readonly liveReference?: string
  readonly signal: AbortSignal
}

/** A path beside `/hooks/{channel}/{connection}`; `watch` keeps the request open until the run has its answer. */
export type Endpoint = { readonly path: string; readonly answer: 'acknowledge' | 'watch' }

/** What a watching request is told in the end. */
export type WatchResult =
  | { readonly kind: 'answered'; readonly response: NormalizedResponse; readonly runId: string }
  /** Kept until somebody lets the sender in; the response says what it takes. */
  | { readonly kind: 'held'; readonly response: NormalizedResponse | null; readonly reason: string }
  | { readonly kind: 'ended'; readonly state: string; readonly reason: string }
  | { readonly kind: 'pending' }

export interface OptionalVerbs {
  acknowledge?(acceptances: readonly Acceptance[], result: WatchResult | undefined): TransportAnswer
  reconcile?(call: JsonObject, attempt: Attempt): Promise<LookupOutcome>
  /** Shows a reply while it grows (ruling 19). */
  readonly live?: LiveVerbs
  /** Where the adapter fetches what arrives. Held by one process at a time (ruling 24). */
  source?(cursor: string | undefined, signal: AbortSignal): AsyncIterable<SourceBatch>
  serve?(request: Request): Promise<Response | undefined>
  transient?(to: JsonObject, what: 'typing'): Promise<void>
  /** Opens a file that a message refers to by `bytes_ref.kind: 'channel'`, with the platform's credential, which stays here. */
  openFile?(ref: JsonObject, signal: AbortSignal): Promise<OpenedFile>
}

/** What a platform gave for a file. `mime` and `name` are its words; the bytes are judged by whoever stores them. */
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

/** Arrivals pulled together; the cursor moves, and `acknowledge` is called, only after they are committed. */
export type SourceBatch = {
  readonly arrivals: readonly RawArrival[]
  readonly cursor: string
  /** For transports that want an answer to each: the answers in the order of the arrivals. */
  acknowledge?(answers: readonly TransportAnswer[]): Promise<void>
}

/** What an adapter author writes. */
export interface AdapterDefinition<Payload, Call extends JsonObject> extends OptionalVerbs {
  readonly channel: string
  readonly capabilities: Capabilities
  readonly endpoints?: readonly Endpoint[]
  verify(arrival: RawArrival): Promise<Verdict<Payload>>
  /**
   * The payload of an arrival that was judged genuine when it came; without it remains cannot be driven again. Undefined where
   * what is kept does not say who sent it: nobody is guessed.
   */
  payloadOf?(arrival: RawArrival, kept: KeptFacts): Payload | undefined
  normalize(payload: Payload, arrival: RawArrival, connection: Connection): readonly Arrived[]
  /** `mayNotify`: names as written, in small letters, that may reach whom they name; any other must reach nobody. */
  render(
    reply: NormalizedResponse,
    to: JsonObject,
    mayNotify: ReadonlySet<string>,
    /** A live message may be open: the first call of words finishes it, if `Attempt.liveReference` says so. */
    hasLive: boolean,
  ): readonly { readonly call: Call; readonly primary: boolean }[]
  deliver(call: Call, attempt: Attempt): Promise<DeliveryOutcome>
}

/** What the core sees: payloads and calls stay inside, as JSON that only the adapter reads. */
export interface Adapter extends OptionalVerbs {
  readonly channel: string
  readonly capabilities: Capabilities
  readonly endpoints: readonly Endpoint[]
  receive(arrival: RawArrival, connection: Connection): Promise<Reception>
  /** Reads what was kept of an earlier, genuine arrival. Never called with anything from outside. */
  readonly reread: ((arrival: RawArrival, connection: Connection, kept: KeptFacts) => Reception | undefined) | undefined
  render(
    reply: NormalizedResponse,
    to: JsonObject,
    mayNotify?: ReadonlySet<string>,
    hasLive?: boolean,
  ): readonly RenderedCall[]
  deliver(call: JsonObject, attempt: Attempt): Promise<DeliveryOutcome>
}

export function defineAdapter<Payload, Call extends JsonObject>(definition: AdapterDefinition<Payload, Call>): Adapter {
  requireDeclaredVerbs(definition)
  const payloadOf = definition.payloadOf
  return {
    ...definition,
    endpoints: definition.endpoints ?? [],
    async receive(arrival, connection) {
      const verdict = await definition.verify(arrival)
      return verdict.kind === 'genuine' ? read(definition, verdict.payload, arrival, connection) : verdict
    },
    reread: payloadOf === undefined ? undefined : rereader(definition, payloadOf),
    render: (reply, to, mayNotify = new Set(), hasLive = false) => definition.render(reply, to, mayNotify, hasLive),
    // The call was made by this adapter's own render and stored as JSON; only it knows the shape.
    deliver: (call, attempt) => definition.deliver(call as Call, attempt),
  }
}

function read<Payload>(
  definition: Pick<AdapterDefinition<Payload, never>, 'normalize'>,
  payload: Payload,
  arrival: RawArrival,
  connection: Connection,
): Reception {
  try {
    return { kind: 'read', arrivals: definition.normalize(payload, arrival, connection) }
  } catch (error) {
    if (!(error instanceof UnreadableArrival)) return { kind: 'unreadable', reason: 'normalize_failed' }
    return { kind: 'unreadable', reason: error.reason, ...error.facts }
  }
}

function rereader<Payload>(
  definition: Pick<AdapterDefinition<Payload, never>, 'normalize'>,
  payloadOf: (arrival: RawArrival, kept: KeptFacts) => Payload | undefined,
): NonNullable<Adapter['reread']> {
  return (arrival, connection, kept) => {
    const payload = payloadOf(arrival, kept)
    return payload === undefined ? undefined : read(definition, payload, arrival, connection)
  }
}

/** What is known of an arrival that cannot be read, as far as it could be read. */
export type UnreadableFacts = {
  /** Who had proven to be its sender. */
  readonly subject?: string
  /** The sender's own id for it, by which it can be asked for. */
  readonly deliveryId?: string
  /** What to correct, where it is not the body. Nothing of what was sent. */
  readonly remedy?: string
  /** Refused for what came beside the body: nothing is kept to be read again. */
  readonly isFinal?: boolean
}

/** Thrown by normalize when an authenticated payload cannot be read; the arrival is kept as dead with this reason. */
export class UnreadableArrival extends Error {
  readonly reason: string
  readonly facts: UnreadableFacts

  constructor(reason: string, facts: UnreadableFacts = {}) {
    super(`arrival cannot be read: ${reason}`)
    this.name = 'UnreadableArrival'
    this.reason = reason
    this.facts = facts
  }
}

const verbNames: readonly OptionalVerb[] = [
  ...(['acknowledge', 'reconcile', 'live', 'source', 'serve', 'transient', 'openFile'] as const),
]

function requireDeclaredVerbs(definition: OptionalVerbs & { channel: string; capabilities: Capabilities }): void {
  for (const verb of verbNames) {
    const isDeclared = definition.capabilities.verbs.includes(verb)
    if (isDeclared !== (definition[verb] !== undefined)) {
      throw new GatewayError(
        'config_invalid',
        `[${definition.channel}] verb ${verb} must be both declared and implemented`,
      )
    }
  }
}
