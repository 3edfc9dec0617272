// Delivers the calls of one send lane in order, after the commit: one try each, fenced before and after.

import { resolvedQuestionText } from '../agents/approvals/approval-messages.ts'
import { type Adapter, type Attempt, type DeliveryResult, type LookupResult, textPart } from '../contract/index.ts'
import type { Meter, SendOutcome } from '../contract/metrics.ts'
import type { Db } from '../db/client.ts'
import {
  type HeldSendLane,
  type OpenCall,
  type OpenQuestion,
  recountSendLanePending,
  releaseSendLane,
  restoredReason,
  type Settlement,
  type StartResult,
  settleSend,
  startSend,
} from '../db/outbox.ts'
import { isGatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { errorLogFields, type Log, type LogFields } from '../lib/log.ts'
import { say } from '../locales/say.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import type { ResultKeeper } from '../turns/result-keeper.ts'
import type { TurnPolicy } from '../turns/turn-policy.ts'
import { adapterEditingMode } from './render.ts'
import {
  addBrokenOffNotice,
  type SettlePolicy,
  settleAfterException,
  settleAsNotPrivate,
  settleAsQuestionDecided,
  settleByLookup,
  settleDead,
  settleOutcome,
  settleOutcomeEdit,
} from './settle.ts'

type DispatchDeps = {
  readonly connections: readonly GatewayConnection[]
  readonly db: Db
  readonly results: ResultKeeper
  readonly turnPolicy: TurnPolicy
  readonly settlePolicy: SettlePolicy
  readonly newId: IdSource
  readonly monotonicMs: () => number
  readonly random: () => number
  readonly log: Log
  readonly meter: Meter
  readonly failpoint?: (name: string) => void | Promise<void>
}

const passing = ['storage_unavailable', 'storage_overloaded', 'lease_lost', 'stopping']
const untried = { outcome: undefined, tookMs: undefined } as const

type Step = { readonly go: 'on' } | { readonly go: 'stop'; readonly delayMs: number } | { readonly go: 'lost' }

/** Sends what a held lane holds, then gives the lane back. `claimedAt` is our clock when the claim was asked for. */
export async function sendCallsOfLane(deps: DispatchDeps, lane: HeldSendLane, claimedAt: number): Promise<void> {
  const adapter = deps.connections.find(
    (each) => each.key === lane.connection && each.connection.tenant === lane.tenant,
  )?.adapter
  if (lane.calls.length === 0) {
    if (await recountSendLanePending(deps.db, lane))
      deps.log.error('send_lane_drift_repaired', { connection: lane.connection })
    return
  }
  if (adapter === undefined) {
    // The connection is not configured here; another replica may know it.
    await releaseSendLane(deps.db, lane, 5_000)
    return
  }
  let delayMs = 0
  const holding: Holding = { claimedAt, opened: new Map(), started: new Set() }
  for (const [at, claimed] of lane.calls.entries()) {
    // What was opened in this hold, after the rows were read, is there too.
    const liveReference = claimed.finishes === null ? undefined : holding.opened.get(claimed.finishes)
    const call = liveReference === undefined ? claimed : { ...claimed, liveReference }
    const ageMs = deps.monotonicMs() - claimedAt
    // What is left of the lease when the call is over is for storing its outcome, also after a pause of the database.
    if (ageMs + adapter.capabilities.callTimeoutMs >= deps.turnPolicy.leaseMs * (at === 0 ? 0.9 : 0.6)) break
    let step: Step
    try {
      step = await sendCallAndSettle(deps, adapter, lane, call, holding)
    } catch (error) {
      step = await settleThrownCall(deps, lane, call, error, holding.started.has(call.id))
    }
    if (step.go === 'lost') {
      deps.log.warn('send_fenced', sendLogFields(lane, call))
      deps.meter.sent(lane.connection, 'fenced', '')
      return
    }
    if (step.go === 'stop') {
      delayMs = step.delayMs
      break
    }
  }
  await deps.results.store(undefined, () => releaseSendLane(deps.db, lane, delayMs))
}

type Holding = {
  readonly claimedAt: number
  /** Live messages by the client id of their row. */
  readonly opened: Map<string, string>
  /** Calls whose try began in this hold. */
  readonly started: Set<string>
}

/** What breaks before it is sent is tried again a few times and dead after that, so that what follows in its lane goes on. */
async function settleThrownCall(
  deps: DispatchDeps,
  lane: HeldSendLane,
  call: OpenCall,
  error: unknown,
  isStarted: boolean,
): Promise<Step> {
  // What our own database or the order to stop interrupts says nothing about the call.
  if (isGatewayError(error) && passing.includes(error.code)) throw error
  const facts = sendLogFields(lane, call)
  deps.log.error('send_threw', { ...facts, ...errorLogFields(error, 'internal') })
  const started: StartResult = isStarted
    ? { kind: 'started' }
    : await deps.results.store(undefined, (isRepeat) => startSend(deps.db, lane, call, {}, { isRepeat }))
  if (started.kind === 'lease_lost') return { go: 'lost' }
  if (started.kind !== 'started') return { go: 'stop', delayMs: 0 }
  const settlement = settleAfterException(call, isStarted, deps.settlePolicy, deps.random)
  const storeSendSettlement = (isRepeat: boolean) => settleSend(deps.db, lane, call, settlement, isRepeat)
  const what = { ...facts, reason: 'delivery', state: settlement.state }
  if ((await deps.results.store(what, storeSendSettlement)) === 'lease_lost') return { go: 'lost' }
  reportSettledTry(deps, facts, { ...untried, settlement })
  return { go: 'stop', delayMs: settlement.retryInMs }
}

async function sendCallAndSettle(
  deps: DispatchDeps,
  adapter: Adapter,
  lane: HeldSendLane,
  claimed: OpenCall,
  holding: Holding,
): Promise<Step> {
  const { claimedAt, opened } = holding
  if (claimed.waitMs > 0) return { go: 'stop', delayMs: claimed.waitMs }
  const isDecided = claimed.question !== null && claimed.question.outcomes !== null
  const said =
    claimed.purpose === 'welcome'
      ? toPrivateWelcomeCall(adapter, lane, claimed)
      : isDecided
        ? applyQuestionOutcome(adapter, lane, claimed)
        : claimed
  const call = said ?? claimed
  const early = said === undefined ? settleAsNotPrivate(claimed) : await settleWithoutSending(deps, adapter, said)
  // Also what is only settled is started first: the start puts our epoch on the row.
  const place = said === undefined ? undefined : adapter.limitedBy(said.call)
  const limits = early === undefined ? adapter.capabilities.limits : {}
  const mustBeAsked = early === undefined && call.question !== null && call.question.outcomes === null
  const started = await deps.results.store(undefined, (isRepeat) =>
    startSend(deps.db, lane, call, limits, { place, mustBeAsked, isRepeat }),
  )
  if (started.kind === 'lease_lost') return { go: 'lost' }
  if (started.kind === 'wait') return { go: 'stop', delayMs: started.waitMs }
  if (started.kind === 'settled') return { go: 'on' }
  if (started.kind === 'decided')
    return sendCallAndSettle(deps, adapter, lane, callWithQuestionDecided(claimed), holding)
  holding.started.add(call.id)
  const tried =
    early === undefined ? await sendAttempt(deps, adapter, call, claimedAt) : { ...untried, settlement: early }
  const judged = isEditOfQuestion(call) ? settleOutcomeEdit(tried.settlement) : tried.settlement
  const whole: Settlement = {
    ...(judged.cancelLater ? await addBrokenOffNotice(deps, adapter, lane, call, judged) : judged),
    // A pause that the vendor asked for holds for everything that shares the limit.
    ...(judged.pause === null || place === undefined ? {} : { pause: { ...judged.pause, place } }),
    maySayOutcome: call.question !== null && mayEditQuestionIntoOutcome(adapter, call, call.question, judged),
  }
  const facts = sendLogFields(lane, call)
  const what = { ...facts, reason: 'delivery', state: whole.state }
  const result = await deps.results.store(what, (isRepeat) => settleSend(deps.db, lane, call, whole, isRepeat))
  if (result === 'lease_lost') return { go: 'lost' }
  if (result === 'late') {
    const settlement: Settlement = { ...whole, state: 'retry', isFinal: false, reason: 'decided_meanwhile' }
    reportSettledTry(deps, facts, { ...tried, settlement })
    return { go: 'stop', delayMs: 0 }
  }
  if (call.purpose === 'live' && whole.vendorId !== null) opened.set(call.clientId, whole.vendorId)
  reportSettledTry(deps, facts, { ...tried, settlement: whole })
  if (whole.isFinal && whole.retryInMs <= 0 && !whole.cancelLater) return { go: 'on' }
  return { go: 'stop', delayMs: whole.retryInMs }
}

function callWithQuestionDecided(call: OpenCall): OpenCall {
  return call.question === null ? call : { ...call, question: { ...call.question, outcomes: [] } }
}

/** Once its question is over a call says the rest of its words; one that has arrived meanwhile is edited into the outcome. */
function applyQuestionOutcome(adapter: Adapter, lane: HeldSendLane, call: OpenCall): OpenCall {
  const { question, vendorId } = call
  if (vendorId !== null) {
    const outcome = renderOutcomeCall(adapter, lane, call)
    return outcome === undefined ? call : { ...call, call: outcome, liveReference: vendorId }
  }
  return question === null || question.otherwise === null || !isCallStillQueued(call)
    ? call
    : { ...call, call: question.otherwise }
}

/** The row holds where it goes. Undefined: it could not be said there to that person alone. */
function toPrivateWelcomeCall(adapter: Adapter, lane: HeldSendLane, claimed: OpenCall): OpenCall | undefined {
  const { to, room } = claimed.call
  const { appends, tellsInPrivate: isPrivateNotice } = adapter.capabilities
  const isRoom = room === 'group' || room === 'channel'
  if ((isRoom && isPrivateNotice !== true) || appends === true || adapter.expand !== undefined) return undefined
  const said = { thread_id: lane.orderKey, in_reply_to: claimed.id, agent: '', status: 'completed' } as const
  const reply = { ...said, parts: [textPart(say('pairing.welcomed'))], control: { about: 'access_challenge' } }
  const call = adapter.render(reply, to as JsonObject)[0]?.call
  return call === undefined ? undefined : { ...claimed, call }
}

function isCallStillQueued({ state }: OpenCall): boolean {
  return state === 'queued' || state === 'retry'
}

/** It arrived, and then its decision was found. */
function isEditOfQuestion({ question, vendorId }: OpenCall): boolean {
  return question !== null && question.outcomes !== null && vendorId !== null
}

/** Only a question that can be edited there becomes its outcome, and nothing that was sent without it. */
function mayEditQuestionIntoOutcome(
  adapter: Adapter,
  call: OpenCall,
  question: OpenQuestion,
  { state, isFinal, vendorId }: Settlement,
): boolean {
  const isQuestion = call.vendorId === null && call.call !== question.otherwise
  const hasArrived = isFinal && state === 'delivered' && vendorId !== null
  const needed = hasReplyWithoutQuestion(question) ? ['lines'] : ['lines', 'whole']
  return isQuestion && hasArrived && needed.includes(adapterEditingMode(adapter)) && call.replyTo !== null
}

function hasReplyWithoutQuestion({ otherwise, isPlaceholder }: OpenQuestion): boolean {
  return otherwise !== null && !isPlaceholder
}

function renderOutcomeCall(
  adapter: Adapter,
  lane: HeldSendLane,
  { id, question, replyTo }: OpenCall,
): OpenCall['call'] | undefined {
  const words = (question?.outcomes ?? []).map(resolvedQuestionText).join('\n')
  if (words === '' || replyTo === null || adapterEditingMode(adapter) === 'none') return undefined
  if (question !== null && question.otherwise !== null && hasReplyWithoutQuestion(question))
    return adapter.withLine?.(question.otherwise, words)
  const said = { thread_id: lane.orderKey, in_reply_to: id, agent: '', status: 'completed' } as const
  try {
    return adapter.render({ ...said, parts: [textPart(words)] }, dropReplyToMessageFields(replyTo), new Set(), true)[0]
      ?.call
  } catch {
    // The question stays as it is: a press on it is told that it was decided.
    return undefined
  }
}

/** Where the conversation is, without what its latest message left there: a press, or the person who wrote. */
function dropReplyToMessageFields(replyTo: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(replyTo).filter(([key]) => !key.startsWith('reply_to_')))
}

