// The transcript that a turn's agent is shown.
import type { Envelope } from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'

/** What was said before, as much of it as an agent is shown, and the same in every try of its turn. */
export async function readTurnTranscript(
  deps: GatewayDeps,
  { turn, at, isFirst, view }: ReadyTurn,
): Promise<readonly Envelope[]> {
  // A turn that its session begins with need not ask.
  if (isFirst === true || view === null) return []
  const { historyHead: head, historyTail: tail } = deps.turnPolicy
  const around = at.attention.remember?.messages ?? 0
  return deps.transcripts.window(turn.sessionId, view ?? { head, tail, around })
}
