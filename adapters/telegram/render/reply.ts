// Hop 8: a reply to Bot API calls as data. Pure.
import type { JsonObject, NormalizedResponse } from '../../../src/contract/index.ts'
import { type EntityChunk, replyTree } from '../../../src/rendering/index.ts'
import { maxTextLength, replyToSchema, type TelegramCall } from '../wire/call.ts'
import { buttonsOf } from './buttons.ts'
import { clickCalls } from './click.ts'
import { type RichUse, richOf } from './rich.ts'
import { chunksOf, textCall } from './text.ts'

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }

export function renderTelegram(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
  hasLive = false,
  rich: RichUse = 'off',
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  if (address.reply_to_click !== undefined) return clickCalls(reply, address, address.reply_to_click)
  const { reply: said, keyboard } = buttonsOf(reply)
  const chunks = chunksOf(replyTree(said, { mayNotify }))
  if (address.guest_query_id !== undefined) return guestCalls(chunks, address.guest_query_id)
  return chunks.map(({ blocks, piece }, index) => {
    const { method, payload } = textCall(piece, address, index === 0)
    const isLast = index === chunks.length - 1
    const whole = isLast && keyboard !== undefined ? { ...payload, reply_markup: keyboard } : payload
    const richForm = richOf(blocks, rich)
    const call = {
      ...{ method, payload: whole },
      ...(hasLive && index === 0 ? { finishesLive: true as const } : {}),
      ...(richForm === undefined ? {} : { rich: richForm }),
    }
    return { call, primary: true }
  })
}

/** A guest may answer once; what does not fit into one message is cut, and says so. */
function guestCalls([chunk, ...rest]: readonly EntityChunk[], queryId: string): readonly Rendered[] {
  if (chunk === undefined) return []
  const { piece: first } = chunk
  const text = rest.length === 0 ? first.text : `${first.text.slice(0, maxTextLength - 2).toWellFormed()} …`
  const entities = first.entities.filter(({ offset, length }) => offset + length <= maxTextLength - 2)
  const payload = { guest_query_id: queryId, text, ...(entities.length === 0 ? {} : { entities }) }
  return [{ call: { method: 'answerGuestQuery', payload }, primary: true }]
}
