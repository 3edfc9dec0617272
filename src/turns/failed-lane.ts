// A held lane that failed before it had a turn: what it failed on is named in the log, tried again a bounded number of times,
// and dead after that, so that what waits behind it goes on.

import { createStepLog } from '../agents/steps.ts'
import type { JournalStore } from '../db/journal.ts'
import {
  type HeldLane,
  type NewTurn,
  noAccessBasis,
  type OpenTurn,
  type TurnEnd,
  type WaitingMessage,
} from '../db/turn-rows.ts'
import { openTurn, releaseLane } from '../db/turns.ts'
import { type ErrorCode, toRedactedErrorRecord } from '../lib/errors.ts'
import { newTraceId } from '../lib/ids.ts'
import { isGatewayError, type Log } from '../lib/index.ts'
import { errorLogFields } from '../lib/log.ts'
import { backoffMs } from '../outbound/settle.ts'
import { answersEachRequest, mayNotifyUnadmittedSender } from './admit.ts'
import { buildDeadTurnEnd, createEmptyEnd } from './end-turn.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import { prepareTurn } from './prepare-turn.ts'
import { naturalEnd } from './run-end.ts'
import type { RenderServices, TurnServices } from './services.ts'
import { createContextOfOpenedTurn, type TurnContext } from './turn-context.ts'

type Failed = {
  readonly at: GatewayConnection
  readonly lane: HeldLane
  /** Undefined: it failed before its turn was opened or resumed. */
  readonly ready: TurnContext | undefined
  readonly error: unknown
  readonly complete: (ready: TurnContext, end: TurnEnd) => Promise<void>
}

/** Not the fault of what waits: the database is away, the lane is another's by now, the process stops. */
const passing: readonly ErrorCode[] = ['storage_unavailable', 'storage_overloaded', 'lease_lost', 'stopping']

function isTransientFailure(error: unknown): boolean {
  return isGatewayError(error) && passing.includes(error.code)
}

/** One of many may be what it failed on: the first is taken alone then, and shows whether it is the one. */
export async function prepareTurnOfFirstMessage(
  deps: TurnServices,
  at: GatewayConnection,
  lane: HeldLane,
  error: unknown,
): Promise<TurnContext | undefined> {
  const messages = firstMessageOrRetriedTurn(lane)
  const isAlone = messages.length === lane.messages.length
  if (isTransientFailure(error) || lane.openTurn !== null || lane.signal !== null || isAlone) throw error
  return prepareTurn(deps, at, { ...lane, messages })
}

/** Messages of a dead turn that is tried again stay together: what it has done was done for all of them. */
function firstMessageOrRetriedTurn({ messages }: HeldLane): readonly WaitingMessage[] {
  const [first] = messages
  if (first === undefined || !first.continuesTurn) return messages.slice(0, 1)
  return messages.filter((row) => row.continuesTurn && row.parentTurn === first.parentTurn)
}

/** Throws what is not the lane's fault, after giving the lane back. */
export async function retryOrEndFailedLane(deps: TurnServices, failed: Failed): Promise<void> {
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
  const last =
    ready ??
    (turn === null
      ? await openTurnForFailedMessages(deps, failed, failures)
      : await restoreOpenTurn(deps, failed, turn))
  if (last !== undefined)
    await failed.complete(last, await buildFailedLaneTurnEnd(deps, last, errorCodeOrInternal(error)))
}

/** A turn that could not even be resumed, with what it has done before: its apology says so. */
async function restoreOpenTurn(
  deps: { readonly journal: JournalStore; readonly monotonicMs: () => number },
  { at, lane }: Failed,
  turn: OpenTurn,
): Promise<TurnContext> {
  const past = await deps.journal.past(turn.id)
  const members = toTurnMembers(lane.messages)
  const steps = createStepLog(past.steps)
  const { journalTurn } = past
  return {
    lane,
    at,
    turn,
    startedAt: deps.monotonicMs(),
    members,
    joined: new Map(),
    steps: () => steps,
    journalTurn,
    signal: lane.signal,
    edit: null,
  }
}

/**
 * What is in no turn ends in one like any other, so that its story, its task and what its sender is told are stored in one commit.
 * Without a session: nothing of it was heard by an agent. Undefined: the lane is another's by now.
 */
async function openTurnForFailedMessages(
  deps: Pick<TurnServices, 'db' | 'journal' | 'turnPolicy' | 'newId' | 'monotonicMs'>,
  { at, lane }: Failed,
  failures: number,
): Promise<TurnContext | undefined> {
  const rows = lane.signal === null ? firstMessageOrRetriedTurn(lane) : []
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
  const opened = createContextOfOpenedTurn(
    deps,
    at,
    lane,
    turn,
    turn.continuesTurn ? await deps.journal.past(turn.id) : undefined,
  )
  return { ...opened, turn: { ...opened.turn, failures }, members: toTurnMembers(rows), signal: lane.signal }
}

function toTurnMembers(rows: readonly WaitingMessage[]): TurnContext['members'] {
  return rows.filter(({ event }) => event === 'new').map((row) => ({ row, message: row.message, edits: [] }))
}

/** With an apology to those who spoke to us, unless that is what cannot be written. */
async function buildFailedLaneTurnEnd(deps: RenderServices, ready: TurnContext, reason: string): Promise<TurnEnd> {
  try {
    const end = await buildDeadTurnEnd(deps, ready, reason)
    return mayApologize(ready) ? end : { ...end, calls: [] }
  } catch (error) {
    if (isTransientFailure(error)) throw error
    const events = [{ key: `${ready.lane.epoch}:dead`, event: { type: 'failed', metadata: { error: reason } } }]
    return {
      ...createEmptyEnd(ready),
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
function mayApologize({ turn, at, members }: TurnContext): boolean {
  if (turn.kind === 'amendment') return false
  const row = members.at(-1)?.row
  return (
    turn.kind !== 'access_challenge' ||
    (row !== undefined && (answersEachRequest(at) || mayNotifyUnadmittedSender(row)))
  )
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
    toRedactedErrorRecord(error, deps.secretValues),
  )
}

function errorCodeOrInternal(error: unknown): string {
  return isGatewayError(error) ? error.code : 'internal'
}
