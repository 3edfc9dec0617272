// Receives a request: verify, normalize, accept. Ends with stored rows; only then may the transport be answered.

import type { WatchResult } from '../contract/adapter.ts'
import type { InboundEvent, InboundMessage, RawRequest, RejectReason } from '../contract/index.ts'
import type { Meter } from '../contract/metrics.ts'
import type { AcceptResult, ReceiveResult } from '../contract/results.ts'
import type { Db } from '../db/client.ts'
import type { Resubmission } from '../db/receipts.ts'
import { findReceipt, findRejectedEvent, markEventRedriven, resubmitMessage } from '../db/receipts.ts'
import { hasRecordChanges } from '../db/records.ts'
import { newTraceId } from '../lib/ids.ts'
import { errorLogFields, type Log } from '../lib/log.ts'
import { answersEachRequest } from '../turns/admit.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { Wakeups } from '../turns/services.ts'
import { claimFilesOfEvents } from '../turns/turn-files.ts'
import type { ReceiveServices } from './receive-services.ts'
import {
  chargeUnprovenMessages,
  countMessageBytes,
  isOpenToAnyone,
  needsSenderJudgement,
  type SenderLimits,
  type Spent,
  tooManyMessages,
  trimAndChargeUnadmittedSenders,
} from './sender-limits.ts'
import {
  isRejectedRaw,
  type RequestTrace,
  startRequestTrace,
  storeEvents,
  storeRejectedEvent,
  storeUnreadableEvent,
  type Unreadable,
} from './store-events.ts'
import { maxStrangerBytes } from './stored-copy.ts'

type ReceiveDeps = ReceiveServices & { readonly senderLimits: SenderLimits }

/** `isPulled`: we fetched it ourselves, and no sender can be told to bring it later. */
export async function verifyAndStoreRequest(
  deps: ReceiveDeps,
  at: GatewayConnection,
  request: RawRequest,
  isPulled = false,
): Promise<ReceiveResult> {
  const entry = startRequestTrace(deps, request.headers['traceparent'])
  try {
    return await verifyRequestAndStoreOutcome(deps, at, request, { entry, isPulled })
  } catch (error) {
    reportAcceptFailure(deps, at, entry, error)
    throw error
  }
}

/** Accepts for channels that answer their own requests: the adapter has verified and read what is taken here. */
export async function acceptVerifiedMessages(
  deps: ReceiveDeps,
  at: GatewayConnection,
  messages: readonly InboundMessage[],
  entry: RequestTrace,
): Promise<readonly AcceptResult[]> {
  try {
    if ((await deps.senderLimits.ask(at, messages)) !== undefined) {
      deps.meter.received(at.key, 'limited', tooManyMessages)
      return [{ kind: 'refused', reason: tooManyMessages }]
    }
    const bytes = countMessageBytes(messages)
    const judged = needsSenderJudgement(at, messages, bytes)
      ? await trimAndChargeUnadmittedSenders(deps, at, messages, bytes)
      : undefined
    if (judged?.kind === 'spent')
      return [{ kind: 'refused', reason: reportUnprovenQuotaSpent(deps, at, judged, entry).reason }]
    const claimed = await claimFilesOfEvents(deps, at, judged?.events ?? messages)
    if (claimed.kind !== 'claimed') return [{ kind: 'refused', reason: claimed.code }]
    return await storeEvents(deps, at, claimed.events, entry)
  } catch (error) {
    reportAcceptFailure(deps, at, entry, error)
    throw error
  }
}

/** Nothing is stored about a rejected sender. */
export function logRejectedRequest(
  deps: { readonly log: Log; readonly meter: Meter },
  at: GatewayConnection,
  reason: RejectReason,
  { trace }: RequestTrace,
): void {
  deps.log.warn('request_rejected', { connection: at.key, trace, reason })
  deps.meter.received(at.key, 'rejected', reason)
}

function reportAcceptFailure(
  deps: { readonly log: Log; readonly meter: Meter },
  at: GatewayConnection,
  { trace }: RequestTrace,
  error: unknown,
): void {
  const facts = errorLogFields(error, 'internal')
  deps.log.warn('accept_failed', { connection: at.key, trace, ...facts })
  deps.meter.received(at.key, 'failed', facts.code ?? '')
}

/** Counted, and said by the log once a day: a flood does not fill the log either. */
function reportUnprovenQuotaSpent(
  deps: { readonly meter: Meter },
  at: GatewayConnection,
  spent: Spent,
  { trace }: RequestTrace,
): Extract<ReceiveResult, { kind: 'spent' }> {
  deps.meter.received(at.key, 'spent', spent.reason)
  return { ...spent, trace }
}

