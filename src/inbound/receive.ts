// Receives a request: verify, normalize, accept. Ends with stored rows; only then may the transport be answered.
import {
  type AcceptResult,
  errorLogFields,
  type InboundEvent,
  type InboundMessage,
  type RawRequest,
  type RejectReason,
  type TransportAnswer,
} from '../contract/index.ts'
import { changesAnything } from '../db/records.ts'
import { isWatched } from '../turns/admit.ts'
import type { GatewayConnection, GatewayDeps } from '../turns/deps.ts'
import { claimFiles, hasFiles } from '../turns/turn-files.ts'
import { keepUnreadable, storeRejectedEvent, type Unreadable } from './rejected-events.ts'
import { type RequestTrace, startRequestTrace } from './request-context.ts'
import {
  chargeUnprovenMessages,
  countMessageBytes,
  isOpen,
  judgeSenders,
  needsJudging,
  type SenderLimits,
  type Spent,
  tooManyMessages,
} from './sender-limits.ts'
import { storeEvents } from './store-events.ts'
import { maxStrangerBytes } from './stored-copy.ts'

export type Received =
  /** `trace`: the id by which a rejected sender can ask. */
  | { readonly kind: 'rejected'; readonly reason: RejectReason; readonly challenge?: string; readonly trace: string }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  /** More than strangers may send at once. `isDropped`: it was acknowledged, since its platform would hold up or stop the others. */
  | {
      readonly kind: 'limited'
      readonly reason: string
      readonly seconds: number
      readonly isDropped: boolean
      readonly trace: string
    }
  /** Nothing was kept: it has to come again. */
  | { readonly kind: 'later'; readonly reason: string; readonly trace: string }
  /** Kept as ignored, with why; coming again would change nothing. */
  | {
      readonly kind: 'rejected_event'
      readonly reason: string
      readonly remedy: string
      readonly isUnproven?: boolean
      readonly acceptances: readonly AcceptResult[]
    }
  | {
      readonly kind: 'unreadable'
      readonly reason: string
      readonly remedy?: string
      readonly acceptances: readonly AcceptResult[]
    }
  /** `isUnproven`: nothing proves who sent it. */
  | { readonly kind: 'stored'; readonly acceptances: readonly AcceptResult[]; readonly isUnproven?: boolean }
  /** Nothing was kept: people who are not admitted have had their share of the day, or there is too little room for them. */
  | (Spent & { readonly trace: string })

export type ReceiveDeps = GatewayDeps & { readonly arrivals: SenderLimits }

/** `isPulled`: we fetched it ourselves, and no sender can be told to bring it later. */
export async function receive(
  deps: ReceiveDeps,
  at: GatewayConnection,
  arrival: RawRequest,
  isPulled = false,
): Promise<Received> {
  const entry = startRequestTrace(deps, arrival.headers['traceparent'])
  return withFailureLog(deps, at, entry, () => verifyRequest(deps, at, arrival, { entry, isPulled }))
}

/** Accepts for channels that answer their own requests: the adapter has verified and read what is taken here. */
export function acceptMessages(
  deps: ReceiveDeps,
  at: GatewayConnection,
  messages: readonly InboundMessage[],
  entry: RequestTrace,
): Promise<readonly AcceptResult[]> {
  return withFailureLog(deps, at, entry, async () => {
    if ((await deps.arrivals.ask(at, messages)) !== undefined) {
      deps.meter.arrived(at.key, 'limited', tooManyMessages)
      return [{ kind: 'refused', reason: tooManyMessages }]
    }
    const bytes = countMessageBytes(messages)
    const judged = needsJudging(at, messages, bytes) ? await judgeSenders(deps, at, messages, bytes) : undefined
    if (judged?.kind === 'spent') return [{ kind: 'refused', reason: tellSpent(deps, at, judged, entry).reason }]
    const claimed = await claimFiles(deps, at, judged?.arrivals ?? messages)
    if (claimed.kind !== 'claimed') return [{ kind: 'refused', reason: claimed.code }]
    return storeEvents(deps, at, claimed.arrivals, entry)
  })
}

/** Nothing is stored about a rejected sender. */
export function logRejectedRequest(
  deps: GatewayDeps,
  at: GatewayConnection,
  reason: RejectReason,
  { trace }: RequestTrace,
): void {
  deps.log.warn('arrival_rejected', { connection: at.key, trace, reason })
  deps.meter.arrived(at.key, 'rejected', reason)
}

async function withFailureLog<T>(
  deps: GatewayDeps,
  at: GatewayConnection,
  entry: RequestTrace,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const facts = errorLogFields(error, 'internal')
    deps.log.warn('arrival_failed', { connection: at.key, trace: entry.trace, ...facts })
    deps.meter.arrived(at.key, 'failed', facts.code ?? '')
    throw error
  }
}

/** Counted, and said by the log once a day: a flood does not fill the log either. */
function tellSpent(
  deps: GatewayDeps,
  at: GatewayConnection,
  spent: Spent,
  { trace }: RequestTrace,
): Extract<Received, Spent> {
  deps.meter.arrived(at.key, 'spent', spent.reason)
  return { ...spent, trace }
}

