// What a message says in words: its text with ranges, its command, its topic and what it replies to. Pure.
import type { TelegramEntity, TelegramMessage } from './message.ts'

/** A command as Telegram marked it, and the bot it names. */
export type Command = { readonly name: string; readonly target: string | undefined; readonly args: string }

/** Only what Telegram itself marked as a command counts; a leading slash may be a path. */
export function parseBotCommand(message: TelegramMessage): Command | undefined {
  const { text, entities } = messageText(message)
  const entity = entities.find(({ type, offset }) => type === 'bot_command' && offset === 0)
  const match = /^\/(\w+)(?:@(\w+))?$/.exec(text.slice(0, entity?.length ?? 0))
  if (entity === undefined || match?.[1] === undefined) return undefined
  return { name: match[1].toLowerCase(), target: match[2], args: text.slice(entity.length).trim() }
}

/** Text with its entities; ranges outside the text are dropped, ranges past its end are cut. */
export function messageText(message: TelegramMessage): {
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
