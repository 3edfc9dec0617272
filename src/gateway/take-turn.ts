// Hops 5-8 for one held lane, from the claim to the commit that ends its turn.
import { type ChannelEvent, describeError, errorLogFields, type LogFields } from '../contract/index.ts'
import type { HeldLane, TurnEnd } from '../db/turn-rows.ts'
import type { Lease } from '../sessions/lease-keeper.ts'
import type { GatewayDeps } from './deps.ts'
import { endAccessChallengeTurn } from './door-turn.ts'
import { amendmentEnd, answeredEnd, deadEnd, type FailureStep, judgeFailure } from './end-turn.ts'
import { failLane, prepareLane } from './fail-lane.ts'
import { followLive, type LiveMessage } from './live-message.ts'
import { tellStillTrying } from './notices.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { giveBackNotice } from './reply-limits.ts'
import { runAgent } from './run-turn.ts'
import { showTurnPresence } from './signs.ts'
import { splitTurn } from './split-turn.ts'
import { comeBack } from './suspects.ts'
import { isAwaited, tellProgress, tellTask } from './task-end.ts'
import { createTurnErrors, type TurnErrors } from './turn-errors.ts'
import { getRunId } from './turn-facts.ts'

export type ClaimedLane = { readonly lane: HeldLane; readonly claimedAt: number }

type TimedTurn = ReadyTurn & { readonly startedAt: number }

export async function takeTurn(
  deps: GatewayDeps,
  { lane, claimedAt }: ClaimedLane,
  isStopping: () => boolean,
): Promise<void> {
  const at = deps.connections.find((each) => each.key === lane.connection && each.connection.tenant === lane.tenant)
  if (at === undefined) {
    // Not configured here; another replica may know it.
    await deps.turns.release(lane, 5_000, 'untouched')
    return
  }
  const lease = deps.leases.keep(lane, claimedAt)
  const startedAt = deps.monotonicMs()
  let ready: ReadyTurn | undefined
  try {
    ready = await prepareLane(deps, at, lane)
    if (ready === undefined) return
    // A run that goes on after a decision begins beside the turn that decided, whose answer comes before it in the log.
    if (ready.turn.kind === 'messages') tellProgress(deps, ready)
    await endTurn(deps, { ...ready, startedAt: deps.monotonicMs() }, lease, isStopping)
  } catch (error) {
    const completeEndedTurn = async (ended: ReadyTurn, how: TurnEnd) =>
      void (await completeTurnOnce(deps, { ...ended, startedAt }, how))
    await failLane(deps, { at, lane, ready, error, complete: completeEndedTurn })
  } finally {
    lease.end()
  }
}

async function endTurn(deps: GatewayDeps, ready: TimedTurn, lease: Lease, isStopping: () => boolean): Promise<void> {
  if (ready.splitBecause !== undefined) return void (await splitTurn(deps, ready, 0, ready.splitBecause))
  if (ready.turn.kind === 'amendment') return void (await completeTurnOnce(deps, ready, amendmentEnd(ready)))
  if (ready.turn.kind === 'door') return endWithAccessChallenge(deps, ready)
  const live = followLive(deps, ready, lease)
  const { deadBecause } = ready
  if (deadBecause !== undefined) return endRunTurn(deps, ready, live, (ended) => deadEnd(deps, ended, deadBecause))
  if (ready.turn.deaths >= deps.turnPolicy.maxDeaths)
    return endRunTurn(deps, ready, live, (ended) => deadEnd(deps, ended, 'interrupted_too_often'))
  notify(deps, ready, 'channel.processing_started')
  const signs = showTurnPresence(deps, ready, { lease, live })
  const errors = createTurnErrors(deps, ready)
  try {
    const result = await runAgent(deps, ready, { lease, isStopping, show: live.show, errors }).finally(() => {
      signs.stop()
      notify(deps, ready, 'channel.processing_ended')
    })
    await endRunTurn(deps, ready, live, (ended) => answeredEnd(deps, ended, result, Math.round(tookMs(deps, ready))))
    signs.end(result.reply === undefined ? 'silent' : 'replied')
  } catch (error) {
    const next = await failTurn(deps, ready, error, errors, live)
    // The process that took the turn over shows how it ends.
    if (next !== 'abandon') signs.end(next === 'dead' ? 'failed' : 'again')
  }
}

/** Nothing grows any more when the final words are written down. */
async function endRunTurn(
  deps: GatewayDeps,
  ready: TimedTurn,
  live: LiveMessage,
  make: (ended: TimedTurn) => Promise<TurnEnd>,
): Promise<void> {
  const ended = { ...ready, live: await live.end(), shown: live.words() }
  await completeTurnOnce(deps, ended, await deps.results.store(undefined, () => make(ended)))
}

