// Words about a turn while it goes on, outside the books: once per turn and kind, on channels that can show them and replace them by the
// answer. A channel without live messages shows none; a task's log holds them for those who watch it.
import type { JsonObject } from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import type { RunRecorder } from './run-events.ts'
import { ownersMessages } from './steer.ts'
import { tellProgress } from './task-end.ts'

const stillTrying = 'This is taking longer than usual. I am still trying, and will answer here.'

const receiptWords = {
  steer: 'I have your new message too, and take it into what I am doing.',
  queue: 'I have your new message too. I get to it after this; /stop ends what I am doing.',
} as const

/** More of a burst are not marked one by one. */
const maxReceipts = 3
const receiptEveryMs = 2_000

/**
 * Called while messages wait behind a run: those of its owner are marked as received, where the platform can mark a message, and whoever
 * watches the run is told once. Signs and nothing more: no row, no answer, no harm in a second one after a take-over.
 */
export function createReceipts(
  deps: GatewayDeps,
  ready: ReadyTurn,
  { busy, emit }: { readonly busy: 'queue' | 'steer'; readonly emit: RunRecorder['emit'] },
): () => void {
  const told = new Set<string>()
  let notBefore = 0
  const acknowledge = async (): Promise<void> => {
    const { waiting } = await ownersMessages(deps, ready)
    const fresh = waiting.filter(({ id }) => !told.has(id)).slice(0, maxReceipts - told.size)
    if (fresh.length > 0 && told.size === 0) emit('notice', { notice: noticeOf[busy], text: receiptWords[busy] })
    for (const { id, replyTo, messageId } of fresh) {
      told.add(id)
      void deps.signs.show(ready.at.adapter, replyTo, 'waiting', { messageId })
    }
  }
  return () => {
    if (told.size >= maxReceipts || deps.monotonicMs() < notBefore) return
    notBefore = deps.monotonicMs() + receiptEveryMs
    // The next round asks again.
    acknowledge().catch(() => {})
  }
}

const noticeOf = { steer: 'message_added', queue: 'message_next' } as const

type Scene = Pick<ReadyTurn, 'at' | 'lane' | 'turn'>

/**
 * The model, or what else the agent needs, is away. The message is the turn's live one: its row is written under the fence of the lane,
 * so that a turn which is taken over says it no second time, and the answer takes its place.
 */
export async function tellStillTrying(deps: GatewayDeps, { at, lane, turn }: Scene): Promise<void> {
  if (turn.kind !== 'messages' && turn.kind !== 'signal') return
  try {
    const event: JsonObject = { type: 'notice', metadata: { notice: 'still_trying', text: stillTrying } }
    await deps.runs.append(lane, turn.id, turn.attempt, [{ key: 'notice:still_trying', event }])
    deps.bells.events.ring()
    tellProgress(deps, { turn })
    const call = at.adapter.live?.open(lane.replyTo, stillTrying)
    if (call === undefined) return
    const row = { id: deps.newId(), turnId: turn.id, orderKey: lane.conversationId, call, clientId: `${turn.id}:0` }
    if ((await deps.live.open(lane, row)) === 'opened') deps.bells.sends.ring()
  } catch {
    // The turn waits for its model either way.
    deps.log.warn('live_failed', { connection: lane.connection, trace: turn.traceId, turn: turn.id })
  }
}