/** The one try of this hold, and what its outcome means. */
async function sendAttempt(
  deps: DispatchDeps,
  adapter: Adapter,
  call: OpenCall,
  claimedAt: number,
): Promise<SettledTry> {
  const sentAt = deps.monotonicMs()
  await deps.failpoint?.('before:deliver')
  let outcome: DeliveryResult = { kind: 'retry', reason: 'held_too_long' }
  // Between the commit above and this line the process may have slept: look at our own clock once more.
  const heldMs = deps.monotonicMs() - claimedAt
  if (heldMs + adapter.capabilities.callTimeoutMs < deps.turnPolicy.leaseMs * 0.9) {
    outcome = await runAttemptWithTimeout(adapter, call, adapter.deliver).catch(
      (): DeliveryResult => ({ kind: 'unknown', reason: 'deliver_threw' }),
    )
    await deps.failpoint?.('after:deliver')
  }
  const tookMs = deps.monotonicMs() - sentAt
  const settlement = settleOutcome(call, outcome, adapter.capabilities, deps.settlePolicy, deps.random)
  return { settlement, outcome, tookMs }
}

/** Calls that end or wait without being sent: expired ones, and those a dead holder left in the middle of sending. */
async function settleWithoutSending(
  deps: DispatchDeps,
  adapter: Adapter,
  call: OpenCall,
): Promise<Settlement | undefined> {
  if (call.isExpired) return settleDead(call, 'expired')
  if (call.question !== null && call.question.outcomes !== null) {
    if (call.vendorId !== null && call.liveReference === null) return settleOutcomeEdit(settleDead(call, 'no_outcome'))
    if (call.vendorId === null && call.question.otherwise === null && isCallStillQueued(call))
      return settleAsQuestionDecided(call)
  }
  // Without the message it would edit it were a second one.
  if (call.purpose === 'assertion' && call.liveReference === null) return settleDead(call, 'live_message_gone')
  if (call.state === 'sending') {
    const reason = call.reason === restoredReason ? restoredReason : 'holder_died'
    return settleOutcome(call, { kind: 'unknown', reason }, adapter.capabilities, deps.settlePolicy, deps.random)
  }
  if (call.state !== 'unknown') return undefined
  const found = await reconcileCall(deps, adapter, call)
  return settleByLookup(call, found, deps.settlePolicy, deps.random)
}

