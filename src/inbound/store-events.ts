// Stores one inbound event: everything that came in it is committed together.

import type { Agent } from '../agents/define-agent.ts'
import type { NormalizeResult } from '../contract/adapter.ts'
import {
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type NormalizedMessage,
  type RawRequest,
  textOf,
} from '../contract/index.ts'
import type { InboundOutcome, Meter } from '../contract/metrics.ts'
import type { AcceptResult } from '../contract/results.ts'
import { type ValidationScope, validateMessage } from '../contract/validate-message.ts'
import type { InboxDraft } from '../db/inbox-row.ts'
import { areRecordChangesStorable, hasRecordChanges } from '../db/records.ts'
import type { IdSource } from '../lib/ids.ts'
import { newTraceId, readTraceIdFromTraceparent } from '../lib/ids.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import type { PresenceService } from '../outbound/presence.ts'
import { controlNames } from '../turns/chat-commands.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { Wakeups } from '../turns/services.ts'
import {
  type AcceptContext,
  acceptDrafts,
  createMessageDraft,
  createRefusedDraft,
  createRejectedEventDraft,
  type KeptEventFacts,
  sanitizeMessage,
} from './accept.ts'
import type { ReceiveServices } from './receive-services.ts'
import { routeToAgent } from './route-to-agent.ts'
import { addVerifiedForwardedEvidence, type JudgedMessage } from './sender-limits.ts'
import { maxStrangerBytes } from './stored-copy.ts'

/** What came in one inbound event is stored in one commit, all of it or nothing. */
export async function storeEvents(
  deps: ReceiveServices,
  at: GatewayConnection,
  events: readonly InboundEvent[],
  entry: RequestTrace,
): Promise<readonly AcceptResult[]> {
  const context = createAcceptContext(at, entry)
  const prepared: Prepared[] = []
  const drafts: InboxDraft[] = []
  for (const event of events) {
    // What needs no waiting is not waited for: each wait is a round through the runtime's queue.
    const each =
      event.kind === 'ignored'
        ? await prepareIgnoredEvent(deps, at, event, context)
        : prepareMessage(
            deps,
            at,
            event.forwarded === undefined ? event : await addVerifiedForwardedEvidence(deps, event),
            context,
          )
    prepared.push(each)
    if (each.draft !== undefined) drafts.push(each.draft)
  }
  const stored = await acceptDrafts(deps, drafts)
  const acceptances: AcceptResult[] = []
  for (const { draft, outcome, reason, onStored } of prepared) {
    if (draft === undefined) {
      onStored?.(undefined)
      continue
    }
    const acceptance = stored[acceptances.length] ?? { kind: 'duplicate', inboxId: '' }
    acceptances.push(acceptance)
    onStored?.(acceptance)
    // A message waits for a turn now. A command is not to wait for a slot, even where every turn is taken.
    if (outcome === undefined && acceptance.kind === 'accepted') deps.wakeups.turns.notify(draft.isControl === true)
    reportAcceptance(deps, at, entry, {
      meant: outcome ?? acceptance.kind,
      reason: outcome === undefined && 'reason' in acceptance ? acceptance.reason : reason,
      acceptance,
    })
  }
  return acceptances
}

/** One of the things that came together, on its way into the commit. */
type Prepared = {
  /** Undefined: noise, which leaves no row. */
  readonly draft: InboxDraft | undefined
  /** What it is counted as where it is new; undefined: a message for a turn, counted as what it was accepted. */
  readonly outcome: InboundOutcome | undefined
  readonly reason: string
  readonly onStored?: (acceptance: AcceptResult | undefined) => void
}

async function prepareIgnoredEvent(
  deps: ReceiveServices,
  at: GatewayConnection,
  event: IgnoredEvent,
  context: AcceptContext,
): Promise<Prepared> {
  const { reason, roomStatus, bounce, subject = null } = event
  const isNoise = event.isNoise && bounce === undefined && !hasRecordChanges(event)
  // Before it is acknowledged; said again it changes nothing.
  if (roomStatus !== undefined) await at.noteRoomStatus(roomStatus, subject)
  const reported = { outcome: 'ignored', reason } as const
  if (!areRecordChangesStorable(event)) return prepareUnstorableEvent(deps, event, context)
  if (!isNoise) {
    const rejected = { ...event, state: 'ignored', content: '', subject } as const
    return {
      ...reported,
      draft: createRejectedEventDraft(deps, rejected, context),
      onStored: (stored) => announceStoredIgnoredEvent(deps, at, event, stored),
    }
  }
  const countNoiseAndShowStarters = (): void => {
    deps.meter.received(at.key, 'ignored', reason)
    showStartersInOpenedThread(deps, at, event.opened)
  }
  return { ...reported, draft: undefined, onStored: countNoiseAndShowStarters }
}