async function verifyRequestAndStoreOutcome(
  deps: ReceiveDeps,
  at: GatewayConnection,
  request: RawRequest,
  { entry, isPulled }: { readonly entry: RequestTrace; readonly isPulled: boolean },
): Promise<ReceiveResult> {
  // For every sender: what is left of the disk is for what has been taken already.
  if (isOpenToAnyone(at) && (await deps.room?.()) === 'full') {
    deps.meter.received(at.key, 'later', 'storage_full')
    return { kind: 'later', reason: 'storage_full', trace: entry.trace }
  }
  const verified = await at.adapter.receive(request, at.connection)
  switch (verified.kind) {
    case 'rejected':
      logRejectedRequest(deps, at, verified.reason, entry)
      return { ...verified, trace: entry.trace }
    case 'handshake':
      deps.meter.received(at.key, 'handshake', '')
      return verified
    case 'later':
      deps.log.warn('request_postponed', { connection: at.key, trace: entry.trace, reason: verified.reason })
      deps.meter.received(at.key, 'later', verified.reason)
      return { ...verified, trace: entry.trace }
    case 'rejected_event': {
      const { reason, remedy } = verified
      const who = verified.subject === undefined ? { isUnproven: true } : {}
      // It is refused for good either way: beyond the day's share it is not written down any more.
      if ((await chargeUnprovenDelivery(deps, at, request, verified)) !== undefined) {
        deps.meter.received(at.key, 'spent', reason)
        return { kind: 'rejected_event', reason, remedy, acceptances: [], ...who }
      }
      const acceptance = await storeRejectedEvent(deps, at, request, { verified, entry })
      return { kind: 'rejected_event', reason, remedy, acceptances: [acceptance], ...who }
    }
    case 'unreadable': {
      const spent = await chargeUnprovenDelivery(deps, at, request, verified)
      if (spent !== undefined) return reportUnprovenQuotaSpent(deps, at, spent, entry)
      const acceptance = await storeUnreadableEvent(deps, at, request, { verified, entry })
      const { reason, remedy } = verified
      return { kind: 'unreadable', reason, ...(remedy === undefined ? {} : { remedy }), acceptances: [acceptance] }
    }
    case 'read':
      return (
        (await applySenderLimits(deps, at, verified.events, { entry, isPulled })) ??
        storeVerifiedEvents(deps, at, request, { events: verified.events, entry })
      )
  }
}

/** Undefined: it is taken. */
async function applySenderLimits(
  deps: ReceiveDeps,
  at: GatewayConnection,
  events: readonly InboundEvent[],
  { entry, isPulled }: { readonly entry: RequestTrace; readonly isPulled: boolean },
): Promise<ReceiveResult | undefined> {
  const mayComeLater = at.adapter.capabilities.redelivers === true || answersEachRequest(at)
  // What comes again by itself waits where it is fetched from: it is fetched no faster than it is taken.
  if (isPulled && mayComeLater) return undefined
  const seconds = await deps.senderLimits.ask(at, events)
  if (seconds === undefined) return undefined
  deps.meter.received(at.key, 'limited', tooManyMessages)
  return { kind: 'limited', reason: tooManyMessages, seconds, isDropped: !mayComeLater, trace: entry.trace }
}

/** What refers to files that are not the sender's is not taken, and nothing of it is kept. */
async function storeVerifiedEvents(
  deps: ReceiveServices,
  at: GatewayConnection,
  request: RawRequest,
  { events, entry }: { readonly events: readonly InboundEvent[]; readonly entry: RequestTrace },
): Promise<ReceiveResult> {
  const { byteLength } = request.bytes
  // Most messages are small and have no file, and what needs no waiting is not waited for: each wait is a round through the
  // runtime's queue.
  if (!needsSenderJudgement(at, events, byteLength))
    return { kind: 'stored', acceptances: await storeEvents(deps, at, events, entry) }
  const judged = await trimAndChargeUnadmittedSenders(deps, at, events, byteLength)
  if (judged.kind === 'spent') {
    const reported = reportUnprovenQuotaSpent(deps, at, judged, entry)
    // What asks for nothing need not come again.
    const isNothing = events.every(
      (each) => each.kind === 'ignored' && each.bounce === undefined && !hasRecordChanges(each),
    )
    return isNothing ? { kind: 'stored', acceptances: [], isUnproven: judged.isUnproven } : reported
  }
  const who = judged.isUnproven ? { isUnproven: true } : {}
  const claimed = await claimFilesOfEvents(deps, at, judged.events)
  if (claimed.kind === 'claimed')
    return { kind: 'stored', acceptances: await storeEvents(deps, at, claimed.events, entry), ...who }
  const { code: reason, remedy } = claimed
  const { subject, deliveryId } = claimed.of
  const facts = { ...(subject === undefined ? {} : { subject }), ...(deliveryId === undefined ? {} : { deliveryId }) }
  const verified: Unreadable = { kind: 'unreadable', reason, remedy, isFinal: true, ...facts }
  const acceptance = await storeUnreadableEvent(deps, at, request, { verified, entry })
  return { kind: 'unreadable', reason, remedy, acceptances: [acceptance] }
}

