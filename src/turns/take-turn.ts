// Takes one held lane from the claim to the commit that ends its turn: prepare, run, render, complete.

import { createStepLog } from '../agents/steps.ts'
import type { ChannelEvent } from '../contract/gateway-events.ts'
import { isGatewayError, type Log, type NormalizedResponse, type Observer, textPart } from '../contract/index.ts'
import type { Meter } from '../contract/metrics.ts'
import type { Db } from '../db/client.ts'
import type { JournalStore } from '../db/journal.ts'
import {
  type HeldLane,
  type NewTurn,
  noAccessBasis,
  type OpenTurn,
  type TurnEnd,
  type WaitingMessage,
} from '../db/turn-rows.ts'
import { completeTurn, openTurn, releaseLane, splitTurn } from '../db/turns.ts'
import { describeError, type ErrorCode } from '../lib/errors.ts'
import { type IdSource, newTraceId } from '../lib/ids.ts'
import { errorLogFields, type LogFields } from '../lib/log.ts'
import { say } from '../locales/say.ts'
import { giveBackNotice } from '../outbound/reply-limits.ts'
import { backoffMs } from '../outbound/settle.ts'
import { showTurnPresence } from '../outbound/show-presence.ts'
import { endAccessChallengeTurn } from './access-challenge.ts'
import { isWatched, mayNotify } from './admit.ts'
import {
  amendmentEnd,
  answeredEnd,
  deadEnd,
  emptyEnd,
  type FailureStep,
  judgeFailure,
  renderOutgoing,
} from './end-turn.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Lease } from './leases.ts'
import { createLiveEnd, followLive, type LiveMessage } from './live-message.ts'
import { begun, prepareTurn, type ReadyTurn } from './prepare-turn.ts'
import { sendStillTrying } from './run-control.ts'
import { isAwaited, naturalEnd, reportProgress, reportTask } from './run-end.ts'
import { createTurnErrors, type TurnErrors } from './run-log.ts'
import { runAgent } from './run-turn.ts'
import type { RenderServices, TurnServices } from './services.ts'
import { comeBack } from './suspects.ts'
import { getRunId, replyFields } from './turn-labels.ts'
import type { TurnPolicy } from './turn-policy.ts'

type TimedTurn = ReadyTurn & { readonly startedAt: number }

export async function takeTurn(
  deps: TurnServices,
  { lane, claimedAt }: { readonly lane: HeldLane; readonly claimedAt: number },
  isStopping: () => boolean,
): Promise<void> {
  const at = deps.connections.find((each) => each.key === lane.connection && each.connection.tenant === lane.tenant)
  if (at === undefined) {
    // Not configured here; another replica may know it.
    await releaseLane(deps.db, lane, 5_000, 'untouched')
    return
  }
  const lease = deps.leases.keep(lane, claimedAt)
  const startedAt = deps.monotonicMs()
  let ready: ReadyTurn | undefined
  try {
    ready = await prepareLane(deps, at, lane)
    if (ready === undefined) return
    // A run that goes on after a decision begins beside the turn that decided, whose answer comes before it in the log.
    if (ready.turn.kind === 'messages') reportProgress(deps, ready)
    await endTurn(deps, { ...ready, startedAt: deps.monotonicMs() }, lease, isStopping)
  } catch (error) {
    const completeEndedTurn = async (ended: ReadyTurn, how: TurnEnd) =>
      void (await completeTurnOnce(deps, { ...ended, startedAt }, how))
    await failLane(deps, { at, lane, ready, error, complete: completeEndedTurn })
  } finally {
    lease.end()
  }
}

