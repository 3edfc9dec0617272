// Hop 8: a reply to Bot API calls as data. Pure.
import type { JsonObject, NormalizedResponse } from '../../../src/contract/index.ts'
import { type EntityChunk, plainTree, replyTree } from '../../../src/markdown/index.ts'
import { maxTextLength, replyToSchema, type TelegramCall, type TelegramReplyTo, type TextCall } from '../wire/call.ts'
import { type Card, renderButtons } from './buttons.ts'
import { clickAnswerCalls } from './click.ts'
import { type RichUse, renderRichMessage } from './rich.ts'
import { renderChunks, renderPieces, textMessageCall } from './text.ts'

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }

export function renderTelegram(
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
  hasLive = false,
  rich: RichUse = 'off',
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  if (address.reply_to_click !== undefined) return clickAnswerCalls(reply, address, address.reply_to_click)
  // A guest has one answer and no buttons: the words say what to reply.
  if (address.guest_query_id !== undefined)
    return guestAnswerCalls(renderChunks(replyTree(reply, { mayNotify }), reply.control), address.guest_query_id)
  const { reply: said, keyboard, cards } = renderButtons(reply)
  const chunks = wordsBesideCards(said, cards).flatMap((words) =>
    renderChunks(replyTree(words, { mayNotify }), reply.control),
  )
  const calls = chunks.map(({ blocks, piece }, index) => {
    const { method, payload } = textMessageCall(piece, address, index === 0)
    const isLast = index === chunks.length - 1
    const whole = isLast && keyboard !== undefined ? { ...payload, reply_markup: keyboard } : payload
    const richForm = renderRichMessage(blocks, rich)
    return { method, payload: whole, ...(richForm === undefined ? {} : { rich: richForm }) }
  })
  const asked = cards.map((card, index) => buttonCardCall(card, address, calls.length + index === 0))
  return [...calls, ...asked].map((call, index) => ({
    call: hasLive && index === 0 ? { ...call, finishesLive: true as const } : call,
    primary: true,
  }))
}

/** What a reply says beside its questions; none where they say it all. */
function wordsBesideCards(reply: NormalizedResponse, cards: readonly Card[]): readonly NormalizedResponse[] {
  if (cards.length === 0) return [reply]
  const isPlain = reply.status === 'completed' || reply.status === 'input_required'
  if (isPlain && reply.parts.every((part) => part.kind === 'tool_call')) return []
  return [isPlain ? { ...reply, status: 'completed' } : reply]
}

function buttonCardCall({ text, keyboard }: Card, address: TelegramReplyTo, isFirst: boolean): TextCall {
  const [piece = { text: '', entities: [] }] = renderPieces(plainTree(text))
  const { method, payload } = textMessageCall(piece, address, isFirst)
  return { method, payload: { ...payload, reply_markup: keyboard } }
}

/** A guest may answer once; what does not fit into one message is cut, and says so. */
function guestAnswerCalls([chunk, ...rest]: readonly EntityChunk[], queryId: string): readonly Rendered[] {
  if (chunk === undefined) return []
  const { piece: first } = chunk
  const text = rest.length === 0 ? first.text : `${first.text.slice(0, maxTextLength - 2).toWellFormed()} …`
  const entities = first.entities.filter(({ offset, length }) => offset + length <= maxTextLength - 2)
  const payload = { guest_query_id: queryId, text, ...(entities.length === 0 ? {} : { entities }) }
  return [{ call: { method: 'answerGuestQuery', payload }, primary: true }]
}
