// Notices about a turn while it runs, not counted as answers: once per turn and kind, on channels that can show them and replace
// them by the answer. A channel without live messages shows none; a task's log holds them for clients that watch it.

import { type JsonObject, type NormalizedResponse, textPart } from '../contract/index.ts'
import type { WaitNotice } from '../db/live.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import { type Sentence, say } from '../locales/say.ts'
import { renderCalls } from '../outbound/render.ts'
import type { GatewayDeps } from './deps.ts'
import type { Admission } from './plan-turn.ts'
import { isRotation, type ReadyTurn } from './prepare-turn.ts'
import { reportProgress } from './run-end.ts'
import type { RunRecorder } from './run-log.ts'
import { ownersMessages } from './steer.ts'

/** To those who watch the run, and to those whose message waits behind it. */
const receiptKeys = {
  steer: { notice: 'message_added', text: 'message.joins_run', own: 'message.joins_run_own' },
  queue: { notice: 'message_next', text: 'message.comes_next', own: 'message.comes_next_own' },
} as const

/** More of a burst are not marked one by one. */
const maxReceipts = 3
const receiptEveryMs = 2_000
/** Behind the calls that accepting a message made. */
const firstOrdinal = 1_000

/**
 * Called while messages wait behind a run: those of its owner are marked as received, where the platform can mark a message or has a
 * task for each, and clients that watch the run are told once. No answer, and no harm in a second mark after a take-over. A command that
 * starts afresh is answered by nothing else until the run is over: the sender of the first one is told in words, by a row of its own.
 */
export function createReceipts(
  deps: GatewayDeps,
  ready: ReadyTurn,
  how: { readonly busy: 'queue' | 'steer'; readonly isMarking: boolean; readonly emit: RunRecorder['emit'] },
): () => void {
  const reported = new Set<string>()
  let isRotationNotified = false
  let notBefore = 0
  const { notice, text, own } = receiptKeys[how.busy]
  const acknowledge = async (): Promise<void> => {
    const { waiting, messages, decided } = await ownersMessages(deps, ready)
    const rotation = isRotationNotified ? undefined : messages.find((row) => isAdmittedRotation(deps, row, decided))
    const fresh = how.isMarking
      ? waiting.filter(({ id }) => !reported.has(id)).slice(0, maxReceipts - reported.size)
      : []
    if (fresh.length > 0 && reported.size === 0) how.emit('notice', { notice, text: say(text) })
    for (const { id, replyTo, message } of fresh) {
      reported.add(id)
      const messageId = message.channel?.external_message_id ?? undefined
      void deps.presence.show(ready.at.adapter, replyTo, 'waiting', messageId === undefined ? {} : { messageId })
    }
    const inTasks = fresh.filter((row) => row.taskId !== null && row !== rotation)
    if (rotation === undefined && inTasks.length === 0) return
    const notices = await Promise.all([
      ...(rotation === undefined ? [] : [waitNotice(deps, ready, rotation, say('session.starts_after'))]),
      ...inTasks.map((row) => waitNotice(deps, ready, row, say(own))),
    ])
    if ((await deps.live.tellWaiting(ready.lane, ready.turn.id, notices)) > 0) deps.wakeups.sends.notify()
    for (const { taskId } of notices) if (taskId !== null) deps.watchers.reportProgress(taskId)
    isRotationNotified ||= rotation !== undefined
  }
  return () => {
    const isDone = isRotationNotified && (!how.isMarking || reported.size >= maxReceipts)
    if (isDone || deps.monotonicMs() < notBefore) return
    notBefore = deps.monotonicMs() + receiptEveryMs
    // The next round asks again.
    acknowledge().catch(() => {})
  }
}

function isAdmittedRotation(
  deps: GatewayDeps,
  { id, event, message }: WaitingMessage,
  decided: ReadonlyMap<string, Admission>,
): boolean {
  return event === 'new' && decided.get(id)?.kind === 'admitted' && isRotation(deps, message)
}

/** A channel that appends has nowhere to say it but the message's own task. */
async function waitNotice(
  deps: GatewayDeps,
  { at, lane }: ReadyTurn,
  { id, taskId, replyTo, message }: WaitingMessage,
  text: Sentence,
): Promise<WaitNotice> {
  const said: NormalizedResponse = {
    thread_id: message.thread_id,
    in_reply_to: message.id,
    agent: lane.agent,
    status: 'completed',
    parts: [textPart(text)],
  }
  if (at.adapter.capabilities.appends === true) return { inboxId: id, taskId, said, calls: [] }
  const origin = { adapter: at.adapter, newId: deps.newId, origin: id, orderKey: lane.conversationId, to: replyTo }
  const calls = await renderCalls(origin, [{ reply: said, purpose: 'notice' }])
  return {
    inboxId: id,
    taskId,
    said,
    calls: calls.map((call) => {
      const ordinal = firstOrdinal + call.ordinal
      return { id: call.id, ordinal, orderKey: call.orderKey, call: call.call, clientId: `${id}:${ordinal}` }
    }),
  }
}

type NoticeTurn = Pick<ReadyTurn, 'at' | 'lane' | 'turn'>

/**
 * The model, or what else the agent needs, is away. The message is the turn's live one: its row is written under the fence of the lane,
 * so that a turn which is taken over says it no second time, and the answer takes its place.
 */
export async function sendStillTrying(deps: GatewayDeps, { at, lane, turn }: NoticeTurn): Promise<void> {
  if (turn.kind !== 'messages' && turn.kind !== 'signal') return
  try {
    const text = say('run.waiting')
    const event: JsonObject = { type: 'notice', metadata: { notice: 'still_trying', text } }
    await deps.runs.append(lane, turn.id, turn.attempt, [{ key: 'notice:still_trying', event }])
    deps.wakeups.events.notify()
    reportProgress(deps, { turn })
    const call = at.adapter.live?.open(lane.replyTo, text)
    if (call === undefined) return
    const row = { id: deps.newId(), turnId: turn.id, orderKey: lane.conversationId, call, clientId: `${turn.id}:0` }
    if ((await deps.live.open(lane, row)) === 'opened') deps.wakeups.sends.notify()
  } catch {
    // The turn waits for its model either way.
    deps.log.warn('live_failed', { connection: lane.connection, trace: turn.traceId, turn: turn.id })
  }
}
