// Run control: a stop, or messages that the busy policy lets in, reach a run while it goes on; those that wait are told so.

import { readStopCause, runStoppedError, type StopCause, steeredType } from '../agents/loop/interrupts.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import { type NormalizedResponse, textPart } from '../contract/index.ts'
import type { Db } from '../db/client.ts'
import type { WaitNotice } from '../db/live.ts'
import { openLiveReply, storeWaitNotice } from '../db/live.ts'
import { appendRunEvents, cancelRun, interruptedBy, type RunNews, readRunUpdates } from '../db/runs.ts'
import type { NewRunEvent, WaitingMessage } from '../db/turn-rows.ts'
import { joinMessagesIntoTurn, listWaitingMessages } from '../db/turns.ts'
import type { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Sentence, say } from '../locales/say.ts'
import { partsText } from '../markdown/index.ts'
import { renderCalls } from '../outbound/render.ts'
import { userEnvelope } from '../sessions/transcript.ts'
import { type AdmissionServices, admitWaitingMessages } from './admit.ts'
import { type Absorbed, type Admission, listMessagesThatMayMerge } from './plan-turn.ts'
import { addressMessagesToAgent, startsNewSession, toNewMember } from './prepare-turn.ts'
import { createRunRecorder, type RunRecorder } from './run-log.ts'
import type { TurnServices } from './services.ts'
import { getRunId, isNewlyOpenedTurn, type TurnContext } from './turn-context.ts'
import type { TurnPolicy } from './turn-policy.ts'

/** One query per round, for all runs of this process together. A run that is over before the first round costs nothing. */
export function createRunUpdateWatcher({ db, everyMs }: { readonly db: Db; readonly everyMs: number }): {
  readonly watch: TurnServices['watchRun']
  readonly stop: () => void
} {
  const watched = new Map<string, (news: RunNews) => void>()
  let timer: ReturnType<typeof setInterval> | undefined
  let isAsking = false
  const stopRunWatch = (): void => {
    if (timer !== undefined) clearInterval(timer)
    timer = undefined
  }
  const checkRunsForUpdates = async (): Promise<void> => {
    // A slow database is asked once, not once more every round.
    if (isAsking) return
    isAsking = true
    try {
      for (const news of await readRunUpdates(db, [...watched.keys()])) watched.get(news.id)?.(news)
    } catch {
      // The next round asks again, and so does the next step of the run.
    } finally {
      isAsking = false
    }
  }
  return {
    watch(turnId, onNews) {
      watched.set(turnId, onNews)
      timer ??= setInterval(() => void checkRunsForUpdates(), everyMs)
      return () => {
        watched.delete(turnId)
        if (watched.size === 0) stopRunWatch()
      }
    },
    stop: stopRunWatch,
  }
}

export type RunControl = {
  readonly stop: AbortSignal
  /** Made when it is asked for: most agents answer and say nothing of how they got there. */
  readonly recorder: () => RunRecorder
  /** What of the run's log is not stored yet, for the commit that ends the turn. Nothing is stored by itself after this. */
  readonly takeEvents: () => Promise<readonly NewRunEvent[]>
  /** Stops it here, once the database says that it was stopped. */
  readonly onStopped: (by: string) => GatewayError
  readonly cause: () => StopCause | undefined
  /** `fetchFiles`: their files are fetched before the agent hears of them. */
  readonly hear: (fetchFiles: Parameters<typeof joinMessagesAsSteeringLine>[3]) => Promise<Envelope | undefined>
  readonly end: () => void
}