async function reconcileCall(deps: DispatchDeps, adapter: Adapter, call: OpenCall): Promise<LookupResult> {
  if (adapter.reconcile === undefined) return { kind: 'undecided', reason: 'no_lookup' }
  await deps.failpoint?.('before:reconcile')
  return runAttemptWithTimeout(adapter, call, adapter.reconcile).catch(
    (): LookupResult => ({ kind: 'undecided', reason: 'lookup_threw' }),
  )
}

async function runAttemptWithTimeout<T>(
  adapter: Adapter,
  call: OpenCall,
  verb: (call: JsonObject, attempt: Attempt) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const timer = setTimeout(
    () => abort.abort(new DOMException('call timed out', 'TimeoutError')),
    adapter.capabilities.callTimeoutMs,
  )
  try {
    return await verb(call.call, {
      outboxId: call.id,
      runId: call.turnId ?? undefined,
      number: call.attempt + 1,
      clientId: call.clientId,
      isMaybeRepeat: call.maybeRepeat,
      ...(call.liveReference === null ? {} : { liveReference: call.liveReference }),
      ...(isEditOfQuestion(call) ? { mustEdit: true } : {}),
      signal: abort.signal,
    })
  } finally {
    clearTimeout(timer)
  }
}

// An attempt is logged and counted once its result is stored.

