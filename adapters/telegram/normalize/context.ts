// The routing facts of an inbound event, and the fields that all its messages share. Pure.
import type { ChannelContext, NormalizedMessage } from '../../../src/contract/index.ts'
import { maxTextLength } from '../wire/call.ts'
import type { TelegramChat } from '../wire/message.ts'
import { type Author, telegramSender } from './author.ts'
import { agentAddress, type UpdateContext } from './scene.ts'

export type ContextFacts = Pick<ChannelContext, 'addressed' | 'event'> & {
  readonly chat: TelegramChat
  readonly author: Author
  readonly messageId: string | null
  readonly mentions?: ChannelContext['mentions']
  readonly targetId?: string
  readonly command?: ChannelContext['command']
}

export function chatContext({ connection }: UpdateContext, facts: ContextFacts): ChannelContext {
  const { chat, author, messageId, addressed, event, mentions = [], targetId, command } = facts
  const isPrivate = chat.type === 'private'
  return {
    connector_id: connection.id,
    external_provider: 'telegram',
    external_conversation_id: chat.id,
    external_message_id: messageId,
    sender_id: author.id,
    room_kind: isPrivate ? 'dm' : chat.type === 'channel' ? 'channel' : 'group',
    from_self: false,
    addressed,
    visibility: isPrivate ? 'direct' : chat.username === undefined ? 'private' : 'public',
    mentions,
    event,
    ...(targetId === undefined ? {} : { target_id: targetId }),
    ...(command === undefined ? {} : { command }),
  }
}

export type MessageFacts = Pick<NormalizedMessage, 'id' | 'thread_id' | 'parts'> & {
  readonly inReplyTo?: string
  readonly chat: TelegramChat
  readonly author: Author
  readonly channel: ChannelContext
}

export function normalizedMessage(updateContext: UpdateContext, facts: MessageFacts): NormalizedMessage {
  const { id, thread_id, inReplyTo, parts, author, chat, channel } = facts
  return {
    id,
    thread_id,
    ...(inReplyTo === undefined ? {} : { in_reply_to: inReplyTo }),
    sender: telegramSender(updateContext, author, chat),
    recipient: agentAddress(updateContext.connection),
    parts,
    recipient_capabilities: {
      mention_relay: { kind: 'none' },
      rendering: {
        max_text_chars: maxTextLength,
        streaming: updateContext.bot.streaming === 'off' ? 'none' : 'edit',
        files: true,
        buttons: true,
      },
    },
    received_via: 'telegram',
    received_at: updateContext.arrival.receivedAt,
    raw: updateContext.raw,
    channel,
  }
}