/** Half of what it asks for is not done: it is kept as dead, for a release that can. */
function prepareUnstorableEvent(
  deps: { readonly newId: IdSource },
  { raw, deliveryId, subject, once = [] }: IgnoredEvent,
  context: AcceptContext,
): Prepared {
  const reason = 'effect_invalid'
  const rejected = { raw, deliveryId, subject: subject ?? null, reason, state: 'dead', content: '', once } as const
  return { draft: createRejectedEventDraft(deps, rejected, context), outcome: 'unreadable', reason }
}

function announceStoredIgnoredEvent(
  deps: {
    readonly agents: ReadonlyMap<string, Agent>
    readonly wakeups: Wakeups
    readonly log: Log
    readonly presence: PresenceService
  },
  at: GatewayConnection,
  { opened, protocolReplies = [], isForOperator = false, reason }: IgnoredEvent,
  stored: AcceptResult | undefined,
): void {
  if (stored?.kind !== 'accepted') return
  if (isForOperator) deps.log.warn('admin_action_required', { connection: at.key, inbox: stored.inboxId, reason })
  if (protocolReplies.length > 0) deps.wakeups.sends.notify()
  showStartersInOpenedThread(deps, at, opened)
}

function prepareMessage(
  deps: ReceiveServices,
  at: GatewayConnection,
  event: JudgedMessage,
  context: AcceptContext,
): Prepared {
  const checked = validateAndCleanEvent(deps, event)
  if (checked.kind === 'message' && event.refusal !== undefined) {
    const { refusal } = event
    return { draft: createRefusedDraft(deps, checked.event, context, refusal), outcome: 'refused', reason: refusal }
  }
  if (checked.kind === 'message') {
    const route = at.isShared ? routeToAgent(deps, at, checked.event) : undefined
    return { draft: createMessageDraft(deps, checked.event, context, route), outcome: undefined, reason: '' }
  }
  const { state, reason, path } = checked
  if (path !== undefined)
    deps.log.warn('message_invalid', { connection: at.key, trace: context.traceId, code: reason, path })
  const { semanticId: deliveryId, subject = null, once = [] } = event
  // The chain it named stands beside its original, which read again would be the beginning of one.
  const raw = event.message.channel?.caller === undefined ? event.message.raw : null
  const rejected = { state, reason, deliveryId, raw, content: '', subject, once }
  const outcome = state === 'dead' ? 'unreadable' : 'ignored'
  return { draft: createRejectedEventDraft(deps, rejected, context), outcome, reason }
}

/** Not awaited: the request is answered meanwhile. */
function showStartersInOpenedThread(
  deps: { readonly agents: ReadonlyMap<string, Agent>; readonly presence: PresenceService },
  at: GatewayConnection,
  to: JsonObject | undefined,
): void {
  const starters = deps.agents.get(at.connection.agent)?.starters ?? []
  if (to !== undefined) void deps.presence.show(at.adapter, to, 'opened', { starters })
}

// The request that brought an inbound event: whose trace it belongs to, and what the log and the metrics are told of it.

/** Whose trace an inbound event belongs to, and since when we look at it. */
export type RequestTrace = { readonly trace: string; readonly startedAt: number }

/** A request comes in, as part of the trace that it names, if it names one. */
export function startRequestTrace(
  deps: { readonly newId: IdSource; readonly monotonicMs: () => number },
  traceparent: string | undefined,
): RequestTrace {
  return { trace: readTraceIdFromTraceparent(traceparent) ?? newTraceId(deps), startedAt: deps.monotonicMs() }
}

export function createAcceptContext(at: GatewayConnection, { trace }: RequestTrace): AcceptContext {
  return {
    connection: at.connection,
    connectionKey: at.key,
    horizonMs: at.adapter.capabilities.horizonMs,
    traceId: trace,
    controlNames,
  }
}

type ReportDeps = { readonly monotonicMs: () => number; readonly log: Log; readonly meter: Meter }

/**
 * One line and one count per inbound event, once it is committed. What was there before is a duplicate, whatever it holds; what is new
 * counts as `meant`.
 */
export function reportAcceptance(
  deps: ReportDeps,
  at: GatewayConnection,
  { trace, startedAt }: RequestTrace,
  { meant, reason: given, acceptance }: AcceptReport,
): void {
  const reason = acceptance.kind === 'duplicate' && acceptance.isReplay === true ? 'replayed' : given
  const outcome = acceptance.kind === 'accepted' ? meant : acceptance.kind
  const ms = deps.monotonicMs() - startedAt
  const inbox = 'inboxId' in acceptance ? acceptance.inboxId : null
  deps.log.info('message_received', {
    connection: at.key,
    trace,
    inbox,
    outcome,
    reason: reason === '' ? null : reason,
    ms: Math.round(ms),
  })
  deps.meter.received(at.key, outcome, reason)
  deps.meter.committed(at.key, ms)
}

