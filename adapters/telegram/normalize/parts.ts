// What a message says, in reading order: where it comes from, what it answers, its file or other content, its words. Pure.
import { cleanName, type KnownPart, textPart } from '../../../src/contract/index.ts'
import { telegramFilePart } from '../files/read.ts'
import type { TelegramMessage, TelegramOrigin } from '../wire/message.ts'
import { messageText, repliedMessage } from '../wire/words.ts'
import { contentPart, stickerParts } from './content.ts'
import { formattedTextPart } from './marked.ts'
import type { BotFacts } from './scene.ts'

const maxContext = 500

/** Empty: nothing was said. */
export function telegramMessageParts(bot: BotFacts, message: TelegramMessage): readonly KnownPart[] {
  const content = telegramFilePart(message) ?? contentPart(message)
  const words = messageText(message)
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
  const file = shown === undefined ? undefined : (telegramFilePart(shown) ?? contentPart(shown))
  const isNamed = quote === undefined && parent !== undefined && (answered !== undefined || file !== undefined)
  return [
    ...(origin === undefined ? [] : [textPart(`[forwarded from ${originName(origin)}]`)]),
    ...(external === undefined ? [] : [textPart(`[in reply to ${originName(external.origin)}, elsewhere]`)]),
    ...(isNamed ? [textPart(`[in reply to ${parentAuthorName(parent)}]`)] : []),
    ...(file === undefined ? [] : [file]),
    ...(context === undefined ? [] : [textPart(cutQuote(context).replace(/^/gm, '> '))]),
  ]
}

function parentAuthorName(parent: NonNullable<TelegramMessage['reply_to_message']>): string {
  return cleanName(parent.sender_chat?.title ?? parent.from?.first_name ?? '') || 'an unnamed person'
}

function originName({ sender_user, sender_user_name, sender_chat, chat }: TelegramOrigin): string {
  const name = sender_user?.first_name ?? sender_user_name ?? (sender_chat ?? chat)?.title
  return cleanName(name ?? '') || 'an unnamed sender'
}

function cutQuote(text: string): string {
  return text.length > maxContext ? `${text.slice(0, maxContext).toWellFormed()}…` : text
}