export function openRunControl(deps: TurnServices, ready: TurnContext): RunControl {
  const { lane, turn } = ready
  const busy = deps.agents.get(lane.agent)?.busy ?? 'queue'
  let questions = 0
  const stopping = new AbortController()
  const abortRunAsStopped = (by: string): GatewayError => {
    const error = runStoppedError(by === interruptedBy ? 'interrupt' : 'stop')
    stopping.abort(error)
    return error
  }
  let recorder: RunRecorder | undefined
  const openRecorder = (): RunRecorder => {
    recorder ??= createRunRecorder({
      tryId: lane.epoch,
      isFirstTry: isNewlyOpenedTurn(ready),
      append: (events) => appendRunEvents(deps.db, lane, turn.id, turn.attempt, events),
      onStored({ stoppedBy }) {
        deps.wakeups.events.notify()
        if (turn.taskId !== null) deps.watchers.reportProgress(turn.taskId)
        if (stoppedBy !== null) abortRunAsStopped(stoppedBy)
      },
    })
    return recorder
  }
  // Watching clients replace what an earlier try showed, whatever this one says.
  if (!isNewlyOpenedTurn(ready)) openRecorder()
  /** A message of the owner is worth more than the answer to their last one; another person's waits. */
  const interruptForOwnersMessage = async (): Promise<void> => {
    if (stopping.signal.aborted || !(await hasWaitingMessageOfRunOwner(deps, ready))) return
    const outcome = await cancelRun(deps.db, turn.id, interruptedBy)
    if (outcome?.kind === 'stopping') abortRunAsStopped(interruptedBy)
  }
  const isMarking = deps.agents.get(lane.agent)?.receipts !== false
  let acknowledge: (() => void) | undefined
  const end = deps.watchRun(turn.id, ({ stoppedBy, hasWaiting }) => {
    if (stoppedBy !== null) abortRunAsStopped(stoppedBy)
    else if (hasWaiting && busy === 'interrupt') interruptForOwnersMessage().catch(() => {})
    else if (hasWaiting && busy !== 'interrupt') {
      acknowledge ??= createWaitingSenderNotifier(deps, ready, { busy, isMarking, emit: openRecorder().emit })
      acknowledge()
    }
  })
  return {
    stop: stopping.signal,
    recorder: openRecorder,
    async takeEvents() {
      if (recorder !== undefined) return recorder.rest()
      recorder = closedRecorder
      return []
    },
    onStopped: abortRunAsStopped,
    cause: () => readStopCause(stopping.signal),
    async hear(fetchFiles) {
      questions += 1
      if (busy === 'interrupt') await interruptForOwnersMessage()
      // What joined an earlier try is heard again, also when its agent takes nothing in any more.
      return busy === 'steer' || ready.joined.size > 0
        ? joinMessagesAsSteeringLine(deps, ready, questions, fetchFiles)
        : undefined
    },
    end,
  }
}

/** Of an agent that goes on after its turn has ended, and had nothing recorded until then. */
const closedRecorder: RunRecorder = { emit() {}, show() {}, rest: async () => [] }

// Messages that wait behind a running turn: whether its owner wrote again, and which of them may join it (busy policy `steer`).

/**
 * Takes what its owner wrote meanwhile into the turn, and answers it as one line for the model. Committed before the model
 * reads it, with the number of the agent's question for news: a resumed turn reads it at the same question, never earlier.
 */
export async function joinMessagesAsSteeringLine(
  deps: TurnServices,
  ready: TurnContext,
  question: number,
  fetchFiles: (entries: readonly Absorbed[]) => Promise<readonly Absorbed[]>,
): Promise<Envelope | undefined> {
  const { members } = ready
  // What comes after this question in the journal was done and said without them: they would be answered by nothing.
  const isPast = ready.isRerun === true || ready.joined.size > 0 || ready.steps().isCatchingUp()
  const joining = ready.joined.get(question) ?? (isPast ? [] : await joinOwnerMessagesIntoTurn(deps, ready, question))
  ready.joined.delete(question)
  if (joining.length === 0) return undefined
  const at = members.push(...joining) - joining.length
  const fetched = await fetchFiles(joining)
  members.splice(at, joining.length, ...fetched)
  const [first] = fetched
  if (first === undefined) return undefined
  const line = userEnvelope(first.message, { runId: getRunId(ready) })
  const content = fetched.map(({ message }) => partsText(message.parts)).join('\n\n')
  const metadata = { ...line.metadata, type: steeredType, interrupt_action: 'message' }
  return { ...line, type: 'text', content, payload: {}, metadata }
}

async function joinOwnerMessagesIntoTurn(
  deps: TurnServices,
  ready: TurnContext,
  question: number,
): Promise<readonly Absorbed[]> {
  const { lane, turn, members } = ready
  const { waiting, decided } = await listWaitingMessagesOfRunOwner(deps, ready)
  const joining = listMessagesThatMayMerge(
    members,
    waiting.map((row) => ({ row, message: row.message, edits: [] })),
    deps.turnPolicy.merge,
  )
  if (joining.length === 0) return []
  const rows = joining.map(({ row }, ord) => toNewMember(row, ord, turn.principal, decided))
  return (await joinMessagesIntoTurn(deps.db, lane, turn.id, rows, question)) ? joining : []
}

async function hasWaitingMessageOfRunOwner(deps: AdmissionServices, ready: TurnContext): Promise<boolean> {
  return (await listWaitingMessagesOfRunOwner(deps, ready)).waiting.length > 0
}