async function endTurn(deps: TurnServices, ready: TimedTurn, lease: Lease, isStopping: () => boolean): Promise<void> {
  if (ready.splitBecause !== undefined) return void (await endSplitTurn(deps, ready, 0, ready.splitBecause))
  if (ready.turn.kind === 'amendment') return void (await completeTurnOnce(deps, ready, amendmentEnd(ready)))
  if (ready.turn.kind === 'access_challenge') return endWithAccessChallenge(deps, ready)
  const live = followLive(deps, ready, lease)
  const { deadBecause } = ready
  if (deadBecause !== undefined) return endRunTurn(deps, ready, live, (ended) => deadEnd(deps, ended, deadBecause))
  if (ready.turn.crashes >= deps.turnPolicy.maxCrashes)
    return endRunTurn(deps, ready, live, (ended) => deadEnd(deps, ended, 'interrupted_too_often'))
  notify(deps, ready, 'channel.processing_started')
  const presence = showTurnPresence(deps, ready, { lease, live })
  const errors = createTurnErrors(deps, ready)
  try {
    const result = await runAgent(deps, ready, { lease, isStopping, show: live.show, errors }).finally(() => {
      presence.stop()
      notify(deps, ready, 'channel.processing_ended')
    })
    await endRunTurn(deps, ready, live, (ended) => answeredEnd(deps, ended, result, Math.round(tookMs(deps, ready))))
    presence.end(result.reply === undefined ? 'silent' : 'replied')
  } catch (error) {
    const next = await failTurn(deps, ready, error, errors, live)
    // The process that took the turn over shows how it ends.
    if (next !== 'abandon') presence.end(next === 'dead' ? 'failed' : 'again')
  }
}

/** Nothing grows any more when the final words are written down. */
async function endRunTurn(
  deps: TurnServices,
  ready: TimedTurn,
  live: LiveMessage,
  make: (ended: TimedTurn) => Promise<TurnEnd>,
): Promise<void> {
  const ended = { ...ready, live: await live.end(), shown: live.words() }
  await completeTurnOnce(deps, ended, await deps.results.store(undefined, () => make(ended)))
}

/** Let in meanwhile: the message goes back to its place and runs like any other. */
async function endWithAccessChallenge(deps: TurnServices, ready: TimedTurn): Promise<void> {
  try {
    const end = await endAccessChallengeTurn(deps, ready)
    // Of a dead turn that was tried again and could not begin: run anew its messages would do again what it has done.
    if (end === undefined && ready.journalTurn !== ready.turn.id)
      await completeTurnOnce(deps, ready, await deadEnd(deps, ready, 'internal'))
    else if (end === undefined) await splitTurn(deps.db, ready.lane, ready.turn.id, { delayMs: 0, code: 'admitted' })
    else {
      const hasSent = await completeTurnOnce(deps, ready, end)
      if (end.pairing !== null && end.leadId !== null && end.calls.length > 0 && !hasSent)
        await giveBackNotice(deps, ready.at.key, end.leadId)
    }
  } catch (error) {
    await failTurn(deps, ready, error, createTurnErrors(deps, ready))
  }
}

/** Whether anything leaves by it, as far as is known. */
async function completeTurnOnce(deps: TurnServices, ready: TimedTurn, end: TurnEnd): Promise<boolean> {
  const what = { ...turnLogFacts(ready), epoch: ready.lane.epoch, reason: 'turn', state: end.state }
  const ended = await deps.results.store(what, () => completeTurn(deps.db, ready.lane, end, isAwaited(deps, ready)))
  if (ended === undefined) {
    deps.log.warn('turn_fenced', { ...turnLogFacts(ready), epoch: ready.lane.epoch })
    comeBack(deps, ready)
  } else {
    const facts = { outcome: end.state, reason: end.reason ?? end.leadReason, calls: end.calls.length }
    deps.log.info('turn_ended', { ...turnLogFacts(ready), ...facts, ms: Math.round(tookMs(deps, ready)) })
    notify(deps, ready, 'channel.completed')
  }
  meterEnd(deps, ready, ended === undefined ? undefined : end)
  if (ended?.hasSends !== false) deps.wakeups.sends.notify()
  deps.wakeups.events.notify()
  reportTask(deps, ready, ended?.task)
  if (end.state !== 'replied') deps.wakeups.ends.notify()
  return ended?.hasSends !== false
}

/** Undefined: another process had the lane. What was appended to a log of ours was delivered by this commit. */
function meterEnd(
  deps: { readonly monotonicMs: () => number; readonly meter: Meter },
  ready: TimedTurn,
  end: TurnEnd | undefined,
): void {
  const { connection } = ready.lane
  const outcome = end?.state === 'answered' ? 'replied' : (end?.state ?? 'fenced')
  deps.meter.turnEnded(connection, outcome, tookMs(deps, ready))
  for (const call of end?.calls ?? []) if (call.isAppended === true) deps.meter.sent(connection, 'delivered', '', 0)
}