async function verifyRequest(
  deps: ReceiveDeps,
  at: GatewayConnection,
  arrival: RawRequest,
  { entry, isPulled }: { readonly entry: RequestTrace; readonly isPulled: boolean },
): Promise<Received> {
  // For every sender: what is left of the disk is for what has been taken already.
  if (isOpen(at) && (await deps.room?.()) === 'full') {
    deps.meter.arrived(at.key, 'later', 'storage_full')
    return { kind: 'later', reason: 'storage_full', trace: entry.trace }
  }
  const reception = await at.adapter.receive(arrival, at.connection)
  switch (reception.kind) {
    case 'rejected':
      logRejectedRequest(deps, at, reception.reason, entry)
      return { ...reception, trace: entry.trace }
    case 'handshake':
      deps.meter.arrived(at.key, 'handshake', '')
      return reception
    case 'later':
      deps.log.warn('arrival_postponed', { connection: at.key, trace: entry.trace, reason: reception.reason })
      deps.meter.arrived(at.key, 'later', reception.reason)
      return { ...reception, trace: entry.trace }
    case 'rejected_event': {
      const { reason, remedy } = reception
      const who = reception.subject === undefined ? { isUnproven: true } : {}
      // It is refused for good either way: beyond the day's share it is not written down any more.
      if ((await spentBy(deps, at, arrival, reception)) !== undefined) {
        deps.meter.arrived(at.key, 'spent', reason)
        return { kind: 'rejected_event', reason, remedy, acceptances: [], ...who }
      }
      const acceptance = await storeRejectedEvent(deps, at, arrival, { reception, entry })
      return { kind: 'rejected_event', reason, remedy, acceptances: [acceptance], ...who }
    }
    case 'unreadable': {
      const spent = await spentBy(deps, at, arrival, reception)
      if (spent !== undefined) return tellSpent(deps, at, spent, entry)
      const acceptance = await keepUnreadable(deps, at, arrival, { reception, entry })
      const { reason, remedy } = reception
      return { kind: 'unreadable', reason, ...(remedy === undefined ? {} : { remedy }), acceptances: [acceptance] }
    }
    case 'read':
      return (
        (await applySenderLimits(deps, at, reception.arrivals, { entry, isPulled })) ??
        storeVerifiedEvents(deps, at, arrival, { arrivals: reception.arrivals, entry })
      )
  }
}

/** Undefined: it is taken. */
async function applySenderLimits(
  deps: ReceiveDeps,
  at: GatewayConnection,
  arrivals: readonly InboundEvent[],
  { entry, isPulled }: { readonly entry: RequestTrace; readonly isPulled: boolean },
): Promise<Received | undefined> {
  const mayComeLater = at.adapter.capabilities.redelivers === true || isWatched(at)
  // What comes again by itself waits where it is fetched from: it is fetched no faster than it is taken.
  if (isPulled && mayComeLater) return undefined
  const messages = arrivals.filter((each) => each.kind === 'message')
  const seconds = await deps.arrivals.ask(at, messages)
  if (seconds === undefined) return undefined
  deps.meter.arrived(at.key, 'limited', tooManyMessages)
  return { kind: 'limited', reason: tooManyMessages, seconds, isDropped: !mayComeLater, trace: entry.trace }
}

/** What refers to files that are not the sender's is not taken, and nothing of it is kept. */
async function storeVerifiedEvents(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrival: RawRequest,
  { arrivals, entry }: { readonly arrivals: readonly InboundEvent[]; readonly entry: RequestTrace },
): Promise<Received> {
  // Most messages are small and have no file, and what needs no waiting is not waited for: each wait is a round through the
  // runtime's queue.
  const { byteLength } = arrival.bytes
  const judged = needsJudging(at, arrivals, byteLength)
    ? await judgeSenders(deps, at, arrivals, byteLength)
    : { kind: 'judged' as const, arrivals, isUnproven: false }
  if (judged.kind === 'spent') {
    const told = tellSpent(deps, at, judged, entry)
    // What asks for nothing need not come again.
    const isNothing = arrivals.every(
      (each) => each.kind === 'ignored' && each.bounce === undefined && !changesAnything(each),
    )
    return isNothing ? { kind: 'stored', acceptances: [], isUnproven: judged.isUnproven } : told
  }
  const who = judged.isUnproven ? { isUnproven: true } : {}
  if (!judged.arrivals.some(hasFiles))
    return { kind: 'stored', acceptances: await storeEvents(deps, at, judged.arrivals, entry), ...who }
  const claimed = await claimFiles(deps, at, judged.arrivals)
  if (claimed.kind === 'claimed')
    return { kind: 'stored', acceptances: await storeEvents(deps, at, claimed.arrivals, entry), ...who }
  const { code: reason, remedy } = claimed
  const { subject, deliveryId } = claimed.of
  const facts = { ...(subject === undefined ? {} : { subject }), ...(deliveryId === undefined ? {} : { deliveryId }) }
  const reception: Unreadable = { kind: 'unreadable', reason, remedy, isFinal: true, ...facts }
  const acceptance = await keepUnreadable(deps, at, arrival, { reception, entry })
  return { kind: 'unreadable', reason, remedy, acceptances: [acceptance] }
}

/** What became no message came from a sender who proved nothing, unless its delivery says whom it is from. */
async function spentBy(
  deps: GatewayDeps,
  at: GatewayConnection,
  arrival: RawRequest,
  { subject }: { readonly subject?: string | undefined },
): Promise<Spent | undefined> {
  if (subject !== undefined) return undefined
  const bytes = arrival.bytes.byteLength
  const storedBytes = Math.min(bytes, maxStrangerBytes)
  return chargeUnprovenMessages(deps, at, { kind: 'unproven', messages: 1, bytes, storedBytes })
}
