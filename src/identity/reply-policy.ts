// The reply policy: whether a message in a room is for the agent to answer. Decided by the kind of room and by how it was
// addressed, never by which channel it is.

import type * as z from 'zod'
import type { replyPolicySchema } from '../contract/channel.ts'
import type { ChannelContext, ReplyMode } from '../contract/index.ts'

/** How an agent listens on one connection. */
export type ReplyPolicy = {
  readonly mode: ReplyMode
  /** By the platform's id of the room. */
  readonly rooms: ReadonlyMap<string, ReplyMode>
  /** Ambient context: what is said in the room and not to the agent. Null: nothing of it is kept. */
  readonly ambientContext: Readonly<Exclude<z.output<typeof replyPolicySchema>['ambientContext'], false>> | null
}

/** Why a message that may be said gets no answer. */
export type UnansweredReason = 'not_addressed' | 'ambient'

const unansweredReasons: readonly UnansweredReason[] = ['not_addressed', 'ambient']

export function isUnansweredReason(reason: string | null): reason is UnansweredReason {
  return unansweredReasons.some((each) => each === reason)
}

export type RoomMessageFacts = {
  readonly channel: Pick<ChannelContext, 'room_kind' | 'addressed' | 'external_conversation_id'> | undefined
  /** The agent has answered in this conversation before. */
  readonly takesPart: boolean
  /** It names an agent of ours, or wants an answer of its own, whatever it names. Looked at where the platform does not say it. */
  readonly isClaimed: () => boolean
  /** It begins with the name of another person. */
  readonly isForAnother: () => boolean
}

/** Undefined: it is for the agent. */
export function findReasonNotToReply(
  replyPolicy: ReplyPolicy,
  { channel, isClaimed, takesPart, isForAnother }: RoomMessageFacts,
): UnansweredReason | undefined {
  if (!isGroupRoom(channel)) return undefined
  const { external_conversation_id: room } = channel
  const mode = (room === null ? undefined : replyPolicy.rooms.get(room)) ?? replyPolicy.mode
  switch (mode) {
    case 'always':
      return undefined
    case 'ambient':
      return 'ambient'
    case 'mention':
      return isAgentAddressed(channel) || isClaimed() ? undefined : 'not_addressed'
    case 'thread':
      return isAgentAddressed(channel) ||
        isClaimed() ||
        (takesPart && channel.addressed === 'thread' && !isForAnother())
        ? undefined
        : 'not_addressed'
    default: {
      const unknown: never = mode
      return unknown
    }
  }
}

type Channel = NonNullable<RoomMessageFacts['channel']>

/** A thread alone does not address the agent: a message in it is for all its participants. */
export function isAgentAddressed({ addressed }: Pick<Channel, 'addressed'>): boolean {
  return addressed !== 'none' && addressed !== 'thread'
}

export function isGroupRoom(channel: RoomMessageFacts['channel']): channel is Channel {
  return channel?.room_kind === 'group' || channel?.room_kind === 'channel'
}