async function failTurn(
  deps: TurnServices,
  begun: TimedTurn,
  error: unknown,
  errors: TurnErrors,
  live?: LiveMessage,
): Promise<FailureStep['kind']> {
  const ready = { ...begun, live: await live?.end() }
  const { connection } = ready.lane
  const step = judgeFailure(deps, ready, error)
  const facts = errorLogFields(error, 'agent_failed')
  const reported = { ...turnLogFacts(ready), ...facts, next: step.kind }
  if (step.kind !== 'abandon') {
    deps.log.warn('turn_failed', reported, describeError(error, deps.secretValues))
    await errors.failed(error)
    deps.meter.agentFailed(connection, facts.code ?? '')
  }
  switch (step.kind) {
    case 'abandon':
      deps.log.warn('turn_fenced', reported)
      comeBack(deps, ready)
      deps.meter.turnEnded(connection, 'fenced', tookMs(deps, ready))
      break
    case 'release':
      deps.meter.turnEnded(connection, 'again', tookMs(deps, ready))
      if (step.cause === 'outage' && isLongWait(deps, ready, step.delayMs)) await sendStillTrying(deps, ready)
      await deps.results.store(undefined, () => releaseLane(deps.db, ready.lane, step.delayMs, step.cause, step.code))
      break
    case 'split':
      deps.meter.turnEnded(connection, 'split', tookMs(deps, ready))
      await deps.results.store(undefined, () => endSplitTurn(deps, ready, step.delayMs, step.code))
      break
    case 'dead':
      await completeTurnOnce(deps, ready, await deps.results.store(undefined, () => deadEnd(deps, ready, step.reason)))
  }
  return step.kind
}

/** From the first failure until the next try, as far as the sender waits for it. */
function isLongWait(
  deps: { readonly turnPolicy: TurnPolicy; readonly monotonicMs: () => number },
  ready: TimedTurn,
  delayMs: number,
): boolean {
  return (ready.turn.outageMs ?? 0) + tookMs(deps, ready) + delayMs >= deps.turnPolicy.outageNoticeMs
}

function turnLogFacts({ lane, turn, members }: ReadyTurn): LogFields {
  const { connection, agent } = lane
  return { connection, trace: turn.traceId, turn: turn.id, agent, attempt: turn.attempt, members: members.length }
}

function tookMs(deps: { readonly monotonicMs: () => number }, { startedAt }: TimedTurn): number {
  return deps.monotonicMs() - startedAt
}

function notify(deps: { readonly notify: Observer }, ready: ReadyTurn, type: ChannelEvent['type']): void {
  const { lane, turn, members } = ready
  const messageIds = members.map((member) => member.row.messageId)
  const { connection, conversationId, agent } = lane
  const run = { turnId: turn.id, runId: getRunId(ready), sessionId: turn.sessionId }
  deps.notify({ type, connection, conversationId, agent, ...run, messageIds })
}

// A held lane that failed before it had a turn: what it failed on is named in the log, tried again a bounded number of times,
// and dead after that, so that what waits behind it goes on.

type Failed = {
  readonly at: GatewayConnection
  readonly lane: HeldLane
  /** Undefined: it failed before its turn was opened or resumed. */
  readonly ready: ReadyTurn | undefined
  readonly error: unknown
  readonly complete: (ready: ReadyTurn, end: TurnEnd) => Promise<void>
}

/** Not the fault of what waits: the database is away, the lane is another's by now, the process stops. */
const passing: readonly ErrorCode[] = ['storage_unavailable', 'storage_overloaded', 'lease_lost', 'stopping']

function isTransientFailure(error: unknown): boolean {
  return isGatewayError(error) && passing.includes(error.code)
}

/** One of many may be what it fails on: the first is taken alone then, and shows whether it is the one. */
async function prepareLane(deps: TurnServices, at: GatewayConnection, lane: HeldLane): Promise<ReadyTurn | undefined> {
  try {
    return await prepareTurn(deps, at, lane)
  } catch (error) {
    const messages = firstAlone(lane)
    const isAlone = messages.length === lane.messages.length
    if (isTransientFailure(error) || lane.openTurn !== null || lane.signal !== null || isAlone) throw error
    return prepareTurn(deps, at, { ...lane, messages })
  }
}

