// A turn whose messages run one by one from now on. A live message that it had opened says so, and grows no more.
import { type NormalizedResponse, textPart } from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import { renderOutgoing } from './end-turn.ts'
import { createLiveEnd } from './live-message.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { replyFacts } from './turn-labels.ts'

const words = 'I was interrupted, and answer your messages one by one.'

export async function splitTurn(deps: GatewayDeps, ready: ReadyTurn, delayMs: number, code: string): Promise<boolean> {
  const live = ready.at.adapter.live === undefined ? undefined : (ready.live ?? (await createLiveEnd(deps, ready, '')))
  if (live === undefined) return deps.turns.split(ready.lane, ready.turn.id, { delayMs, code })
  const { threadId, inReplyTo, agent } = replyFacts(ready)
  const reply: NormalizedResponse = {
    thread_id: threadId,
    in_reply_to: inReplyTo,
    agent,
    status: 'completed',
    parts: [textPart(words)],
  }
  const calls = await renderOutgoing(deps, { ...ready, live }, [{ reply, purpose: 'notice' }])
  return deps.turns.split(ready.lane, ready.turn.id, { delayMs, code, calls })
}