type SettledTry = {
  readonly settlement: Settlement
  /** Absent where nothing was sent. */
  readonly outcome: DeliveryResult | undefined
  readonly tookMs: number | undefined
}

function reportSettledTry(
  { log, meter }: { readonly log: Log; readonly meter: Meter },
  facts: LogFields & { readonly connection: string },
  { settlement, outcome, tookMs }: SettledTry,
): void {
  const { isFinal, state, reason, retryInMs, pause } = settlement
  let result: SendOutcome = state
  // A vendor that names a time was asked too much; an open call without a known outcome is unknown, whatever comes next.
  if (!isFinal && pause !== null) result = 'rate_limited'
  else if (!isFinal && outcome?.kind === 'unknown') result = 'unknown'
  meter.sent(facts.connection, result, reason ?? '', tookMs)
  const reported = { ...facts, outcome: result, reason, ...(tookMs === undefined ? {} : { ms: Math.round(tookMs) }) }
  if (!isFinal) log.info('delivery_delayed', { ...reported, delayMs: Math.round(retryInMs) })
  else if (state === 'delivered' || state === 'cancelled') log.info('delivery_ended', reported)
  else log.warn('delivery_failed', { ...reported, state })
}

function sendLogFields(
  { connection }: HeldSendLane,
  { id, turnId, traceId, attempt }: OpenCall,
): LogFields & { readonly connection: string } {
  return { connection, trace: traceId, turn: turnId, outbox: id, attempt: attempt + 1 }
}