/** Let in meanwhile: the message goes back to its place and runs like any other. */
async function endWithAccessChallenge(deps: GatewayDeps, ready: TimedTurn): Promise<void> {
  try {
    const end = await endAccessChallengeTurn(deps, ready)
    // Of a dead turn that was tried again and could not begin: run anew its messages would do again what it has done.
    if (end === undefined && ready.journalTurn !== ready.turn.id)
      await completeTurnOnce(deps, ready, await deadEnd(deps, ready, 'internal'))
    else if (end === undefined) await deps.turns.split(ready.lane, ready.turn.id, { delayMs: 0, code: 'admitted' })
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
async function completeTurnOnce(deps: GatewayDeps, ready: TimedTurn, end: TurnEnd): Promise<boolean> {
  const what = { ...turnLogFacts(ready), epoch: ready.lane.epoch, reason: 'turn', state: end.state }
  const ended = await deps.results.store(what, () => deps.turns.complete(ready.lane, end, isAwaited(deps, ready)))
  if (ended === undefined) {
    deps.log.warn('turn_fenced', { ...turnLogFacts(ready), epoch: ready.lane.epoch })
    comeBack(deps, ready)
  } else {
    const facts = { outcome: end.state, reason: end.reason ?? end.leadReason, calls: end.calls.length }
    deps.log.info('turn_ended', { ...turnLogFacts(ready), ...facts, ms: Math.round(tookMs(deps, ready)) })
    notify(deps, ready, 'channel.completed')
  }
  meterEnd(deps, ready, ended === undefined ? undefined : end)
  if (ended?.hasSends !== false) deps.bells.sends.ring()
  deps.bells.events.ring()
  tellTask(deps, ready, ended?.task)
  if (end.state !== 'replied') deps.bells.ends.ring()
  return ended?.hasSends !== false
}

/** Undefined: another process had the lane. What was appended to a log of ours was delivered by this commit. */
function meterEnd(deps: GatewayDeps, ready: TimedTurn, end: TurnEnd | undefined): void {
  const { connection } = ready.lane
  const outcome = end?.state === 'answered' ? 'replied' : (end?.state ?? 'fenced')
  deps.meter.turnEnded(connection, outcome, tookMs(deps, ready))
  for (const call of end?.calls ?? []) if (call.isAppended === true) deps.meter.sent(connection, 'delivered', '', 0)
}

async function failTurn(
  deps: GatewayDeps,
  begun: TimedTurn,
  error: unknown,
  errors: TurnErrors,
  live?: LiveMessage,
): Promise<FailureStep['kind']> {
  const ready = { ...begun, live: await live?.end() }
  const { connection } = ready.lane
  const step = judgeFailure(deps, ready, error)
  const facts = errorLogFields(error, 'agent_failed')
  const told = { ...turnLogFacts(ready), ...facts, next: step.kind }
  if (step.kind !== 'abandon') {
    deps.log.warn('turn_failed', told, describeError(error, deps.secretValues))
    await errors.failed(error)
    deps.meter.agentFailed(connection, facts.code ?? '')
  }
  switch (step.kind) {
    case 'abandon':
      deps.log.warn('turn_fenced', told)
      comeBack(deps, ready)
      deps.meter.turnEnded(connection, 'fenced', tookMs(deps, ready))
      break
    case 'release':
      deps.meter.turnEnded(connection, 'again', tookMs(deps, ready))
      if (step.cause === 'outage' && isLongWait(deps, ready, step.delayMs)) await tellStillTrying(deps, ready)
      await deps.results.store(undefined, () => deps.turns.release(ready.lane, step.delayMs, step.cause, step.code))
      break
    case 'split':
      deps.meter.turnEnded(connection, 'split', tookMs(deps, ready))
      await deps.results.store(undefined, () => splitTurn(deps, ready, step.delayMs, step.code))
      break
    case 'dead':
      await completeTurnOnce(deps, ready, await deps.results.store(undefined, () => deadEnd(deps, ready, step.reason)))
  }
  return step.kind
}

/** From the first failure until the next try, as far as the sender waits for it. */
function isLongWait(deps: GatewayDeps, ready: TimedTurn, delayMs: number): boolean {
  return (ready.turn.outageMs ?? 0) + tookMs(deps, ready) + delayMs >= deps.turnPolicy.outageNoticeMs
}

function turnLogFacts({ lane, turn, members }: ReadyTurn): LogFields {
  const { connection, agent } = lane
  return { connection, trace: turn.traceId, turn: turn.id, agent, attempt: turn.attempt, members: members.length }
}

function tookMs(deps: GatewayDeps, { startedAt }: TimedTurn): number {
  return deps.monotonicMs() - startedAt
}

function notify(deps: GatewayDeps, ready: ReadyTurn, type: ChannelEvent['type']): void {
  const { lane, turn, members } = ready
  const messageIds = members.map((member) => member.row.messageId)
  const { connection, conversationId, agent } = lane
  const run = { turnId: turn.id, runId: getRunId(ready), sessionId: turn.sessionId }
  deps.notify({ type, connection, conversationId, agent, ...run, messageIds })
}
