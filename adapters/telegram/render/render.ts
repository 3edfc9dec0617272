// Renders a reply into Bot API calls as data. Pure.

import { isKnownPart, type KnownPart, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import { cleanName, type JsonObject } from '../../../src/lib/index.ts'
import { plainTree, replyTree } from '../../../src/markdown/index.ts'
import type { TelegramSay } from '../sentences.ts'
import {
  type BareCall,
  type Button,
  encodeButtonValue,
  type Keyboard,
  maxTextLength,
  maxToastLength,
  replyToSchema,
  type TelegramCall,
  type TelegramReplyTo,
  type TextCall,
} from '../wire/calls.ts'
import type { EntityChunk } from './entities.ts'
import { type RichUse, renderRichMessage } from './rich-message.ts'
import { renderMessageChunks, renderMessagePieces, textMessageCall } from './text.ts'

type Rendered = { readonly call: TelegramCall; readonly primary: boolean }

export function renderTelegram(
  say: TelegramSay,
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
    return guestAnswerCalls(renderMessageChunks(replyTree(reply, { mayNotify }), reply.control), address.guest_query_id)
  const { reply: said, keyboard, cards } = turnPoliciesIntoButtons(say, reply)
  const chunks = keepReplyTextBesideButtons(said, cards).flatMap((words) =>
    renderMessageChunks(replyTree(words, { mayNotify }), reply.control),
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
function keepReplyTextBesideButtons(reply: NormalizedResponse, cards: readonly Card[]): readonly NormalizedResponse[] {
  if (cards.length === 0) return [reply]
  const isPlain = reply.status === 'completed' || reply.status === 'input_required'
  if (isPlain && reply.parts.every((part) => part.kind === 'tool_call')) return []
  return [isPlain ? { ...reply, status: 'completed' } : reply]
}

function buttonCardCall({ text, keyboard }: Card, address: TelegramReplyTo, isFirst: boolean): TextCall {
  const [piece = { text: '', entities: [] }] = renderMessagePieces(plainTree(text))
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

// Approval questions have buttons below the words: what is decided stays with us, a button sends back its code. Pure.

type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

const maxRows = 8
const maxCards = 8
const maxLabel = 40
const maxUrl = 2048

/** The words of a reply, with links of policies as buttons below them, and its questions as messages of their own. */
export type Buttoned = {
  readonly reply: NormalizedResponse
  readonly keyboard: Keyboard | undefined
  readonly cards: readonly Card[]
}

/** A question and the buttons that answer it. */
type Card = { readonly text: string; readonly keyboard: Keyboard }

/** A link or a decision that became a button is no longer said in words. */
function turnPoliciesIntoButtons(say: TelegramSay, reply: NormalizedResponse): Buttoned {
  const rows: Button[][] = []
  const cards: Card[] = []
  const parts = reply.parts.flatMap((part): readonly Part[] => {
    if (!isKnownPart(part) || part.kind !== 'policy') return [part]
    const { policy } = part
    const card = cards.length < maxCards ? approvalButtonCard(say, policy) : undefined
    if (card !== undefined) {
      cards.push(card)
      return []
    }
    const row = rows.length < maxRows ? linkButtons(say, policy) : []
    if (row.length === 0) return [part]
    rows.push(row)
    const { url: _shown, ...said } = policy
    return [{ ...part, policy: { ...said, kind: policy.kind, message: policy.message } }]
  })
  const keyboard = rows.length === 0 ? undefined : { inline_keyboard: rows }
  return { reply: { ...reply, parts }, keyboard, cards }
}

/** Undefined: it is no question, or has a code that would not come back as it is. */
function approvalButtonCard(say: TelegramSay, { kind, code, choices, question, message }: Policy): Card | undefined {
  if (kind !== 'approval_required' || typeof code !== 'string' || !Array.isArray(choices)) return undefined
  const row = (['approve', 'reject'] as const).flatMap((decision) => {
    const value = choices.includes(decision) ? encodeButtonValue(decision, code) : undefined
    return value === undefined ? [] : [{ text: say(`telegram.${decision}`), callback_data: value }]
  })
  if (row.length === 0) return undefined
  return { text: typeof question === 'string' ? question : message, keyboard: { inline_keyboard: [row] } }
}

function linkButtons(say: TelegramSay, policy: Policy): Button[] {
  const { url, action_label: label } = policy
  if (typeof url !== 'string' || url.length > maxUrl || !URL.canParse(url)) return []
  const { protocol, username, password } = new URL(url)
  if (protocol !== 'https:' || username !== '' || password !== '') return []
  const text = typeof label === 'string' ? cleanName(label).slice(0, maxLabel).trim().toWellFormed() : ''
  return [{ text: text === '' ? say('telegram.open_link') : text, url }]
}

// The answer to a press on a button: a word to the person who pressed, and the buttons gone once there is nothing left to decide.
// Pure.

type ClickCall = { readonly call: TelegramCall; readonly primary: boolean }
type Click = NonNullable<TelegramReplyTo['reply_to_click']>

// Decided, here or before, or over. Any other answer leaves the buttons to those they are for: an unknown code may have
// been made up, for any message.
const settled: ReadonlySet<unknown> = new Set(['accepted', 'rejected', 'already_resolved', 'expired', 'changed'])

/** Long answers come as a message too: a press is told two hundred characters and no more. */
function clickAnswerCalls(reply: NormalizedResponse, to: TelegramReplyTo, click: Click): readonly ClickCall[] {
  const pieces = renderMessagePieces(replyTree(reply), reply.control)
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
