// Text in pieces Telegram takes. Formatting goes beside the text as entities, so nothing in the text can become markup. Pure.
import type { NormalizedResponse } from '../../../src/contract/index.ts'
import { plainTree, type Root } from '../../../src/markdown/index.ts'
import {
  maxTextLength,
  type Place,
  type TelegramCall,
  type TelegramReplyTo,
  type TextCall,
  type TextPayload,
} from '../wire/calls.ts'
import { chunkTreeIntoEntityPieces, type EntityChunk, type EntityPiece } from './entities.ts'

// What Telegram would by itself turn into a notification of a person or a command to tap, and never less than TDLib's own
// patterns find (test/interop/tdlib).
const names = String.raw`(?<![\p{L}\p{N}_])@\w{2,32}(?!\w)`
const commandPatternExcept = (tapped: string): string =>
  String.raw`(?<![\p{L}\p{N}_/<>])\/(?!(?:${tapped})(?![\w@]))\w{1,64}(?:@\w{3,32})?(?![\p{L}\p{N}_/<>])`
const tappable = new RegExp(`${names}|${commandPatternExcept('(?!)')}`, 'gu')

// Commands of the gateway stay commands: those that only look or stop in all words, those that decide only in its own.
const harmless = 'stop|status|help|new|agents'
const deciding = String.raw`(?:approve|reject)(?:_[0-9a-f]{6,36})?|pair|consent(?:_\w+)?`
const inertForAgents = new RegExp(`${names}|${commandPatternExcept(harmless)}`, 'gu')
const inertForGateway = new RegExp(`${names}|${commandPatternExcept(`${harmless}|${deciding}`)}`, 'gu')
/** What the operator wrote about an agent is all there is beside the gateway's own words. */
const inertInHelp = new RegExp(names, 'gu')

// The server refuses longer input before it looks at it, and honours about a hundred entities.
const limits = { limit: maxTextLength, maxRanges: 100, maxBytes: 32_768 }

export function renderMessagePieces(tree: Root, control?: NormalizedResponse['control']): readonly EntityPiece[] {
  return renderMessageChunks(tree, control).map(({ piece }) => piece)
}

/** Each piece with the blocks it says. `control`: they are the gateway's own words. */
export function renderMessageChunks(tree: Root, control?: NormalizedResponse['control']): readonly EntityChunk[] {
  const inert = control === undefined ? inertForAgents : control.about === 'help' ? inertInHelp : inertForGateway
  return chunkTreeIntoEntityPieces(tree, { ...limits, inert })
}

/** The words alone, with nothing in them that could be tapped; as long as they were. */
export function defuseMentionsAndCommands(text: string): string {
  return text.replace(tappable, (name) => name.replaceAll('@', '\uff20').replaceAll('/', '\u2044'))
}

export function textPayload({ text, entities }: EntityPiece, to: TelegramReplyTo): TextPayload {
  return {
    chat_id: Number(to.chat_id),
    text,
    link_preview_options: { is_disabled: true },
    ...(entities.length === 0 ? {} : { entities: [...entities] }),
    ...(to.business_connection_id === undefined ? {} : { business_connection_id: to.business_connection_id }),
  }
}

export function appendLineToTelegramCall(call: TelegramCall, words: string): TelegramCall {
  if (call.method !== 'sendMessage') return call
  const { payload, rich } = call
  const [line = { text: '', entities: [] }] = renderMessagePieces(plainTree(words))
  const before = `${payload.text}\n\n`
  const text = before + line.text
  if (text.length > maxTextLength) return { ...call, finishesLive: true }
  const moved = line.entities.map((entity) => ({ ...entity, offset: entity.offset + before.length }))
  const entities = [...(payload.entities ?? []), ...moved]
  return {
    ...call,
    finishesLive: true,
    payload: { ...payload, text, ...(entities.length === 0 ? {} : { entities }) },
    ...(rich === undefined ? {} : { rich: { ...rich, blocks: [...rich.blocks, { type: 'paragraph', text: words }] } }),
  }
}

/** The part of a chat it goes to. */
export function threadFields({
  message_thread_id: topic,
  direct_messages_topic_id: direct,
}: Pick<TelegramReplyTo, 'message_thread_id' | 'direct_messages_topic_id'>): Place {
  return {
    ...(topic === undefined ? {} : { message_thread_id: Number(topic) }),
    ...(direct === undefined ? {} : { direct_messages_topic_id: Number(direct) }),
  }
}

/** Only the first piece points at what it answers. */
export function textMessageCall(piece: EntityPiece, to: TelegramReplyTo, isFirst: boolean): TextCall {
  const answered = isFirst ? (to.reply_to_message_id ?? to.reply_to_click?.message_id) : undefined
  return {
    method: 'sendMessage',
    payload: {
      ...textPayload(piece, to),
      ...threadFields(to),
      ...(answered === undefined
        ? {}
        : { reply_parameters: { message_id: Number(answered), allow_sending_without_reply: true } }),
    },
  }
}