/** Up to the first that is not theirs: order is kept, and each is admitted on its own. */
async function listWaitingMessagesOfRunOwner(deps: AdmissionServices, { lane, turn, at }: TurnContext) {
  if (turn.principal === null) return { waiting: [], messages: [], decided: new Map() }
  const messages = addressMessagesToAgent(at, lane.agent, await listWaitingMessages(deps.db, lane))
  const decided = await admitWaitingMessages(deps, at, { messages, agent: lane.agent, takesPart: true })
  const isFromOwner = (row: WaitingMessage): boolean => {
    const admission = decided.get(row.id)
    return row.event === 'new' && admission?.kind === 'admitted' && admission.principal === turn.principal
  }
  const end = messages.findIndex((row) => !isFromOwner(row))
  return { waiting: end === -1 ? messages : messages.slice(0, end), messages, decided }
}

// Notices about a turn while it runs, not counted as answers: once per turn and kind, on channels that can show them and replace
// them by the answer. A channel without live messages shows none; a task's log holds them for clients that watch it.

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
function createWaitingSenderNotifier(
  deps: TurnServices,
  ready: TurnContext,
  how: { readonly busy: 'queue' | 'steer'; readonly isMarking: boolean; readonly emit: RunRecorder['emit'] },
): () => void {
  const reported = new Set<string>()
  let isRotationNotified = false
  let notBefore = 0
  const { notice, text, own } = receiptKeys[how.busy]
  const acknowledgeOwnersMessages = async (): Promise<void> => {
    const { waiting, messages, decided } = await listWaitingMessagesOfRunOwner(deps, ready)
    const rotation = isRotationNotified
      ? undefined
      : messages.find((row) => isAdmittedNewSessionCommand(deps, row, decided))
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
      ...(rotation === undefined ? [] : [draftWaitNotice(deps, ready, rotation, say('session.starts_after'))]),
      ...inTasks.map((row) => draftWaitNotice(deps, ready, row, say(own))),
    ])
    if ((await storeWaitNotice(deps.db, ready.lane, ready.turn.id, notices)) > 0) deps.wakeups.sends.notify()
    for (const { taskId } of notices) if (taskId !== null) deps.watchers.reportProgress(taskId)
    isRotationNotified ||= rotation !== undefined
  }
  return () => {
    const isDone = isRotationNotified && (!how.isMarking || reported.size >= maxReceipts)
    if (isDone || deps.monotonicMs() < notBefore) return
    notBefore = deps.monotonicMs() + receiptEveryMs
    // The next round asks again.
    acknowledgeOwnersMessages().catch(() => {})
  }
}

function isAdmittedNewSessionCommand(
  deps: { readonly turnPolicy: TurnPolicy },
  { id, event, message }: WaitingMessage,
  decided: ReadonlyMap<string, Admission>,
): boolean {
  return event === 'new' && decided.get(id)?.kind === 'admitted' && startsNewSession(deps, message)
}

/** A channel that appends has nowhere to say it but the message's own task. */
async function draftWaitNotice(
  deps: { readonly newId: IdSource },
  { at, lane }: TurnContext,
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

type NoticeTurn = Pick<TurnContext, 'at' | 'lane' | 'turn'>

/**
 * The model, or what else the agent needs, is away. The message is the turn's live one: its row is written under the fence of the lane,
 * so that a turn which is taken over says it no second time, and the answer takes its place.
 */
export async function sendStillTryingNotice(deps: TurnServices, { at, lane, turn }: NoticeTurn): Promise<void> {
  if (turn.kind !== 'messages' && turn.kind !== 'signal') return
  try {
    const text = say('run.waiting')
    const event: JsonObject = { type: 'notice', metadata: { notice: 'still_trying', text } }
    await appendRunEvents(deps.db, lane, turn.id, turn.attempt, [{ key: 'notice:still_trying', event }])
    deps.wakeups.events.notify()
    if (turn.taskId !== null) deps.watchers.reportProgress(turn.taskId)
    const call = at.adapter.live?.open(lane.replyTo, text)
    if (call === undefined) return
    const row = { id: deps.newId(), turnId: turn.id, orderKey: lane.conversationId, call, clientId: `${turn.id}:0` }
    if ((await openLiveReply(deps.db, lane, row)) === 'opened') deps.wakeups.sends.notify()
  } catch {
    // The turn waits for its model either way.
    deps.log.warn('live_failed', { connection: lane.connection, trace: turn.traceId, turn: turn.id })
  }
}
