// Settles a delivery: what a call's outcome means for its row. Pure; decided by capability, never by channel.

import {
  type Adapter,
  type Capabilities,
  type DeliveryResult,
  type LookupResult,
  type NormalizedResponse,
  textPart,
} from '../contract/index.ts'
import type { HeldSendLane, OpenCall, Settlement } from '../db/outbox.ts'
import type { IdSource } from '../lib/ids.ts'
import { say } from '../locales/say.ts'
import { renderCalls } from './render.ts'

export type SettlePolicy = {
  readonly backoff: Backoff
  /** A row that cannot be delivered by then is dead. */
  readonly giveUpAfterMs: number
  /** How long an unknown call holds back those behind it. */
  readonly unknownPauseMs: number
  /** Before a lookup: the lease plus the call's timeout, so that a straggler's call has arrived or never will. */
  readonly reconcileAfterMs: number
  readonly reconcileForMs: number
  /** `once` resends an unknown call one time, marked as possibly repeated. */
  readonly retryUnknown: 'never' | 'once'
}

const untouched: Settlement = {
  state: 'retry',
  isFinal: false,
  reason: null,
  vendorId: null,
  name: null,
  retryInMs: 0,
  pause: null,
  maybeRepeat: false,
  cancelLater: false,
  notice: [],
  inboxReason: null,
  maySayOutcome: false,
}

const event = { state: 'delivered', isFinal: true } as const

export function settleOutcome(
  call: OpenCall,
  outcome: DeliveryResult,
  capabilities: Capabilities,
  policy: SettlePolicy,
  random: () => number,
): Settlement {
  const start = { ...untouched, maybeRepeat: call.maybeRepeat }
  switch (outcome.kind) {
    case 'delivered':
      return { ...start, ...event, vendorId: outcome.vendorId ?? null, name: outcome.name ?? null }
    case 'refused':
      return settleFailed(start, call, 'refused', outcome.reason)
    case 'retry':
      return settleRetry(start, call, outcome, policy, random)
    case 'unknown':
      return settleUnknown(start, call, outcome.reason, capabilities, policy)
  }
}

/** A call that was under way when its holder died, or whose answer never came. */
export function settleByLookup(
  call: OpenCall,
  found: LookupResult,
  policy: SettlePolicy,
  random: () => number,
): Settlement {
  const start = { ...untouched, maybeRepeat: call.maybeRepeat }
  switch (found.kind) {
    case 'found':
      return { ...start, state: 'delivered', isFinal: true, vendorId: found.vendorId, reason: 'found_by_lookup' }
    case 'absent':
      return { ...start, reason: 'absent_by_lookup', retryInMs: 0 }
    case 'undecided':
      return call.ageMs > policy.reconcileForMs
        ? settleFinalUnknown(start, found.reason, policy)
        : {
            ...start,
            state: 'unknown',
            reason: found.reason,
            retryInMs: Math.max(found.afterMs ?? 0, backoffMs(call.attempt + 1, policy.backoff, random)),
          }
  }
}

export function settleDead(call: OpenCall, reason: string): Settlement {
  return settleFailed({ ...untouched, maybeRepeat: call.maybeRepeat }, call, 'dead', reason)
}

/** How often a call that breaks before it is sent is tried. */
const maxThrown = 3

/** An exception was thrown while it was handled. What may have left is not sent again for that. */
export function settleAfterException(
  call: OpenCall,
  isStarted: boolean,
  policy: SettlePolicy,
  random: () => number,
): Settlement {
  const start = { ...untouched, maybeRepeat: call.maybeRepeat }
  const reason = 'send_threw'
  if (isStarted || call.state === 'sending' || call.state === 'unknown')
    return settleFinalUnknown(start, reason, policy)
  if (call.attempt + 1 >= maxThrown) return settleFailed(start, call, 'dead', reason)
  return settleRetry(start, call, { kind: 'retry', reason }, policy, random)
}

/** There is no place to say it in. */
export function settleAsNotPrivate({ maybeRepeat }: OpenCall): Settlement {
  return { ...untouched, state: 'cancelled', isFinal: true, reason: 'not_private', maybeRepeat }
}

/** What it asks was decided before it was sent, and it says nothing else. */
export function settleAsQuestionDecided({ maybeRepeat }: OpenCall): Settlement {
  return { ...untouched, state: 'cancelled', isFinal: true, reason: 'question_decided', maybeRepeat }
}

