// What a turn's answer and its transcript lines say about it.
import type { ReplyFacts } from '../agent/reply.ts'
import type { ReadyTurn } from './prepare-turn.ts'

export function replyFacts(ready: ReadyTurn): ReplyFacts {
  const lead = ready.members.at(-1)?.message
  return {
    threadId: lead?.thread_id ?? ready.lane.conversationId,
    inReplyTo: lead?.id ?? ready.turn.id,
    agent: ready.lane.agent,
  }
}

export function runIdOf(ready: ReadyTurn): string {
  return ready.turn.runId ?? ready.turn.id
}
