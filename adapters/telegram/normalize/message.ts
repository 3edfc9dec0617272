// Hop 3: one message that a person wrote, new or edited. Pure.
import type {
  Arrived,
  ArrivedMessage,
  ArrivedNothing,
  ChannelContext,
  JsonObject,
  KnownPart,
} from '../../../src/contract/index.ts'
import { serviceFields } from '../wire/fields.ts'
import type { TelegramMessage } from '../wire/message.ts'
import { type Command, commandOf, directTopicOf, parentOf, topicOf, wordsOf } from '../wire/words.ts'
import { type Author, authorOf } from './author.ts'
import { contextOf, normalizedMessage } from './context.ts'
import { partsOf } from './parts.ts'
import { type BotFacts, chatKeyOf, type Scene, threadOf } from './scene.ts'

type Event = 'new' | 'edit'

/** Items of an album come one by one; the next is rarely further away than this. */
const albumMs = 800

export function fromMessage(scene: Scene, message: TelegramMessage, event: Event): Arrived {
  const author = authorOf(message)
  const parts = partsOf(scene.bot, message)
  const missing = author === undefined ? 'no_author' : 'no_content'
  const reason =
    reasonToIgnore(scene, message, event) ?? (author === undefined || parts.length === 0 ? missing : undefined)
  if (author !== undefined && reason === undefined) return arrivedMessage(scene, message, { event, author, parts })
  const { deliveryId, raw } = scene
  const subject = author === undefined ? {} : { subject: author.subject }
  const isNoise = reason === 'live_location'
  const renamed = renamedBy(scene.bot, message)
  const given = renamed === undefined ? reason : 'chat_migrated'
  return {
    kind: 'ignored',
    reason: given ?? missing,
    isNoise,
    deliveryId,
    ...subject,
    ...(renamed && { renamed }),
    raw,
  }
}

/** A group that became a supergroup has another id; both chats are told of it. */
function renamedBy(bot: BotFacts, { chat, ...message }: TelegramMessage): ArrivedNothing['renamed'] {
  const { migrate_from_chat_id: from = chat.id, migrate_to_chat_id: to = chat.id } = message
  return from === to ? undefined : { from: threadOf(bot, from, undefined), to: threadOf(bot, to, undefined) }
}

function reasonToIgnore({ bot }: Scene, message: TelegramMessage, event: Event): string | undefined {
  if (message.from?.id === bot.id || message.sender_business_bot?.id === bot.id) return 'own_message'
  if (message.is_automatic_forward === true) return 'automatic_forward'
  // Anonymous admins and channels write through placeholder bots; their sender_chat is the author.
  if (message.from?.is_bot === true && message.sender_chat === undefined) return 'from_bot'
  if (Object.keys(message).some((field) => serviceFields.has(field))) return 'service_message'
  // A place that moves is sent again and again, for hours.
  if (event === 'edit' && message['location'] !== undefined) return 'live_location'
  const target = commandOf(message)?.target
  const isOthers = target !== undefined && bot.username !== undefined && !isSameName(target, bot.username)
  return isOthers ? 'command_for_other_bot' : undefined
}

type Said = { readonly event: Event; readonly author: Author; readonly parts: readonly KnownPart[] }

function arrivedMessage(scene: Scene, message: TelegramMessage, { event, author, parts }: Said): ArrivedMessage {
  const { bot, connection } = scene
  const chatKey = chatKeyOf(message)
  const topic = topicOf(message)
  const changedAt = event === 'edit' ? (message.edit_date ?? message.date) : message.date
  const originalId = `${bot.id}:${chatKey}:${message.message_id}`
  const direct = directTopicOf(message)
  const threadId = threadOf(bot, chatKey, direct === undefined ? topic : `direct/${direct}`)
  const parent = parentOf(message)
  const command = meantBy(message, commandOf(message))
  const channel = contextOf(scene, {
    chat: message.chat,
    author,
    messageId: message.message_id,
    addressed: addressedBy(bot, message, command !== undefined),
    mentions: mentionsIn(bot, message),
    event,
    ...(event === 'edit' ? { targetId: originalId } : {}),
    ...(command === undefined ? {} : { command }),
  })
  return {
    kind: 'message',
    message: normalizedMessage(scene, {
      // An edit is a message of its own; what it amends is its target.
      id: event === 'edit' ? `${originalId}:${changedAt}` : originalId,
      thread_id: threadId,
      ...(parent === undefined ? {} : { inReplyTo: `${bot.id}:${chatKey}:${parent.message_id}` }),
      parts: [...parts],
      chat: message.chat,
      author,
      channel,
    }),
    agent: connection.agent,
    semanticId: `${chatKey}:${message.message_id}`,
    version: event === 'edit' ? String(changedAt) : '0',
    isSenderChosenId: false,
    deliveryId: scene.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], vouched: true, fresh: threadId },
    replyTo: replyToOf(message, topic),
    // An edited command amends what was said; it is not given a second time.
    ...(command === undefined || event === 'edit' ? {} : { obligation: 'command' }),
    ...(message.media_group_id === undefined || event === 'edit' ? {} : { settleMs: albumMs }),
    platformAt: new Date(changedAt * 1000).toISOString(),
  }
}