/** Messages of a dead turn that is tried again stay together: what it has done was done for all of them. */
function firstAlone({ messages }: HeldLane): readonly WaitingMessage[] {
  const [first] = messages
  if (first === undefined || !first.continuesTurn) return messages.slice(0, 1)
  return messages.filter((row) => row.continuesTurn && row.parentTurn === first.parentTurn)
}

/** Throws what is not the lane's fault, after giving the lane back. */
async function failLane(deps: TurnServices, failed: Failed): Promise<void> {
  const { lane, ready, error } = failed
  if (isTransientFailure(error)) {
    // Whether its turn was opened or resumed is not known where the answer went missing: that try does not count.
    const cause = isGatewayError(error, 'storage_unavailable') ? 'stopping' : 'untouched'
    const releaseFailedLane = () => releaseLane(deps.db, lane, 500, cause, errorCodeOrInternal(error))
    if (ready === undefined) await deps.results.store(undefined, releaseFailedLane).catch(() => false)
    throw error
  }
  const turn = ready?.turn ?? lane.openTurn
  const waiting = turn ?? lane.signal ?? lane.messages[0]
  if (waiting === undefined) throw error
  const failures = ('failures' in waiting ? waiting.failures : waiting.attempts) + 1
  const delayMs = backoffMs(failures, { firstMs: deps.turnPolicy.retryFirstMs, maxMs: 60_000 }, deps.random)
  const ageMs =
    lane.messages[0] === undefined ? undefined : deps.now() - Date.parse(lane.messages[0].message.received_at)
  if (isGatewayError(error, 'provider_unavailable') && ageMs !== undefined && ageMs < deps.turnPolicy.maxOutageMs) {
    logLaneFailure(deps, failed, failures, 'outage')
    // The longer it is away, the less often it is asked.
    await releaseLane(deps.db, lane, Math.max(delayMs, Math.min(ageMs / 2, 60_000)), 'untouched')
    return
  }
  if (failures < deps.turnPolicy.maxFailures) {
    logLaneFailure(deps, failed, failures, 'again')
    await releaseLane(
      deps.db,
      lane,
      delayMs,
      'failed',
      errorCodeOrInternal(error),
      turn === null ? waiting.id : undefined,
    )
    return
  }
  logLaneFailure(deps, failed, failures, 'dead')
  const last = ready ?? (turn === null ? await openLast(deps, failed, failures) : await takeUp(deps, failed, turn))
  if (last !== undefined) await failed.complete(last, await lastEnd(deps, last, errorCodeOrInternal(error)))
}

/** A turn that could not even be resumed, with what it has done before: its apology says so. */
async function takeUp(
  deps: { readonly journal: JournalStore },
  { at, lane }: Failed,
  turn: OpenTurn,
): Promise<ReadyTurn> {
  return {
    lane,
    at,
    turn,
    ...(await readBegunSteps(deps, turn.id)),
    members: toMembers(lane.messages),
    signal: lane.signal,
    edit: null,
  }
}

async function readBegunSteps(
  deps: { readonly journal: JournalStore },
  turnId: string,
): Promise<ReturnType<typeof begun>> {
  const { steps, journalTurn } = await deps.journal.past(turnId)
  return { joined: new Map(), steps: createStepLog(steps), journalTurn }
}

/**
 * What is in no turn ends in one like any other, so that its story, its task and what its sender is told are stored in one commit.
 * Without a session: nothing of it was heard by an agent. Undefined: the lane is another's by now.
 */