export type AcceptReport = {
  readonly meant: InboundOutcome
  readonly reason: string
  readonly acceptance: AcceptResult
}

// What an adapter returned is checked before it is stored.

type CheckedEvent =
  | { readonly kind: 'message'; readonly event: InboundMessage }
  /** `path`: where it is invalid. */
  | {
      readonly kind: 'rejected_event'
      readonly state: 'dead' | 'ignored'
      readonly reason: string
      readonly path?: string
    }

/** What an adapter made of an inbound event, as the gateway takes it: valid, cleaned, and saying something. */
export function validateAndCleanEvent(
  deps: { readonly validation: Extract<ValidationScope, { from: 'adapter' }> },
  event: InboundMessage,
): CheckedEvent {
  const checked = validateMessage(event.message, deps.validation)
  if (!checked.ok) {
    return { kind: 'rejected_event', state: 'dead', reason: checked.code, path: checked.path }
  }
  if (event.recordWrites !== undefined && !areRecordChangesStorable(event))
    return { kind: 'rejected_event', state: 'dead', reason: 'effect_invalid' }
  if (isEmptyMessage(checked.message)) return { kind: 'rejected_event', state: 'ignored', reason: 'empty_message' }
  return { kind: 'message', event: { ...event, message: sanitizeMessage(checked.message) } }
}

/** Blank text and nothing else. A file without words is a message; so is the withdrawal of one. */
function isEmptyMessage({ parts, channel }: NormalizedMessage): boolean {
  return textOf(parts).trim() === '' && channel?.event !== 'delete' && parts.every((part) => part.kind === 'text')
}

// Rejected and unparsable events: what is kept of an event that became no message, so that none vanishes.

export type Unreadable = Extract<NormalizeResult, { kind: 'unreadable' }>
type RejectedEvent = Extract<NormalizeResult, { kind: 'rejected_event' }>

/** Nothing authenticated vanishes: what will never be taken can be asked about, and is never replayed. */
export async function storeRejectedEvent(
  deps: ReceiveServices,
  at: GatewayConnection,
  request: RawRequest,
  { verified, entry }: { readonly verified: RejectedEvent; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const text = decodeStartOfRequest(request)
  const { reason, subject = null, deliveryId = 'rejected_event' } = verified
  const content = JSON.stringify([subject, reason, text])
  const kept = { raw: wrapRejectedText(text), content, subject }
  const rejected = { state: 'ignored', reason, deliveryId, key: 'rejected_event', ...kept } as const
  return storeRejectedDraft(deps, at, { rejected, outcome: 'ignored', entry })
}

async function storeRejectedDraft(
  deps: ReceiveServices,
  at: GatewayConnection,
  {
    rejected,
    outcome,
    entry,
  }: { readonly rejected: KeptEventFacts; readonly outcome: InboundOutcome; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const [stored] = await acceptDrafts(deps, [createRejectedEventDraft(deps, rejected, createAcceptContext(at, entry))])
  const acceptance = stored ?? { kind: 'duplicate', inboxId: '' }
  reportAcceptance(deps, at, entry, { meant: outcome, reason: rejected.reason, acceptance })
  return acceptance
}

/** What is kept of bytes that became no message: enough to see what they were. */
function decodeStartOfRequest({ bytes }: RawRequest): string {
  return new TextDecoder().decode(bytes.subarray(0, maxStrangerBytes))
}

/** Nothing authenticated vanishes: what cannot be read is kept as it came, for a release that can. */
export async function storeUnreadableEvent(
  deps: ReceiveServices,
  at: GatewayConnection,
  request: RawRequest,
  { verified, entry }: { readonly verified: Unreadable; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const text = decodeStartOfRequest(request)
  const { reason, subject = null, deliveryId = 'unreadable', isFinal = false, once = [] } = verified
  // Told apart by what they say and who said it: a name its sender chose must not hide another's.
  const content = subject === null ? text : JSON.stringify([subject, reason, text])
  const raw = isFinal ? null : { text }
  const rejected = { state: 'dead', reason, deliveryId, key: 'unreadable', raw, content, subject, once } as const
  return storeRejectedDraft(deps, at, { rejected, outcome: 'unreadable', entry })
}

// A request that was rejected for good has no proof behind it: it is there to be looked at, and is never replayed.

/** Stands in rows: another word would let old ones be replayed. */
const field = 'rejected_event'

function wrapRejectedText(text: string): JsonObject {
  return { [field]: text }
}

export function isRejectedRaw(raw: JsonObject): boolean {
  return field in raw
}