/** What became no message came from a sender who proved nothing, unless its delivery says whom it is from. */
async function chargeUnprovenDelivery(
  deps: { readonly db: Db; readonly room?: () => Promise<'low' | 'full' | undefined>; readonly log: Log },
  at: GatewayConnection,
  request: RawRequest,
  { subject }: { readonly subject?: string | undefined },
): Promise<Spent | undefined> {
  if (subject !== undefined) return undefined
  const bytes = request.bytes.byteLength
  const storedBytes = Math.min(bytes, maxStrangerBytes)
  return chargeUnprovenMessages(deps, at, { kind: 'unproven', messages: 1, bytes, storedBytes })
}

// Retrying dead letters: a dead turn is queued again; an inbound event that could not be read is read by today's code.

export async function resubmitEvent(
  deps: ReceiveServices,
  inboxId: string,
  by: string,
  how?: Resubmission,
): Promise<boolean> {
  if (await resubmitMessage(deps.db, inboxId, by, how)) return true
  const rejected = await findRejectedEvent(deps.db, inboxId)
  if (rejected !== undefined && isRejectedRaw(rejected.raw)) return false
  const at = deps.connections.find((each) => each.key === rejected?.connection)
  const reread = at?.adapter.reread
  if (rejected === undefined || at === undefined || reread === undefined) return false
  // Nothing is kept of an inbound event that named a chain of callers and became no message: what is here named none.
  const verified = await reread(storedRawToRequest(rejected.raw, deps.now()), at.connection, {
    subject: rejected.subject,
  })
  if (verified?.kind !== 'read') return false
  const claimed = await claimFilesOfEvents(deps, at, verified.events)
  if (claimed.kind === 'refused') return false
  const acceptances = await storeEvents(deps, at, claimed.events, {
    trace: newTraceId(deps),
    startedAt: deps.monotonicMs(),
  })
  if (!acceptances.some((acceptance) => acceptance.kind === 'accepted')) return false
  await markEventRedriven(deps.db, inboxId, by)
  return true
}

/** Unreadable bytes were kept as text; what was read and found empty or invalid, as its JSON. */
export function storedRawToRequest(raw: Readonly<Record<string, unknown>>, now: number): RawRequest {
  const text = typeof raw['text'] === 'string' && Object.keys(raw).length === 1 ? raw['text'] : JSON.stringify(raw)
  return {
    bytes: new TextEncoder().encode(text),
    headers: {},
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}

// An open request that waits for its answer. It only reads: what it waits for happens with or without it.

const pollMs = 500

export async function waitForAnswer(
  deps: { readonly db: Db; readonly wakeups: Wakeups; readonly monotonicMs: () => number },
  inboxId: string,
  timeoutMs: number,
): Promise<WatchResult> {
  const until = deps.monotonicMs() + timeoutMs
  for (;;) {
    const receipt = await findReceipt(deps.db, inboxId)
    if (receipt === undefined) return { kind: 'ended', state: 'unknown', reason: 'not_found' }
    const { state, reason, resumed } = receipt
    // A run that says nothing after it was decided about leaves the words about the decision.
    const response = resumed?.response ?? receipt.response
    if (state === 'held') return { kind: 'held', response, reason: reason ?? state }
    const isGoingOn = resumed !== null && (resumed.state === 'queued' || resumed.state === 'running')
    const hasEnded = state !== 'queued' && state !== 'in_turn' && !isGoingOn
    // A refused sender's notice is no answer to what they asked.
    if (hasEnded && response !== null && state !== 'refused')
      return { kind: 'answered', response, runId: receipt.runId ?? receipt.turnId ?? inboxId }
    if (hasEnded) return { kind: 'ended', state, reason: reason ?? state }
    const leftMs = until - deps.monotonicMs()
    if (leftMs <= 0) return { kind: 'pending' }
    await deps.wakeups.ends.wait(Math.min(pollMs, leftMs))
  }
}
