// The context of an inbound event: its routing facts, its sender, and the fields that all its messages share. Pure.

import {
  type ChannelContext,
  type Connection,
  formatAddress,
  mintEvidence,
  type NormalizedMessage,
  type RawRequest,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { cleanName } from '../../../src/lib/index.ts'
import { maxTextLength } from '../wire/calls.ts'
import type { TelegramChat, TelegramEntity, TelegramMessage, TelegramUser } from '../wire/update.ts'

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
    received_at: updateContext.rawRequest.receivedAt,
    raw: updateContext.raw,
    channel,
  }
}

// The sender: a person by number, or a chat that speaks for itself; and the evidence for it. Pure.

export type Author = {
  readonly subject: string
  readonly local: string
  readonly id: string
  readonly method: string
  readonly name: string
  readonly username: string | undefined
  readonly locale: string | undefined
}

/** Anonymous admins and channels write through placeholder bots: then the chat is the author, and never a person. */
export function authorOfUpdate({
  from,
  sender_chat,
  chat,
}: Pick<TelegramMessage, 'from' | 'sender_chat' | 'chat'>): Author | undefined {
  const writer = sender_chat ?? (from === undefined ? chat : undefined)
  if (writer === undefined) return from === undefined ? undefined : personAuthor(from)
  if (sender_chat === undefined && chat.type !== 'channel') return undefined
  return {
    subject: `telegram:chat/${writer.id}`,
    local: `c${writer.id}`,
    id: writer.id,
    method: 'urn:gw:auth:telegram-sender-chat:v0.1',
    name: cleanName(writer.title ?? ''),
    username: writer.username,
    locale: undefined,
  }
}

export function personAuthor(from: TelegramUser): Author {
  return {
    subject: `telegram:${from.id}`,
    local: `u${from.id}`,
    id: from.id,
    method: 'urn:gw:auth:telegram-user:v0.1',
    name: cleanName(`${from.first_name} ${from.last_name ?? ''}`),
    username: from.username,
    locale: from.language_code,
  }
}

function telegramSender(
  { bot, rawRequest, connection }: UpdateContext,
  author: Author,
  chat: TelegramChat,
): NormalizedMessage['sender'] {
  const profile = {
    ...(author.name === '' ? {} : { display_name: author.name }),
    ...(author.username === undefined ? {} : { username: author.username }),
    ...(author.locale === undefined ? {} : { locale: author.locale }),
    provider: 'telegram',
    provider_subject: author.subject,
  }
  const evidence = mintEvidence({
    subject: author.subject,
    issuer: connection.domain,
    method: author.method,
    assurance: 'platform',
    recipient: agentAddress(connection),
    issuedAt: rawRequest.receivedAt,
    keyId: bot.id,
    claims: { chat_id: chat.id, chat_type: chat.type },
  })
  return verifiedSender([evidence], {
    address: formatAddress({ local: author.local, domain: `telegram.${connection.domain}` }),
    ...(author.name === '' ? {} : { display_name: author.name }),
    profile,
    auth_method: 'telegram-secret-token',
    key_id: bot.id,
  })
}

/** Who we are on Telegram; without a user name only replies and mentions by id can be recognised in groups. */
export type BotFacts = {
  readonly id: string
  readonly username: string | undefined
  readonly streaming: 'edit' | 'draft' | 'off'
}

export type UpdateContext = {
  readonly bot: BotFacts
  readonly rawRequest: RawRequest
  readonly connection: Connection
  readonly deliveryId: string
  readonly raw: unknown
}

type Room = {
  readonly chat: { readonly id: string }
  readonly business_connection_id?: string | undefined
  readonly guest_query_id?: string | undefined
}

/** The chats of a business account, and those we are a guest in, live beside the bot's own chats with the same ids. */
export function formatChatKey({ chat, business_connection_id: business, guest_query_id: guest }: Room): string {
  if (business !== undefined) return `${business}/${chat.id}`
  return guest === undefined ? chat.id : `guest/${chat.id}`
}

export function telegramThreadId(bot: BotFacts, chatKey: string, topic: string | undefined): string {
  return `${bot.id}:${chatKey}:${topic ?? 'main'}`
}

function agentAddress(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}

// The text of a message: its ranges, its command, its topic and what it replies to. Pure.

/** A command as Telegram marked it, and the bot it names. */
export type Command = { readonly name: string; readonly target: string | undefined; readonly args: string }

/** Only what Telegram itself marked as a command counts; a leading slash may be a path. */
export function parseBotCommand(message: TelegramMessage): Command | undefined {
  const { text, entities } = messageTextAndEntities(message)
  const entity = entities.find(({ type, offset }) => type === 'bot_command' && offset === 0)
  const match = /^\/(\w+)(?:@(\w+))?$/.exec(text.slice(0, entity?.length ?? 0))
  if (entity === undefined || match?.[1] === undefined) return undefined
  return { name: match[1].toLowerCase(), target: match[2], args: text.slice(entity.length).trim() }
}

/** Text with its entities; ranges outside the text are dropped, ranges past its end are cut. */
export function messageTextAndEntities(message: TelegramMessage): {
  readonly text: string
  readonly entities: readonly TelegramEntity[]
} {
  const text = message.text ?? message.caption ?? ''
  const given = (message.text === undefined ? message.caption_entities : message.entities) ?? []
  const entities = given
    .filter(({ offset, length }) => offset >= 0 && length > 0 && offset < text.length)
    .map((entity) => ({ ...entity, length: Math.min(entity.length, text.length - entity.offset) }))
  return { text, entities }
}

/** A thread id also stands on ordinary replies; the general topic is addressed by leaving it out. */
export function forumTopicId(
  message: Pick<TelegramMessage, 'is_topic_message' | 'message_thread_id'>,
): string | undefined {
  const isTopic = message.is_topic_message === true && message.message_thread_id !== '1'
  return isTopic ? message.message_thread_id : undefined
}

/** Where people write to a channel each has a thread of their own. */
export function directTopicId({ direct_messages_topic: topic }: TelegramMessage): string | undefined {
  return topic?.topic_id
}

/** In a topic every message "replies" to the one that opened it. */
export function repliedMessage(message: TelegramMessage): TelegramMessage['reply_to_message'] {
  const parent = message.reply_to_message
  return message.is_topic_message === true && parent?.message_id === message.message_thread_id ? undefined : parent
}
