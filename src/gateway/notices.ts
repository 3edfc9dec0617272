// Words about a turn while it goes on, outside the books: once per turn and kind, on channels that can show them and replace them by the
// answer. A channel without live messages shows none; a task's log holds them for those who watch it.
import type { JsonObject } from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { tellProgress } from './task-end.ts'

const stillTrying = 'This is taking longer than usual. I am still trying, and will answer here.'

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
