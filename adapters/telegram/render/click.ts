// The answer to a press on a button: a word to the person who pressed, and the buttons gone once there is nothing left to decide. Pure.
import type { NormalizedResponse } from '../../../src/contract/index.ts'
import { replyTree } from '../../../src/markdown/index.ts'
import { type BareCall, maxToastLength, type TelegramCall, type TelegramReplyTo } from '../wire/call.ts'
import { renderPieces, textMessageCall } from './text.ts'

type ClickCall = { readonly call: TelegramCall; readonly primary: boolean }
type Click = NonNullable<TelegramReplyTo['reply_to_click']>

// Decided, here or before, or over. Any other answer leaves the buttons to those they are for: an unknown code may have
// been made up, for any message.
const settled: ReadonlySet<unknown> = new Set(['accepted', 'rejected', 'already_resolved', 'expired', 'changed'])

/** Long answers come as a message too: a press is told two hundred characters and no more. */
export function clickAnswerCalls(reply: NormalizedResponse, to: TelegramReplyTo, click: Click): readonly ClickCall[] {
  const pieces = renderPieces(replyTree(reply), reply.control)
  const words = pieces.map(({ text }) => text).join('\n')
  const isSettled = settled.has(reply.control?.decision)
  const isShort = words.length <= maxToastLength
  const toast: TelegramCall = {
    method: 'answerCallbackQuery',
    payload: {
      callback_query_id: click.id,
      ...(isShort ? { text: words } : {}),
      ...(isShort && !isSettled ? { show_alert: true } : {}),
    },
  }
  const said = isShort
    ? []
    : pieces.map((piece, index) => ({ call: textMessageCall(piece, to, index === 0), primary: true }))
  const bare = isSettled ? removeButtonsCall(to, click) : undefined
  return [{ call: toast, primary: isShort }, ...said, ...(bare === undefined ? [] : [{ call: bare, primary: false }])]
}

function removeButtonsCall(
  { chat_id, business_connection_id: business }: TelegramReplyTo,
  click: Click,
): BareCall | undefined {
  const method = 'editMessageReplyMarkup'
  if (click.inline_message_id !== undefined) return { method, payload: { inline_message_id: click.inline_message_id } }
  if (click.message_id === undefined) return undefined
  const card = { chat_id: Number(chat_id), message_id: Number(click.message_id) }
  return { method, payload: { ...card, ...(business === undefined ? {} : { business_connection_id: business }) } }
}
