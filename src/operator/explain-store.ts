// The port of `explain`: everything the rows know about one message, read in one snapshot. Never its text, never an
// argument or a result of a step, never a rendered call. Errors of the agent's own code are there as they were thrown.
import type { ErrorSource, ThrownError } from '../contract/index.ts'
import type { Rejection } from './rejections.ts'

/** What an id turned out to name. */
export type Hit = {
  readonly kind: 'message' | 'turn' | 'delivery'
  readonly id: string
  readonly matched: 'inbox id' | 'message id' | 'platform id' | 'delivery id' | 'trace id' | NonMessageId
  readonly connection: string
  readonly at: string
  readonly state: string
  readonly messageId: string | null
}

type NonMessageId = 'turn id' | 'outbox id' | 'vendor message id'

export type MessageFacts = {
  readonly id: string
  readonly connection: string
  readonly agent: string
  /** `message`, an obligation such as `command`, or `remains`: an unparsable event. */
  readonly kind: string
  readonly event: 'new' | 'edit' | 'delete'
  readonly messageId: string | null
  readonly deliveryId: string | null
  readonly editOf: string | null
  /** For edits and deletes: the message they speak of. */
  readonly original: { readonly id: string; readonly state: string } | null
  readonly state: string
  readonly reason: string | null
  readonly subject: string | null
  readonly principal: string | null
  readonly accessRule: string | null
  readonly conversation: string | null
  readonly isFlagged: boolean
  readonly hasContent: boolean
  readonly hasRaw: boolean
  readonly evidence: Evidence | null
  readonly duplicates: {
    readonly count: number
    readonly lastAt: string
    readonly lastDeliveryId: string | null
  } | null
  readonly lane: LaneFacts | null
  /** What it waits, or waited, for; null: its sender was known. */
  readonly pairing: PairingFacts | null
  /** Ambient context: until when it is remembered, and the turns that were given it. */
  readonly memory: { readonly until: string | null; readonly turns: readonly UsedBy[] }
  readonly platformAt: string | null
  readonly receivedAt: string
  readonly endedAt: string | null
  readonly turnId: string | null
  readonly attempts: number
  readonly traceId: string
}

export type Evidence = {
  readonly address: string
  readonly authMethod: string
  readonly isVerified: boolean
  /** Codes of evidence that came along and was not believed. */
  readonly dropped: readonly string[]
  readonly identities: readonly {
    readonly subject: string
    readonly issuer: string
    readonly method: string
    readonly assurance: string
  }[]
}

export type UsedBy = { readonly id: string; readonly at: string }

export type PairingFacts = {
  readonly code: string
  readonly status: string
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly decidedAt: string | null
  readonly decidedBy: string | null
}

/** The lane of a message in flight: where it stands in it, and whether a process holds it now. */
export type LaneFacts = {
  readonly mode: string
  readonly ahead: number
  readonly isHeld: boolean
  readonly hasOpenTurn: boolean
  readonly nextAt: string
}

export type TurnFacts = {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly reason: string | null
  readonly agent: string
  readonly attempt: number
  readonly failures: number
  readonly parentTurn: string | null
  readonly runId: string | null
  readonly signal: string | null
  readonly startedAt: string
  readonly outageSince: string | null
  readonly endedAt: string | null
  /** How many messages of ambient context it was given. */
  readonly overheard: number
  readonly members: readonly MemberFacts[]
  readonly steps: readonly StepFacts[]
  readonly history: readonly TurnEvent[]
  /** What the agent, its tools and its hooks threw. */
  readonly errors: readonly ErrorFacts[]
}

export type ErrorFacts = Omit<ErrorSource, 'hide'> & {
  readonly at: string
  readonly attempt: number
  readonly error: ThrownError
}

export type MemberFacts = {
  readonly id: string
  readonly messageId: string | null
  readonly event: string
  readonly state: string
}

export type StepFacts = {
  readonly name: string
  /** Of a model's answer: which model gave it. */
  readonly answeredBy?: string | null
  readonly state: string
  readonly error: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
}

export type TurnEvent = {
  readonly at: string
  readonly what: string
  readonly attempt?: number
  readonly code?: string
  readonly retryInMs?: number
  /** How often its process had died by then. */
  readonly deaths?: number
  readonly members?: readonly string[]
}

export type DeliveryFacts = {
  readonly id: string
  readonly turnId: string | null
  readonly purpose: string
  readonly isPrimary: boolean
  readonly ordinal: number
  readonly state: string
  readonly reason: string | null
  readonly attempt: number
  readonly vendorId: string | null
  readonly isMaybeRepeat: boolean
  readonly createdAt: string
  readonly notBefore: string | null
  readonly sendingAt: string | null
  readonly settledAt: string | null
  readonly history: readonly DeliveryEvent[]
}

export type DeliveryEvent = {
  readonly at: string
  readonly what: string
  readonly attempt: number
  readonly startedAt?: string
  readonly reason?: string
  readonly vendorId?: string
  readonly isFinal?: boolean
  readonly retryInMs?: number
  /** Of a bounce. */
  readonly kind?: 'failed' | 'delayed'
}

/** An edit or a delete of the message, and where it ended up. */
export type EditFacts = {
  readonly id: string
  readonly messageId: string | null
  readonly event: string
  readonly state: string
  readonly reason: string | null
  readonly turnId: string | null
  readonly receivedAt: string
}

/** One line of the audit log about the message. */
export type DecisionFacts = {
  readonly at: string
  readonly action: string
  readonly outcome: string
  readonly code: string | null
  readonly rule: string | null
  /** A subject, or `forgotten`. */
  readonly person: string | null
  readonly actor: string | null
  readonly evidence: { readonly issuer: string; readonly method: string; readonly assurance: string } | null
}

export type Facts = {
  /** Null for a turn that no message began, such as one a timer woke. */
  readonly message: MessageFacts | null
  /** Oldest first: the turn that was split or died before the one that took over from it. */
  readonly turns: readonly TurnFacts[]
  readonly deliveries: readonly DeliveryFacts[]
  readonly edits: readonly EditFacts[]
  /** Oldest first. None for messages decided about before there was a log, or after retention. */
  readonly decisions: readonly DecisionFacts[]
  /** Only for what was turned away: it has no other facts. */
  readonly rejection?: Rejection
}

export interface ExplainStore {
  /** Everything an index can find under this id; `dedupeKeys` are the claims it may stand for. */
  search(asked: string, dedupeKeys: readonly string[], limit: number): Promise<readonly Hit[]>
  /** The newest arrivals by ids that have no index: delivery, trace, and the platform's own message id. */
  searchNewest(asked: string, limit: number): Promise<readonly Hit[]>
  read(hit: Pick<Hit, 'kind' | 'id'>): Promise<Facts>
}
