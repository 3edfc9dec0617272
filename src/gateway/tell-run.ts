// What happens in a run, told to the gateway's watchers, with where it happened.
import type { Signal } from '../agent/agent.ts'
import type { Fields } from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { getRunId } from './turn-facts.ts'

export function tellRun(deps: Pick<GatewayDeps, 'notify'>, ready: ReadyTurn, name: string, payload: Fields): void {
  const place = runLogFacts(ready)
  deps.notify({ ...place, type: `loop.${name}`, payload })
  if (name === 'runtime_tool_pending') deps.notify({ ...place, type: 'runtime_tool.pending', payload })
}

/** A tool that a client ran has its result, or will have none: its run goes on from here. */
export function tellResumed(deps: Pick<GatewayDeps, 'notify'>, ready: ReadyTurn, { pause }: Signal): void {
  if (pause?.kind !== 'tool_request') return
  const place = runLogFacts(ready)
  const payload = { request_id: pause.id, status: pause.status }
  const left = pause.isCancelled ? 'cancelled' : 'timed_out'
  const end = pause.status === 'runtime_tool_completed' ? 'submitted' : left
  deps.notify({ ...place, type: `runtime_tool.${end}`, payload })
  deps.notify({ ...place, type: 'runtime_tool.resumed', payload })
}

function runLogFacts(ready: ReadyTurn) {
  const { lane, turn, members } = ready
  const { connection, conversationId, agent } = lane
  const messageIds = members.map((member) => member.row.messageId)
  return {
    connection,
    conversationId,
    agent,
    turnId: turn.id,
    runId: getRunId(ready),
    sessionId: turn.sessionId,
    messageIds,
  }
}
