// Hop 8: a reply to Bot API calls as data. Pure.
import type { JsonObject, NormalizedResponse } from '../../../src/contract/index.ts'
import { type EntityPiece, replyTree } from '../../../src/rendering/index.ts'
import { maxTextLength, replyToSchema, type TelegramCall } from '../wire/call.ts'
import { buttonsOf } from './buttons.ts'
import { clickCalls } from './click.ts'
import { piecesOf, textCall } from './text.ts'

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }

export function renderTelegram(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
  hasLive = false,
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  if (address.reply_to_click !== undefined) return clickCalls(reply, address, address.reply_to_click)
  const { reply: said, keyboard } = buttonsOf(reply)
  const pieces = piecesOf(replyTree(said, { mayNotify }))
  if (address.guest_query_id !== undefined) return guestCalls(pieces, address.guest_query_id)
  return pieces.map((piece, index) => {
    const { method, payload } = textCall(piece, address, index === 0)
    const isLast = index === pieces.length - 1
    const whole = isLast && keyboard !== undefined ? { ...payload, reply_markup: keyboard } : payload
    const call = { method, payload: whole, ...(hasLive && index === 0 ? { finishesLive: true as const } : {}) }
    return { call, primary: true }
  })
}

/** A guest may answer once; what does not fit into one message is cut, and says so. */
function guestCalls([first, ...rest]: readonly EntityPiece[], queryId: string): readonly Rendered[] {
  if (first === undefined) return []
  const text = rest.length === 0 ? first.text : `${first.text.slice(0, maxTextLength - 2).toWellFormed()} …`
  const entities = first.entities.filter(({ offset, length }) => offset + length <= maxTextLength - 2)
  const payload = { guest_query_id: queryId, text, ...(entities.length === 0 ? {} : { entities }) }
  return [{ call: { method: 'answerGuestQuery', payload }, primary: true }]
}
