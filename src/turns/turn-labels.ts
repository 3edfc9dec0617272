// Labels of a turn: what its reply and its transcript lines say about it and about the sender.
import type { ReplyFacts } from '../agents/reply.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { ReadyTurn } from './prepare-turn.ts'
import { runUntilAborted } from './turn-signal.ts'

export function replyFields(ready: ReadyTurn): ReplyFacts {
  const lead = ready.members.at(-1)?.message
  return {
    threadId: lead?.thread_id ?? ready.lane.conversationId,
    inReplyTo: lead?.id ?? ready.turn.id,
    agent: ready.lane.agent,
  }
}

export function getRunId(ready: ReadyTurn): string {
  return ready.turn.runId ?? ready.turn.id
}

const nameTimeoutMs = 3_000

/** What people call a sender: as the message says, else as the platform says when it is asked, else by their user name. */
export async function askSenderName(
  { adapter }: Pick<GatewayConnection, 'adapter'>,
  { message, replyTo }: Pick<WaitingMessage, 'message' | 'replyTo'>,
): Promise<string | undefined> {
  const { display_name: reported, profile } = message.sender
  if (reported !== undefined || adapter.senderName === undefined) return reported ?? profile?.username
  const deadline = AbortSignal.timeout(nameTimeoutMs)
  const asked = runUntilAborted(deadline, () => adapter.senderName?.(message, replyTo, deadline))
  return (await asked.catch(() => undefined)) ?? profile?.username
}
