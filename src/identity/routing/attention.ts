// Whether a message in a room is for the agent to answer. Decided by the kind of room and by how it was addressed, never
// by which channel it is.
import type { AttentionMode, ChannelContext, RoomMemory } from '../../contract/index.ts'

/** So many are kept of one room at most, its threads included. */
export const maxRemembered = 200

/** How an agent listens on one connection. */
export type Attention = {
  readonly mode: AttentionMode
  /** By the platform's id of the room. */
  readonly places: ReadonlyMap<string, AttentionMode>
  /** Ambient context: what is said in the room and not to the agent. Null: nothing of it is kept. */
  readonly remember: Required<RoomMemory> | null
}

/** Why a message that may be said gets no answer. */
export type Unheeded = 'not_addressed' | 'ambient'

const unheededReasons: readonly Unheeded[] = ['not_addressed', 'ambient']

export function isUnheeded(reason: string | null): reason is Unheeded {
  return unheededReasons.some((each) => each === reason)
}

export type Heard = {
  readonly channel: Pick<ChannelContext, 'room_kind' | 'addressed' | 'external_conversation_id'> | undefined
  /** It names an agent of ours, or wants an answer of its own, whatever it names. */
  readonly isClaimed: boolean
  /** The agent has answered in this conversation before. */
  readonly takesPart: boolean
  /** It begins with the name of another person. */
  readonly isForAnother: boolean
}

/** Undefined: it is for the agent. */
export function unheeded(
  attention: Attention,
  { channel, isClaimed, takesPart, isForAnother }: Heard,
): Unheeded | undefined {
  if (!isRoom(channel)) return undefined
  const mode = modeOf(attention, channel)
  switch (mode) {
    case 'always':
      return undefined
    case 'ambient':
      return 'ambient'
    case 'mention':
      return isClaimed || isAddressed(channel) ? undefined : 'not_addressed'
    case 'thread':
      return isClaimed || isAddressed(channel) || (takesPart && channel.addressed === 'thread' && !isForAnother)
        ? undefined
        : 'not_addressed'
    default: {
      const unknown: never = mode
      return unknown
    }
  }
}

type Channel = NonNullable<Heard['channel']>

/** A thread alone does not address the agent: a message in it is for all its participants. */
export function isAddressed({ addressed }: Pick<Channel, 'addressed'>): boolean {
  return addressed !== 'none' && addressed !== 'thread'
}

export function isRoom(channel: Heard['channel']): channel is Channel {
  return channel?.room_kind === 'group' || channel?.room_kind === 'channel'
}

function modeOf({ mode, places }: Attention, { external_conversation_id: place }: Channel): AttentionMode {
  return (place === null ? undefined : places.get(place)) ?? mode
}
