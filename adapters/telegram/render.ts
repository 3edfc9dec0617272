// Hop 8: a reply to Bot API calls as data. Plain text without a parse mode, so nothing in it can become markup. Pure.
import type { JsonObject, NormalizedResponse } from '../../src/contract/index.ts'
import { chunkText, plainText } from '../../src/rendering/index.ts'
import { maxTextLength, replyToSchema, type TelegramCall, type TelegramReplyTo } from './wire.ts'

type Entities = NonNullable<Extract<TelegramCall, { method: 'sendMessage' }>['payload']['entities']>

// Telegram honours about a hundred entities per message.
const maxEntities = 100
// What Telegram would by itself turn into a notification of somebody or a command to tap (TDLib's own patterns, without
// names inside links).
const tappable = /(?<![\w/@])@\w{2,32}(?!\w)|(?<![\w/<>])\/\w{1,64}(?:@\w{3,32})?(?![\w/<>])/g

export function renderTelegram(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
): readonly { readonly call: TelegramCall; readonly primary: boolean }[] {
  const address = replyToSchema.parse(to)
  const inert = (text: string): Entities => inertSpans(text, mayNotify)
  const pieces = chunkText(plainText(reply), maxTextLength).flatMap((piece) => thinned(piece, inert))
  return pieces.map((piece, index) => ({
    call: sendMessage(piece, inert(piece), address, index === 0),
    primary: true,
  }))
}

function sendMessage(text: string, entities: Entities, to: TelegramReplyTo, isFirst: boolean): TelegramCall {
  const isReply = isFirst && to.reply_to_message_id !== undefined
  return {
    method: 'sendMessage',
    payload: {
      chat_id: Number(to.chat_id),
      text,
      link_preview_options: { is_disabled: true },
      ...(entities.length === 0 ? {} : { entities }),
      ...(to.business_connection_id === undefined ? {} : { business_connection_id: to.business_connection_id }),
      ...(to.message_thread_id === undefined ? {} : { message_thread_id: Number(to.message_thread_id) }),
      ...(isReply
        ? { reply_parameters: { message_id: Number(to.reply_to_message_id), allow_sending_without_reply: true } }
        : {}),
    },
  }
}

/** Set as code, names and commands keep their text and wake nobody. */
function inertSpans(text: string, mayNotify: ReadonlySet<string>): Entities {
  const found = Array.from(text.matchAll(tappable)).filter(([written]) => !mayNotify.has(written.toLowerCase()))
  return found.map((match) => ({
    type: 'code',
    offset: match.index,
    length: match[0].length,
  }))
}

/** A piece with more spans than Telegram honours is split until each half has few enough. */
function thinned(piece: string, inert: (text: string) => Entities): readonly string[] {
  if (piece.length < 2 || inert(piece).length <= maxEntities) return [piece]
  return chunkText(piece, Math.ceil(piece.length / 2)).flatMap((half) => thinned(half, inert))
}
