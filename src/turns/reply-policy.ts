// The reply policy in rooms: messages of admitted people that are not for the agent end here as refused, and may be kept as
// ambient context.
import { textOf } from '../contract/index.ts'
import { noAccessBasis, type WaitingMessage } from '../db/turn-rows.ts'
import { findUnansweredReason, isGroupRoom, isUnansweredReason } from '../identity/reply-policy.ts'
import { namesAgent } from '../inbound/route-to-agent.ts'
import type { AmbientRecall } from '../sessions/ambient-context.ts'
import { isControl } from './chat-commands.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import type { Admission, AmbientDecision } from './plan-turn.ts'

/** Undefined: it is for the agent. No access decision: nothing of it goes into the audit log. */
export function refuseUnaddressed(
  deps: Pick<GatewayDeps, 'agents'>,
  at: GatewayConnection,
  row: WaitingMessage,
  { takesPart, principal }: { readonly takesPart: boolean; readonly principal: string },
): Admission | undefined {
  const reason = row.event === 'new' ? noReplyNow(deps, at, row, takesPart) : noReplyBefore(row)
  if (reason === undefined) return undefined
  return { ...noAccessBasis, kind: 'refused', reason, mustNotify: false, ambient: ambientDecision(at, row, principal) }
}

/** Only words of those who may speak come here: a stranger's are not kept. */
function ambientDecision(
  { replyPolicy }: GatewayConnection,
  { message }: WaitingMessage,
  principal: string,
): AmbientDecision {
  const { ambientContext } = replyPolicy
  if (ambientContext === null) return { memory: null }
  const { minutes, bytes: maxBytes } = ambientContext
  return { memory: { ...ambientRoom(message), principal, minutes, maxBytes } }
}

/** What a turn that begins is given of the ambient context. A session that begins on command leaves it behind. */
export function recallFor(
  { replyPolicy }: GatewayConnection,
  { message }: WaitingMessage,
  isRotation: boolean,
): { readonly recall?: AmbientRecall } {
  const { ambientContext } = replyPolicy
  if (ambientContext === null || !isGroupRoom(message.channel)) return {}
  const { messages, bytes } = ambientContext
  return { recall: { ...ambientRoom(message), messages: isRotation ? 0 : messages, bytes } }
}

function ambientRoom({ channel, thread_id }: WaitingMessage['message']): Pick<AmbientRecall, 'room' | 'mainLine'> {
  return { room: channel?.external_conversation_id ?? thread_id, mainLine: channel?.main_line ?? null }
}

/** A message that is taken back is remembered no longer, in every agent's ambient context. */
export function unheardBy({ event, original }: WaitingMessage): { readonly unheard?: string } {
  return event === 'delete' && original !== null && isUnansweredReason(original.reason) ? { unheard: original.id } : {}
}

function noReplyNow(
  deps: Pick<GatewayDeps, 'agents'>,
  at: GatewayConnection,
  { message, obligation }: WaitingMessage,
  takesPart: boolean,
): string | undefined {
  if (isControl(message)) return undefined
  const isClaimed = obligation !== null || namesAgent(deps, at, message)
  const words = textOf(message.parts).trimStart()
  const isForAnother = (message.channel?.mentions ?? []).some(({ text }) => text !== '' && words.startsWith(text))
  return findUnansweredReason(at.replyPolicy, { channel: message.channel, isClaimed, takesPart, isForAnother })
}

/** An edit wakes no agent. Deleting ambient context has work to do all the same: what it said is erased. */
function noReplyBefore({ event, original }: WaitingMessage): string | undefined {
  const reason = original?.reason ?? null
  return event === 'edit' && isUnansweredReason(reason) ? reason : undefined
}