/** A question that arrived after its decision has arrived, whether or not its outcome could be shown in its place. */
export function settleOutcomeEdit(settlement: Settlement): Settlement {
  if (!settlement.isFinal) return settlement
  const reason = settlement.state === 'delivered' ? 'outcome_shown' : 'outcome_not_shown'
  return { ...settlement, ...event, reason, retryInMs: 0, cancelLater: false, inboxReason: null }
}

function settleRetry(
  start: Settlement,
  call: OpenCall,
  outcome: Extract<DeliveryResult, { kind: 'retry' }>,
  policy: SettlePolicy,
  random: () => number,
): Settlement {
  if (call.ageMs > policy.giveUpAfterMs) return settleFailed(start, call, 'dead', `gave_up:${outcome.reason}`)
  const backoff = backoffMs(call.attempt + 1, policy.backoff, random)
  const retryInMs = Math.max(outcome.afterMs ?? 0, outcome.afterMs === undefined ? backoff : 0)
  const pause = outcome.afterMs === undefined ? null : { scope: outcome.scope ?? 'conversation', ms: outcome.afterMs }
  return { ...start, reason: outcome.reason, retryInMs, pause }
}

function settleUnknown(
  start: Settlement,
  call: OpenCall,
  reason: string,
  capabilities: Capabilities,
  policy: SettlePolicy,
): Settlement {
  // An edit of a message that is there may be repeated, whatever a new message may.
  switch (call.liveReference ? 'edit' : capabilities.idempotentSend) {
    case 'client-id':
    case 'edit':
      // The vendor recognises the repetition; sending again is how we find out.
      return call.ageMs > policy.giveUpAfterMs
        ? settleFinalUnknown(start, reason, policy)
        : {
            ...start,
            reason,
            retryInMs: Math.min(policy.backoff.maxMs, policy.backoff.firstMs * 2 ** Math.min(call.attempt, 10)),
          }
    case 'lookup':
      return { ...start, state: 'unknown', reason, retryInMs: policy.reconcileAfterMs }
    case 'none':
      return policy.retryUnknown === 'once' && !call.maybeRepeat && call.purpose !== 'live'
        ? { ...start, reason, maybeRepeat: true, retryInMs: policy.reconcileAfterMs }
        : settleFinalUnknown(start, reason, policy)
  }
}

function settleFinalUnknown(start: Settlement, reason: string, policy: SettlePolicy): Settlement {
  return {
    ...start,
    state: 'unknown',
    isFinal: true,
    reason,
    retryInMs: policy.unknownPauseMs,
    inboxReason: 'delivery_unknown',
  }
}

/** What follows a live message that could not be opened is the answer, which needs none. */
function settleFailed(start: Settlement, call: OpenCall, state: 'refused' | 'dead', reason: string): Settlement {
  const cancelLater = call.purpose !== 'live'
  return { ...start, state, isFinal: true, reason, cancelLater, inboxReason: `delivery_${state}` }
}

// Backoff: doubling, capped, and jittered so that many rows do not return together.

type Backoff = { readonly firstMs: number; readonly maxMs: number }

/** `attempt` counts from 1. The result lies between half and all of the doubled delay. */
export function backoffMs(attempt: number, { firstMs, maxMs }: Backoff, random: () => number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 20))
  return Math.round(full * (0.5 + random() * 0.5))
}

// The notice in place of the parts of a reply that can no longer follow.

/**
 * For a call whose later ones are cancelled: a reply that broke off in the middle says so, once, in place of the parts that can no
 * longer follow.
 */
export async function addBrokenOffNotice(
  deps: { readonly newId: IdSource },
  adapter: Adapter,
  lane: HeldSendLane,
  call: OpenCall,
  settlement: Settlement,
): Promise<Settlement> {
  if (!call.hasLaterParts || call.purpose !== 'reply' || call.replyTo === null) return settlement
  const message = say('reply.not_delivered')
  const reply: NormalizedResponse = {
    thread_id: lane.orderKey,
    in_reply_to: call.id,
    agent: '',
    status: 'failed',
    parts: [textPart(message)],
    error: { code: 'delivery_failed', message, retryable: false },
  }
  const context = { adapter, newId: deps.newId, origin: call.id, orderKey: lane.orderKey, to: call.replyTo }
  // A notice that cannot be made must not keep the call it is about from being settled.
  const calls = await renderCalls(context, [{ reply, purpose: 'notice' }]).catch(() => [])
  // Others may have got the whole of it.
  return { ...settlement, notice: calls.filter(({ orderKey }) => orderKey === lane.orderKey).slice(0, 1) }
}
