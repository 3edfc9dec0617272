// Types of turns and lanes in the database, and the interface of the turn store: lanes are claimed, turns opened, resumed, split,
// released and completed, every write fenced.

import type { StoredAccess } from '../contract/access.ts'
import type { QueuedCall } from '../contract/delivery.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { OmittedContent } from '../contract/inbound-event.ts'
import type { NormalizedMessage, NormalizedResponse, TaskState } from '../contract/index.ts'
import type { NewPairing } from '../identity/pairing.ts'
import type { Fields, Json, JsonObject } from '../lib/json-value.ts'
import type { AmbientMessage, AmbientRecall } from '../sessions/ambient-context.ts'

/** What every later write must carry: it fails once another process holds the lane. */
export type Hold = { readonly conversationId: string; readonly epoch: number }

/** The stored message: everything but the original payload. */
export type StoredMessage = Omit<NormalizedMessage, 'raw'> & {
  /** What was not kept while its sender was not admitted. */
  readonly left_out?: OmittedContent
}

export type WaitingMessage = {
  readonly id: string
  readonly agent: string
  readonly subject: string | null
  readonly mustReplyIndividually: string | null
  readonly event: 'new' | 'edit' | 'delete'
  readonly editOf: string | null
  readonly messageId: string
  readonly message: StoredMessage
  readonly replyTo: JsonObject
  readonly bytes: number
  readonly attempts: number
  /** It runs alone, and anew. */
  readonly runsAlone: boolean
  /** It joined its turn at this question of the agent for news; null: the turn began with it. */
  readonly joinedAtPoll: number | null
  /** The turn it was in before: it was split, or died. */
  readonly parentTurn: string | null
  /** That turn is tried again, with its journal. */
  readonly continuesTurn: boolean
  /** The turn it was in reached its deadline and was split. */
  readonly isHung?: boolean | null
  readonly traceId: string
  /** The task it asks for or goes on with. */
  readonly taskId: string | null
  /** An edit or a delete of this message that arrived before it. */
  readonly tombstone: { readonly event: string; readonly parts: StoredMessage['parts'] | null } | null
  /** For edits and deletes: the original, if it was ever stored. */
  readonly original: EditTarget | null
  /** What is written down about its sender. */
  readonly access: StoredAccess
}

/** `isSame`: the edit says what the message said already. */
export type EditTarget = {
  readonly id: string
  readonly subject: string | null
  readonly reason: string | null
  readonly isSame?: boolean | null
}

export type WaitingSignal = {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly payload: JsonObject
  readonly attempts: number
  /** The task of the turn it comes from. */
  readonly taskId: string | null
}

export type OpenTurn = {
  readonly id: string
  readonly kind: TurnKind
  readonly attempt: number
  readonly failures: number
  /** An earlier try, of this turn or of the one it was split from, reached the deadline. */
  readonly isHung?: boolean | null
  /** How often a process died while it ran this. */
  readonly crashes: number
  readonly sessionId: string
  readonly parentTurn: string | null
  readonly principal: string | null
  readonly runId: string | null
  readonly traceId: string
  readonly outageMs: number | null
  /** Unknown where the turn goes on with a paused run: its rows know. */
  readonly taskId: string | null
}

/**
 * `control`: a command that the gateway answers itself, beside the conversation it is about. `door`: an access challenge, a sender is told why
 * they have no access, or what to do about it; no agent runs and no session begins.
 */
export type TurnKind = 'messages' | 'signal' | 'amendment' | 'control' | 'access_challenge'

export type HeldLane = Hold & {
  readonly tenant: string
  readonly connection: string
  readonly agent: string
  readonly sessionId: string | null
  readonly idleMs: number
  /** The agent was asked here before, and answered or chose not to. */
  readonly takesPart: boolean
  readonly replyTo: JsonObject
  readonly openTurn: OpenTurn | null
  /** The open turn's members, or, without one, what waits next and can be read by this release. */
  readonly messages: readonly WaitingMessage[]
  readonly signal: WaitingSignal | null
}

/** What a decision about a sender rested on; it goes into the audit log with the message's outcome. */
export type AccessBasis = {
  /** The access rule that decided; null where another reason did. */
  readonly accessRule: string | null
  /** Who the decision is about; null: no sender was verified. */
  readonly subject: string | null
  /** Issuer, method and assurance. */
  readonly evidence: JsonObject | null
}

export const noAccessBasis: AccessBasis = { accessRule: null, subject: null, evidence: null }

/** What happens to a message that does not become part of the turn. */
export type Disposition = AccessBasis & {
  readonly id: string
  readonly state: 'refused' | 'merged' | 'dead' | 'held'
  readonly reason: string
  readonly tombstone: boolean
  /** Where it is held: the pairing that decides about it. */
  readonly pairingId: string | null
  /** Ambient context: its receipt keeps nothing of it. */
  readonly ambient?: AmbientMessage
}

export type NewMember = AccessBasis & {
  readonly id: string
  readonly ord: number
  readonly principal: string | null
}

/** Whether a session that begins may be kept: the decision, stored beside it. */
export type RetentionDecision = {
  readonly id: string
  readonly isAllowed: boolean
  readonly reason: string
  readonly audit: Fields
  /** One that may not is over after so long a silence. */
  readonly expiresInMs: number
}