/** Commands of the gateway as they are tapped, with what they are about in the name itself. */
const tappedCommand = /^(approve|reject|pair|consent)_(\w+)$/

/** A link to the bot can carry a pairing code; it counts only in a private chat, where no other person reads along. */
function meantBy({ chat }: TelegramMessage, command: Command | undefined): ChannelContext['command'] {
  if (command === undefined) return undefined
  const { name, args } = command
  const [, tapped, about = ''] = args === '' ? (tappedCommand.exec(name) ?? []) : []
  if (tapped !== undefined) return { name: tapped, args: tapped === 'consent' ? about.replace('_', ' ') : about }
  if (name !== 'start') return { name, args }
  // Telegram's own button for people who open a bot for the first time.
  if (args === '') return { name: 'help', args }
  const code = chat.type === 'private' ? /^pair[-_]([A-Za-z0-9-]{4,32})$/.exec(args)?.[1] : undefined
  return code === undefined ? { name, args } : { name: 'pair', args: code }
}

function addressedBy(bot: BotFacts, message: TelegramMessage, isCommand: boolean): ChannelContext['addressed'] {
  if (isCommand) return 'command'
  if (message.chat.type === 'private' || directTopicOf(message) !== undefined) return 'dm'
  if (message.guest_query_id !== undefined) return 'mention'
  if (mentionsIn(bot, message).some((mention) => mention.subject === `telegram:${bot.id}`)) return 'mention'
  if (parentOf(message)?.from?.id === bot.id) return 'reply'
  return topicOf(message) === undefined ? 'none' : 'thread'
}

function mentionsIn(bot: BotFacts, message: TelegramMessage): ChannelContext['mentions'] {
  const { text, entities } = wordsOf(message)
  return entities.flatMap((entity) => {
    const shown = text.slice(entity.offset, entity.offset + entity.length)
    if (entity.type === 'text_mention' && entity.user !== undefined) {
      return [{ text: shown, subject: `telegram:${entity.user.id}` }]
    }
    if (entity.type !== 'mention') return []
    // Telegram ends the entity at a hyphen: `@my_bot-dev` is another account's name all the same.
    const isWhole = !/^-?\w/.test(text.slice(entity.offset + entity.length))
    const isUs = bot.username !== undefined && isWhole && isSameName(shown.slice(1), bot.username)
    return [isUs ? { text: shown, subject: `telegram:${bot.id}` } : { text: shown }]
  })
}

function replyToOf(message: TelegramMessage, topic: string | undefined): JsonObject {
  const { business_connection_id: business, guest_query_id: guest } = message
  // A guest answers a query and nothing else: it may not write to that chat.
  if (guest !== undefined) return { chat_id: message.chat.id, guest_query_id: guest }
  const direct = directTopicOf(message)
  if (direct !== undefined) return { chat_id: message.chat.id, direct_messages_topic_id: direct }
  return {
    chat_id: message.chat.id,
    ...(topic === undefined ? {} : { message_thread_id: topic }),
    // Between two people an answer needs no pointer, and without one neighbours can share a turn.
    ...(message.chat.type === 'private' ? {} : { reply_to_message_id: message.message_id }),
    ...(business === undefined ? {} : { business_connection_id: business }),
  }
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
