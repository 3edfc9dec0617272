// Normalizes one message that a person wrote, new or edited. Pure.

import {
  type ChannelContext,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type KnownPart,
  textPart,
} from '../../../src/contract/index.ts'
import { cleanName, cleanText, type JsonObject } from '../../../src/lib/index.ts'
import {
  type FileField,
  fileFields,
  fileSchema,
  serviceFields,
  type TelegramFile,
  type TelegramMessage,
  type TelegramOrigin,
} from '../wire/update.ts'
import { formattedTextPart, nonTextContentPart, stickerParts } from './content.ts'
import {
  type Author,
  authorOfUpdate,
  type BotFacts,
  type Command,
  chatContext,
  directTopicId,
  formatChatKey,
  forumTopicId,
  messageTextAndEntities,
  normalizedMessage,
  parseBotCommand,
  repliedMessage,
  telegramThreadId,
  type UpdateContext,
} from './context.ts'

type Event = 'new' | 'edit'

/** Items of an album come one by one; the next is rarely further away than this. */
const albumMs = 800

export function normalizeChatMessage(
  updateContext: UpdateContext,
  message: TelegramMessage,
  event: Event,
): InboundEvent {
  const author = authorOfUpdate(message)
  const parts = telegramMessageParts(updateContext.bot, message)
  const missing = author === undefined ? 'no_author' : 'no_content'
  const reason =
    findTelegramIgnoreReason(updateContext, message, event) ??
    (author === undefined || parts.length === 0 ? missing : undefined)
  if (author !== undefined && reason === undefined)
    return telegramInboundMessage(updateContext, message, { event, author, parts })
  const { deliveryId, raw } = updateContext
  const subject = author === undefined ? {} : { subject: author.subject }
  const isNoise = reason === 'live_location'
  const renamed = readChatMigration(updateContext.bot, message)
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
function readChatMigration(bot: BotFacts, { chat, ...message }: TelegramMessage): IgnoredEvent['renamed'] {
  const { migrate_from_chat_id: from = chat.id, migrate_to_chat_id: to = chat.id } = message
  return from === to
    ? undefined
    : { from: telegramThreadId(bot, from, undefined), to: telegramThreadId(bot, to, undefined) }
}

function findTelegramIgnoreReason({ bot }: UpdateContext, message: TelegramMessage, event: Event): string | undefined {
  if (message.from?.id === bot.id || message.sender_business_bot?.id === bot.id) return 'own_message'
  if (message.is_automatic_forward === true) return 'automatic_forward'
  // Anonymous admins and channels write through placeholder bots; their sender_chat is the author.
  if (message.from?.is_bot === true && message.sender_chat === undefined) return 'from_bot'
  if (Object.keys(message).some((field) => serviceFields.has(field))) return 'service_message'
  // A place that moves is sent again and again, for hours.
  if (event === 'edit' && message['location'] !== undefined) return 'live_location'
  const target = parseBotCommand(message)?.target
  const isOthers = target !== undefined && bot.username !== undefined && !isSameUsername(target, bot.username)
  return isOthers ? 'command_for_other_bot' : undefined
}

type Said = { readonly event: Event; readonly author: Author; readonly parts: readonly KnownPart[] }

function telegramInboundMessage(
  updateContext: UpdateContext,
  message: TelegramMessage,
  { event, author, parts }: Said,
): InboundMessage {
  const { bot, connection } = updateContext
  const chatKey = formatChatKey(message)
  const topic = forumTopicId(message)
  const changedAt = event === 'edit' ? (message.edit_date ?? message.date) : message.date
  const originalId = `${bot.id}:${chatKey}:${message.message_id}`
  const direct = directTopicId(message)
  const threadId = telegramThreadId(bot, chatKey, direct === undefined ? topic : `direct/${direct}`)
  const parent = repliedMessage(message)
  const command = expandTappedOrStartCommand(message, parseBotCommand(message))
  const channel = chatContext(updateContext, {
    chat: message.chat,
    author,
    messageId: message.message_id,
    addressed: classifyBotAddressing(bot, message, command !== undefined),
    mentions: telegramMentions(bot, message),
    event,
    ...(event === 'edit' ? { targetId: originalId } : {}),
    ...(command === undefined ? {} : { command }),
  })
  return {
    kind: 'message',
    message: normalizedMessage(updateContext, {
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
    deliveryId: updateContext.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], platformVerified: true, newThreadKey: threadId },
    replyTo: telegramReplyAddress(message, topic),
    // An edited command amends what was said; it is not given a second time.
    ...(command === undefined || event === 'edit' ? {} : { mustReplyIndividually: 'command' }),
    ...(message.media_group_id === undefined || event === 'edit' ? {} : { debounceMs: albumMs }),
    platformAt: new Date(changedAt * 1000).toISOString(),
  }
}

/** Commands of the gateway as they are tapped, with what they are about in the name itself. */
const tappedCommand = /^(approve|reject|pair|consent)_(\w+)$/

/** A link to the bot can carry a pairing code; it counts only in a private chat, where no other person reads along. */
function expandTappedOrStartCommand(
  { chat }: TelegramMessage,
  command: Command | undefined,
): ChannelContext['command'] {
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

function classifyBotAddressing(
  bot: BotFacts,
  message: TelegramMessage,
  isCommand: boolean,
): ChannelContext['addressed'] {
  if (isCommand) return 'command'
  if (message.chat.type === 'private' || directTopicId(message) !== undefined) return 'dm'
  if (message.guest_query_id !== undefined) return 'mention'
  if (telegramMentions(bot, message).some((mention) => mention.subject === `telegram:${bot.id}`)) return 'mention'
  if (repliedMessage(message)?.from?.id === bot.id) return 'reply'
  return forumTopicId(message) === undefined ? 'none' : 'thread'
}

function telegramMentions(bot: BotFacts, message: TelegramMessage): ChannelContext['mentions'] {
  const { text, entities } = messageTextAndEntities(message)
  return entities.flatMap((entity) => {
    const shown = text.slice(entity.offset, entity.offset + entity.length)
    if (entity.type === 'text_mention' && entity.user !== undefined) {
      return [{ text: shown, subject: `telegram:${entity.user.id}` }]
    }
    if (entity.type !== 'mention') return []
    // Telegram ends the entity at a hyphen: `@my_bot-dev` is another account's name all the same.
    const isWhole = !/^-?\w/.test(text.slice(entity.offset + entity.length))
    const isUs = bot.username !== undefined && isWhole && isSameUsername(shown.slice(1), bot.username)
    return [isUs ? { text: shown, subject: `telegram:${bot.id}` } : { text: shown }]
  })
}

function telegramReplyAddress(message: TelegramMessage, topic: string | undefined): JsonObject {
  const { business_connection_id: business, guest_query_id: guest } = message
  // A guest answers a query and nothing else: it may not write to that chat.
  if (guest !== undefined) return { chat_id: message.chat.id, guest_query_id: guest }
  const direct = directTopicId(message)
  if (direct !== undefined) return { chat_id: message.chat.id, direct_messages_topic_id: direct }
  return {
    chat_id: message.chat.id,
    ...(topic === undefined ? {} : { message_thread_id: topic }),
    // Between two people an answer needs no pointer, and without one neighbours can share a turn.
    ...(message.chat.type === 'private' ? {} : { reply_to_message_id: message.message_id }),
    ...(business === undefined ? {} : { business_connection_id: business }),
  }
}

function isSameUsername(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

// Parts in reading order: where it comes from, what it answers, its file or other content, its words. Pure.

const maxContext = 500

/** Empty: nothing was said. */
function telegramMessageParts(bot: BotFacts, message: TelegramMessage): readonly KnownPart[] {
  const content = telegramFilePart(message) ?? nonTextContentPart(message)
  const words = messageTextAndEntities(message)
  const said = [
    ...(content === undefined ? [] : [content]),
    ...stickerParts(message),
    ...(words.text.trim() === '' ? [] : [formattedTextPart(words)]),
  ]
  return said.length === 0 ? [] : [...quotedContextParts(bot, message), ...said]
}

/** Words and files of others, marked as such: they are not what the sender asks for. */
function quotedContextParts(bot: BotFacts, message: TelegramMessage): readonly KnownPart[] {
  const { forward_origin: origin, quote, external_reply: external, chat } = message
  const parent = repliedMessage(message)
  // What we said ourselves the agent remembers; what others said it may never have seen.
  const isOurs = parent?.from?.id === bot.id
  const answered = parent === undefined || isOurs ? undefined : (parent.text ?? parent.caption)
  const context = quote?.text ?? answered
  // Between two the agent was shown the file when it came.
  const shown = external ?? (chat.type === 'private' || isOurs ? undefined : parent)
  const file = shown === undefined ? undefined : (telegramFilePart(shown) ?? nonTextContentPart(shown))
  const isNamed = quote === undefined && parent !== undefined && (answered !== undefined || file !== undefined)
  return [
    ...(origin === undefined ? [] : [textPart(`[forwarded from ${forwardOriginName(origin)}]`)]),
    ...(external === undefined ? [] : [textPart(`[in reply to ${forwardOriginName(external.origin)}, elsewhere]`)]),
    ...(isNamed ? [textPart(`[in reply to ${parentAuthorName(parent)}]`)] : []),
    ...(file === undefined ? [] : [file]),
    ...(context === undefined ? [] : [textPart(shortenQuote(context).replace(/^/gm, '> '))]),
  ]
}

function parentAuthorName(parent: NonNullable<TelegramMessage['reply_to_message']>): string {
  return cleanName(parent.sender_chat?.title ?? parent.from?.first_name ?? '') || 'an unnamed person'
}

function forwardOriginName({ sender_user, sender_user_name, sender_chat, chat }: TelegramOrigin): string {
  const name = sender_user?.first_name ?? sender_user_name ?? (sender_chat ?? chat)?.title
  return cleanName(name ?? '') || 'an unnamed sender'
}

function shortenQuote(text: string): string {
  return text.length > maxContext ? `${text.slice(0, maxContext).toWellFormed()}…` : text
}

// A file is described as far as Telegram says what it is. Its bytes stay where they are. Pure.

/** Undefined: it carries none, or none that can be asked for. */
function telegramFilePart(message: Readonly<Record<string, unknown>>): KnownPart | undefined {
  for (const field of fileFields) {
    const file = parseLargestFile(message[field])
    if (file === undefined) continue
    const mime = fileMimeType(field, file)
    const name = inboundFileName(field, file, mime)
    return {
      kind: 'file',
      bytes_ref: { kind: 'channel', ref: { file_id: file.file_id, ...(mime === undefined ? {} : { mime }) } },
      ...(mime === undefined ? {} : { mime }),
      ...(name === undefined ? {} : { name }),
      ...(file.file_size === undefined ? {} : { size: file.file_size }),
    }
  }
  return undefined
}

/** A photo comes in several sizes, the largest last. */
function parseLargestFile(value: unknown): TelegramFile | undefined {
  return fileSchema.safeParse(Array.isArray(value) ? value.at(-1) : value).data
}

/** What Telegram makes itself has one type, and says none. */
function fileMimeType(field: FileField, { mime_type, is_animated, is_video }: TelegramFile): string | undefined {
  if (mime_type !== undefined) return mime_type
  switch (field) {
    case 'photo':
      return 'image/jpeg'
    case 'voice':
      return 'audio/ogg'
    case 'video':
    case 'video_note':
    case 'animation':
      return 'video/mp4'
    case 'sticker':
      return is_video === true ? 'video/webm' : is_animated === true ? 'application/gzip' : 'image/webp'
    case 'audio':
    case 'document':
      return undefined
    default:
      return field satisfies never
  }
}

const fileExtensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'audio/ogg': 'ogg',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'image/webp': 'webp',
  'application/gzip': 'tgs',
}

function inboundFileName(field: FileField, { file_name }: TelegramFile, mime: string | undefined): string | undefined {
  const given = cleanText(file_name ?? '').slice(0, 255)
  if (given !== '') return given
  const ending = fileExtensions[mime ?? '']
  return ending === undefined ? undefined : `${field.replace('_', '-')}.${ending}`
}