export type NewTurn = {
  readonly id: string
  readonly kind: TurnKind
  readonly attempt: number
  /** Null: there is none, and none begins. */
  readonly sessionId: string | null
  readonly isNewSession: boolean
  /** Of a session that begins. */
  readonly keeping: RetentionDecision | null
  readonly parentTurn: string | null
  readonly isHung?: boolean | null
  /** The turn before it is tried again, with its journal. */
  readonly continuesTurn: boolean
  /** How much of its session it is shown; null: nothing. */
  readonly history: { readonly head: number; readonly tail: number; readonly around: number } | null
  readonly principal: string | null
  readonly runId: string | null
  readonly traceId: string
  readonly deadlineMs: number
  readonly replyTo: JsonObject | null
  readonly members: readonly NewMember[]
  readonly signalId: string | null
  /** The turn whose paused run this one goes on with. */
  readonly resumes: string | null
  readonly recall?: AmbientRecall
  /** The receipt of ambient context that its author deletes. */
  readonly unheard?: string
  readonly taskId: string | null
}

export type NewTimer = {
  readonly name: string
  readonly kind: string
  readonly dueInMs: number
  readonly payload: JsonObject
  readonly id: string
}

/** How a run ended, in the words of `agents-api.run-outcome`, for later readers. */
export type RunEnd = {
  readonly status: string
  readonly stopReason: string
  readonly usage: JsonObject
  readonly budgets: JsonObject
  /** What the run was made of, without its content. */
  readonly summary: JsonObject
}

/** One line of a run's log. The same key again changes nothing. */
export type NewRunEvent = { readonly key: string; readonly event: JsonObject }

/** What a run waits for. Its expiry is a timer under the same id, stored with it. */
type NewPause = {
  readonly id: string
  readonly runId: string
  readonly toolName: string
  readonly toolCallId: string
  /** For whom the paused run works. */
  readonly owner: string
  /** Where it goes on; never shown. */
  readonly resume: JsonObject
}

export type NewPendingAction = NewPause & {
  readonly kind: string
  readonly summary: string
  readonly action: JsonObject
  readonly actionHash: string
  /** Who may decide: a word, or terms as JSON. */
  readonly resolvers: string
  readonly expiresInMs: number
}

export type NewToolRequest = NewPause & {
  readonly requestId: string
  /** As the tool must be given them. */
  readonly parameters: JsonObject
  /** As every reader may see it: without secrets. */
  readonly request: JsonObject
  readonly expiresInMs: number | null
}

/** What became of what a run had waited for: kept without secrets, and its input erased. */
export type PauseResult = {
  readonly id: string
  readonly result: Json
  readonly error: string | null
  readonly metadata: JsonObject
}

export type TurnEnd = {
  readonly turnId: string
  readonly sessionId: string | null
  /** `replied` waits for its primary calls; the others end here. `answered`: they were appended by this very commit. */
  readonly state: 'replied' | 'answered' | 'silent' | 'dead'
  readonly reason: string | null
  readonly response: NormalizedResponse | null
  readonly leadId: string | null
  /** State of the message the turn answers; absent while its answer is on the way. The others of the turn: merged. */
  readonly leadState: 'answered' | 'refused' | 'merged' | 'dead' | 'held' | null
  readonly leadReason: string | null
  readonly envelopes: readonly { readonly inboxId: string | null; readonly envelope: Envelope }[]
  /** Inbox ids of deleted messages: their transcript lines become tombstones. */
  readonly erased: readonly string[]
  readonly calls: readonly QueuedCall[]
  readonly timers: readonly NewTimer[]
  readonly run: RunEnd
  readonly events: readonly NewRunEvent[]
  readonly actions: readonly NewPendingAction[]
  readonly requests: readonly NewToolRequest[]
  /** The state that agent and program share, for the session; absent: as before. */
  readonly sharedState?: Json
  /** For a turn that went on with a paused run. */
  readonly resolved: PauseResult | null
  /** For a message that is held. Decided meanwhile: nothing is sent, and the message waits for a new decision. */
  readonly pairing: NewPairing | null
  /** For an access challenge: what its end rests on. */
  readonly ground: AccessBasis | null
  /** A live message was opened in its course. */
  readonly hasLive: boolean
  /** How its task stands with it, if it has one; null: as before. */
  readonly taskState: TaskState | null
}

export type TurnSplit = {
  readonly delayMs: number
  /** Why, for later readers. */
  readonly code: string
  /** Where a live message was opened: what is said in its place. */
  readonly calls?: readonly QueuedCall[]
}

/**
 * A failure counts against the turn; an outage is counted in time; stopping is no failure; `untouched`: no process began
 * to work on it, so it is no attempt.
 */
export type ReleaseCause = 'failed' | 'outage' | 'stopping' | 'untouched'

// A claim passes by agents and connections that hold all the slots they may in this process.

/** Whose lanes are left alone for now; `pairs` are an agent on a connection, in one word: `slack/default demo`. */
export type FullSlots = {
  readonly agents: readonly string[]
  readonly connections: readonly string[]
  readonly pairs: readonly string[]
}
