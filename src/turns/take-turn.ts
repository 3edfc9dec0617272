// Takes one held lane from the claim to the commit that ends its turn: prepare, run, render, complete.

import { type NormalizedResponse, textPart } from '../contract/index.ts'
import type { HeldLane, TurnEnd } from '../db/turn-rows.ts'
import { completeTurn, releaseLane, splitTurn } from '../db/turns.ts'
import { toRedactedErrorRecord } from '../lib/errors.ts'
import { errorLogFields } from '../lib/log.ts'
import { say } from '../locales/say.ts'
import { showTurnPresence } from '../outbound/presence.ts'
import { takeBackNoticeCount } from '../outbound/reply-limits.ts'
import { buildAccessChallengeEnd } from './access-challenge.ts'
import {
  buildAmendmentTurnEnd,
  buildAnsweredTurnEnd,
  buildDeadTurnEnd,
  decideAfterFailure,
  type FailureStep,
  renderOutgoing,
} from './end-turn.ts'
import { prepareTurnOfFirstMessage, retryOrEndFailedLane } from './failed-lane.ts'
import type { Lease } from './leases.ts'
import { followTurnAsLiveMessage, readLiveMessageEnd } from './live-message.ts'
import { prepareTurn } from './prepare-turn.ts'
import { sendStillTryingNotice } from './run-control.ts'
import { createTurnErrorReporter, type TurnErrors } from './run-log.ts'
import { type RunDeps, type RunResult, runAgent } from './run-turn.ts'
import type { TurnServices } from './services.ts'
import { clearTurnCrashWithRetries } from './suspects.ts'
import { isNewlyOpenedTurn, replyFields, type TurnContext, turnEventFields, turnLogFields } from './turn-context.ts'

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
  let ready: TurnContext | undefined
  try {
    ready = await prepareTurn(deps, at, lane).catch((error) => prepareTurnOfFirstMessage(deps, at, lane, error))
    if (ready === undefined) return
    const { kind, taskId } = ready.turn
    // A run that goes on after a decision begins beside the turn that decided, whose answer comes before it in the log.
    if (kind === 'messages' && taskId !== null) deps.watchers.reportProgress(taskId)
    await runAndEndTurn(deps, ready, lease, isStopping)
  } catch (error) {
    const completeEndedTurn = async (ended: TurnContext, how: TurnEnd) =>
      void (await completeTurnOnce(deps, ended, how))
    await retryOrEndFailedLane(deps, { at, lane, ready, error, complete: completeEndedTurn })
  } finally {
    lease.end()
  }
}

async function runAndEndTurn(
  deps: TurnServices,
  ready: TurnContext,
  lease: Lease,
  isStopping: () => boolean,
): Promise<void> {
  if (ready.splitBecause !== undefined) return void (await endSplitTurn(deps, ready, 0, ready.splitBecause))
  if (ready.turn.kind === 'amendment') return void (await completeTurnOnce(deps, ready, buildAmendmentTurnEnd(ready)))
  if (ready.turn.kind === 'access_challenge') return endWithAccessChallenge(deps, ready)
  // Of a reply that comes whole no live message is made; an earlier try may have opened one.
  let live = isNewlyOpenedTurn(ready) ? undefined : followTurnAsLiveMessage(deps, ready, lease)
  let isOver = false
  const closeLiveMessage = async (): Promise<TurnContext> => {
    isOver = true
    return { ...ready, ...(await live?.end()) }
  }
  const { deadBecause } = ready
  const dead = deadBecause ?? (ready.turn.crashes >= deps.turnPolicy.maxCrashes ? 'interrupted_too_often' : undefined)
  if (dead !== undefined) {
    const ended = await closeLiveMessage()
    const end = await deps.results.store(undefined, () => buildDeadTurnEnd(deps, ended, dead))
    return void (await completeTurnOnce(deps, ended, end))
  }
  deps.notify({ ...turnEventFields(ready), type: 'channel.processing_started' })
  const presence = showTurnPresence(deps, ready, () => live?.isShown() !== true && lease.isHeld())
  let errors: TurnErrors | undefined
  const run: RunDeps = {
    lease,
    isStopping,
    show(delta) {
      if (isOver) return
      live ??= followTurnAsLiveMessage(deps, ready, lease)
      live.show(delta)
    },
    errors: () => (errors ??= createTurnErrorReporter(deps, ready)),
  }
  try {
    let result: RunResult
    try {
      result = await runAgent(deps, ready, run)
    } finally {
      presence.stop()
      deps.notify({ ...turnEventFields(ready), type: 'channel.processing_ended' })
    }
    // Nothing grows any more when the final words are written down.
    const ended = await closeLiveMessage()
    const latencyMs = Math.round(deps.monotonicMs() - ready.startedAt)
    const end = await deps.results.store(undefined, () => buildAnsweredTurnEnd(deps, ended, result, latencyMs))
    await completeTurnOnce(deps, ended, end)
    presence.end(result.reply === undefined ? 'silent' : 'replied')
  } catch (error) {
    const next = await settleFailedTurn(deps, await closeLiveMessage(), error, run.errors())
    // The process that took the turn over shows how it ends.
    if (next !== 'abandon') presence.end(next === 'dead' ? 'failed' : 'again')
  }
}

