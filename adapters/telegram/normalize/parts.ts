// What a message says, in reading order: where it comes from, what it answers, its file or other content, its words. Pure.
import { cleanName, type KnownPart, textPart } from '../../../src/contract/index.ts'
import { filePartOf } from '../files/read.ts'
import type { TelegramMessage, TelegramOrigin } from '../wire/message.ts'
import { parentOf, wordsOf } from '../wire/words.ts'
import { contentPartOf, stickerWords } from './content.ts'
import { markedPart } from './marked.ts'
import type { BotFacts } from './scene.ts'

const maxContext = 500

/** Empty: nothing was said. */
export function partsOf(bot: BotFacts, message: TelegramMessage): readonly KnownPart[] {
  const content = filePartOf(message) ?? contentPartOf(message)
  const words = wordsOf(message)
  const said = [
    ...(content === undefined ? [] : [content]),
    ...stickerWords(message),
    ...(words.text.trim() === '' ? [] : [markedPart(words)]),
  ]
  return said.length === 0 ? [] : [...frameOf(bot, message), ...said]
}

/** Words and files of others, marked as such: they are not what the sender asks for. */
function frameOf(bot: BotFacts, message: TelegramMessage): readonly KnownPart[] {
  const { forward_origin: origin, quote, external_reply: external, chat } = message
  const parent = parentOf(message)
  // What we said ourselves the agent remembers; what others said it may never have seen.
  const isOurs = parent?.from?.id === bot.id
  const answered = parent === undefined || isOurs ? undefined : (parent.text ?? parent.caption)
  const context = quote?.text ?? answered
  // Between two the agent was shown the file when it came.
  const shown = external ?? (chat.type === 'private' || isOurs ? undefined : parent)
  const file = shown === undefined ? undefined : (filePartOf(shown) ?? contentPartOf(shown))
  const isNamed = quote === undefined && parent !== undefined && (answered !== undefined || file !== undefined)
  return [
    ...(origin === undefined ? [] : [textPart(`[forwarded from ${nameOf(origin)}]`)]),
    ...(external === undefined ? [] : [textPart(`[in reply to ${nameOf(external.origin)}, elsewhere]`)]),
    ...(isNamed ? [textPart(`[in reply to ${writerOf(parent)}]`)] : []),
    ...(file === undefined ? [] : [file]),
    ...(context === undefined ? [] : [textPart(cut(context).replace(/^/gm, '> '))]),
  ]
}

function writerOf(parent: NonNullable<TelegramMessage['reply_to_message']>): string {
  return cleanName(parent.sender_chat?.title ?? parent.from?.first_name ?? '') || 'an unnamed person'
}

function nameOf({ sender_user, sender_user_name, sender_chat, chat }: TelegramOrigin): string {
  const name = sender_user?.first_name ?? sender_user_name ?? (sender_chat ?? chat)?.title
  return cleanName(name ?? '') || 'an unnamed sender'
}

function cut(text: string): string {
  return text.length > maxContext ? `${text.slice(0, maxContext).toWellFormed()}…` : text
}
