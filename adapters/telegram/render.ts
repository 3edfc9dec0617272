// Hop 8: a reply to Bot API calls as data. Formatting goes beside the text as entities, so nothing in the text can become
// markup. Pure.
import type { JsonObject, NormalizedResponse } from '../../src/contract/index.ts'
import { type EntityPiece, renderEntities, replyTree } from '../../src/rendering/index.ts'
import { maxTextLength, replyToSchema, type TelegramCall, type TelegramReplyTo } from './wire.ts'

// What Telegram would by itself turn into a notification of somebody or a command to tap, and never less than TDLib's own
// patterns find (test/interop/tdlib).
const tappable = /(?<![\p{L}\p{N}_])@\w{2,32}(?!\w)|(?<![\p{L}\p{N}_/<>])\/\w{1,64}(?:@\w{3,32})?(?![\p{L}\p{N}_/<>])/gu
// The server refuses longer input before it looks at it, and honours about a hundred entities.
const limits = { limit: maxTextLength, maxRanges: 100, maxBytes: 32_768, inert: tappable }

export function renderTelegram(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
): readonly { readonly call: TelegramCall; readonly primary: boolean }[] {
  const address = replyToSchema.parse(to)
  const pieces = renderEntities(replyTree(reply, { mayNotify }), limits)
  return pieces.map((piece, index) => ({ call: sendMessage(piece, address, index === 0), primary: true }))
}

function sendMessage({ text, entities }: EntityPiece, to: TelegramReplyTo, isFirst: boolean): TelegramCall {
  const isReply = isFirst && to.reply_to_message_id !== undefined
  return {
    method: 'sendMessage',
    payload: {
      chat_id: Number(to.chat_id),
      text,
      link_preview_options: { is_disabled: true },
      ...(entities.length === 0 ? {} : { entities: [...entities] }),
      ...(to.business_connection_id === undefined ? {} : { business_connection_id: to.business_connection_id }),
      ...(to.message_thread_id === undefined ? {} : { message_thread_id: Number(to.message_thread_id) }),
      ...(isReply
        ? { reply_parameters: { message_id: Number(to.reply_to_message_id), allow_sending_without_reply: true } }
        : {}),
    },
  }
}