/** Let in meanwhile: the message goes back to its place and runs like any other. */
async function endWithAccessChallenge(deps: TurnServices, ready: TurnContext): Promise<void> {
  try {
    const end = await buildAccessChallengeEnd(deps, ready)
    // Of a dead turn that was tried again and could not begin: run anew its messages would do again what it has done.
    if (end === undefined && ready.journalTurn !== ready.turn.id)
      await completeTurnOnce(deps, ready, await buildDeadTurnEnd(deps, ready, 'internal'))
    else if (end === undefined) await splitTurn(deps.db, ready.lane, ready.turn.id, { delayMs: 0, code: 'admitted' })
    else {
      const hasSent = await completeTurnOnce(deps, ready, end)
      if (end.pairing !== null && end.leadId !== null && end.calls.length > 0 && !hasSent)
        await takeBackNoticeCount(deps, ready.at.key, end.leadId)
    }
  } catch (error) {
    await settleFailedTurn(deps, ready, error, createTurnErrorReporter(deps, ready))
  }
}

/** Whether anything leaves by it, as far as is known. */
async function completeTurnOnce(deps: TurnServices, ready: TurnContext, end: TurnEnd): Promise<boolean> {
  const { connection, epoch } = ready.lane
  const { taskId } = ready.turn
  const fields = turnLogFields(ready)
  const ended = await deps.results.store({ ...fields, epoch, reason: 'turn', state: end.state }, () =>
    completeTurn(deps.db, ready.lane, end, taskId !== null && deps.watchers.isAwaited(taskId)),
  )
  const tookMs = deps.monotonicMs() - ready.startedAt
  if (ended === undefined) {
    deps.log.warn('turn_fenced', { ...fields, epoch })
    clearTurnCrashWithRetries(deps, ready)
    deps.meter.turnEnded(connection, 'fenced', tookMs)
  } else {
    const facts = { outcome: end.state, reason: end.reason ?? end.leadReason, calls: end.calls.length }
    deps.log.info('turn_ended', { ...fields, ...facts, ms: Math.round(tookMs) })
    deps.notify({ ...turnEventFields(ready), type: 'channel.completed' })
    deps.meter.turnEnded(connection, end.state === 'answered' ? 'replied' : end.state, tookMs)
    // What was appended to a log of ours was delivered by this commit.
    for (const call of end.calls) if (call.isAppended === true) deps.meter.sent(connection, 'delivered', '', 0)
  }
  if (ended?.hasSends !== false) deps.wakeups.sends.notify()
  deps.wakeups.events.notify()
  // Clients that watch the task here look at once, or have it from the commit.
  if (taskId !== null) deps.watchers.report(taskId, ended?.task ?? undefined)
  if (end.state !== 'replied') deps.wakeups.ends.notify()
  return ended?.hasSends !== false
}

async function settleFailedTurn(
  deps: TurnServices,
  ready: TurnContext,
  error: unknown,
  errors: TurnErrors,
): Promise<FailureStep['kind']> {
  const { connection } = ready.lane
  const step = decideAfterFailure(deps, ready, error)
  const facts = errorLogFields(error, 'agent_failed')
  const reported = { ...turnLogFields(ready), ...facts, next: step.kind }
  if (step.kind !== 'abandon') {
    deps.log.warn('turn_failed', reported, toRedactedErrorRecord(error, deps.secretValues))
    await errors.failed(error)
    deps.meter.agentFailed(connection, facts.code ?? '')
  }
  const tookMs = deps.monotonicMs() - ready.startedAt
  switch (step.kind) {
    case 'abandon':
      deps.log.warn('turn_fenced', reported)
      clearTurnCrashWithRetries(deps, ready)
      deps.meter.turnEnded(connection, 'fenced', tookMs)
      break
    case 'release': {
      deps.meter.turnEnded(connection, 'again', tookMs)
      // From the first failure until the next try, as far as the sender waits for it.
      const waitMs = (ready.turn.outageMs ?? 0) + tookMs + step.delayMs
      if (step.cause === 'outage' && waitMs >= deps.turnPolicy.outageNoticeMs) await sendStillTryingNotice(deps, ready)
      await deps.results.store(undefined, () => releaseLane(deps.db, ready.lane, step.delayMs, step.cause, step.code))
      break
    }
    case 'split':
      deps.meter.turnEnded(connection, 'split', tookMs)
      await deps.results.store(undefined, () => endSplitTurn(deps, ready, step.delayMs, step.code))
      break
    case 'dead':
      await completeTurnOnce(
        deps,
        ready,
        await deps.results.store(undefined, () => buildDeadTurnEnd(deps, ready, step.reason)),
      )
  }
  return step.kind
}

// A turn that is split, so that its messages run one by one from now on. A live message that it had opened says so, and grows no
// more.

async function endSplitTurn(deps: TurnServices, ready: TurnContext, delayMs: number, code: string): Promise<boolean> {
  const live =
    ready.at.adapter.live === undefined ? undefined : (ready.live ?? (await readLiveMessageEnd(deps, ready, '')))
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