async function openLast(
  deps: { readonly db: Db; readonly journal: JournalStore; readonly turnPolicy: TurnPolicy; readonly newId: IdSource },
  { at, lane }: Failed,
  failures: number,
): Promise<ReadyTurn | undefined> {
  const rows = lane.signal === null ? firstAlone(lane) : []
  const lead = rows.at(-1)
  const turn: NewTurn = {
    id: deps.newId(),
    attempt: failures,
    kind: 'access_challenge',
    sessionId: null,
    isNewSession: false,
    keeping: null,
    parentTurn: lead?.parentTurn ?? null,
    continuesTurn: lead?.continuesTurn ?? false,
    history: null,
    principal: null,
    runId: null,
    resumes: null,
    taskId: lead?.taskId ?? lane.signal?.taskId ?? null,
    traceId: lead?.traceId ?? newTraceId(deps),
    deadlineMs: deps.turnPolicy.deadlineMs,
    replyTo: lead?.replyTo ?? null,
    members: rows.map(({ id }, ord) => ({ ...noAccessBasis, id, ord, principal: null })),
    signalId: lane.signal?.id ?? null,
  }
  if (!(await openTurn(deps.db, lane, turn, []))) return undefined
  const opened: OpenTurn = { ...turn, sessionId: '', failures, crashes: 0, outageMs: null }
  const past = turn.continuesTurn ? await readBegunSteps(deps, turn.id) : begun(turn.id)
  const own = { lane: { ...lane, replyTo: turn.replyTo ?? lane.replyTo }, at, turn: opened, ...past }
  return { ...own, members: toMembers(rows), signal: lane.signal, edit: null }
}

function toMembers(rows: readonly WaitingMessage[]): ReadyTurn['members'] {
  return rows.filter(({ event }) => event === 'new').map((row) => ({ row, message: row.message, edits: [] }))
}

/** With an apology to those who spoke to us, unless that is what cannot be written. */
async function lastEnd(deps: RenderServices, ready: ReadyTurn, reason: string): Promise<TurnEnd> {
  try {
    const end = await deadEnd(deps, ready, reason)
    return mayApologize(ready) ? end : { ...end, calls: [] }
  } catch (error) {
    if (isTransientFailure(error)) throw error
    const events = [{ key: `${ready.lane.epoch}:dead`, event: { type: 'failed', metadata: { error: reason } } }]
    return {
      ...emptyEnd(ready),
      state: 'dead',
      reason,
      leadState: 'dead',
      leadReason: reason,
      taskState: 'failed',
      events,
      run: { ...naturalEnd, status: 'failed', stopReason: reason },
    }
  }
}

/** An access challenge lets no sender in: only senders who would be told so in one are told this. */
function mayApologize({ turn, at, members }: ReadyTurn): boolean {
  if (turn.kind === 'amendment') return false
  const row = members.at(-1)?.row
  return turn.kind !== 'access_challenge' || (row !== undefined && (isWatched(at) || mayNotify(row)))
}

function logLaneFailure(
  deps: { readonly log: Log; readonly secretValues?: readonly string[] },
  { lane, ready, error }: Failed,
  attempt: number,
  next: string,
): void {
  const row =
    ready?.members.at(-1)?.row ?? (lane.openTurn === null && lane.signal !== null ? undefined : lane.messages[0])
  deps.log.error(
    'message_failed',
    {
      connection: lane.connection,
      conversation: lane.conversationId,
      agent: lane.agent,
      inbox: row?.id ?? null,
      trace: row?.traceId ?? null,
      turn: (ready?.turn ?? lane.openTurn)?.id ?? null,
      ...errorLogFields(error, 'internal'),
      attempt,
      next,
    },
    describeError(error, deps.secretValues),
  )
}

function errorCodeOrInternal(error: unknown): string {
  return isGatewayError(error) ? error.code : 'internal'
}

// A turn that is split, so that its messages run one by one from now on. A live message that it had opened says so, and grows no
// more.

async function endSplitTurn(deps: TurnServices, ready: ReadyTurn, delayMs: number, code: string): Promise<boolean> {
  const live = ready.at.adapter.live === undefined ? undefined : (ready.live ?? (await createLiveEnd(deps, ready, '')))
  if (live === undefined) return splitTurn(deps.db, ready.lane, ready.turn.id, { delayMs, code })
  const { threadId, inReplyTo, agent } = replyFields(ready)
  const reply: NormalizedResponse = {
    thread_id: threadId,
    in_reply_to: inReplyTo,
    agent,
    status: 'completed',
    parts: [textPart(say('run.interrupted_and_split'))],
  }
  const calls = await renderOutgoing(deps, { ...ready, live }, [{ reply, purpose: 'notice' }])
  return splitTurn(deps.db, ready.lane, ready.turn.id, { delayMs, code, calls })
}
