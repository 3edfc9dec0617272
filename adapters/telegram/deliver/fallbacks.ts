// Fallbacks: what Telegram refused in one form is tried once in a plainer one. Each step is an attempt of its own, so that the ledger shows it;
// what is remembered here is only which form comes next, and forgetting it costs one more refusal.

import { LruMap } from '../../../src/lib/index.ts'
import { defuseMentionsAndCommands } from '../render/text.ts'
import type { AlbumCall, FileCall, TelegramCall, TextCall } from '../wire/calls.ts'

export type Fallback =
  | ('as_ranges' | 'plain' | 'as_new' | 'without_reply' | 'without_buttons')
  /** For files. */
  | ('as_document' | 'as_text')

const maxRemembered = 1000

export interface Fallbacks {
  /** The call in the form that is due. */
  due(outboxId: string, call: TelegramCall): TelegramCall
  taken(outboxId: string): ReadonlySet<Fallback>
  take(outboxId: string, step: Fallback): void
  move(from: number, to: number): void
  /** This server knows no rich messages. */
  forgoRich(): void
  done(outboxId: string): void
}

export function createFallbackMemory(): Fallbacks {
  const steps = new LruMap<string, ReadonlySet<Fallback>>(maxRemembered)
  const moved = new LruMap<number, number>(maxRemembered)
  let isWithoutRich = false
  return {
    due(outboxId, call) {
      const start = isWithoutRich ? applyFallback(call, 'as_ranges') : call
      const formed = [...(steps.get(outboxId) ?? [])].reduce(applyFallback, start)
      const to = callChatId(formed) === undefined ? undefined : moved.get(callChatId(formed) ?? 0)
      return to === undefined ? formed : moveCallToChat(formed, to)
    },
    taken: (outboxId) => steps.get(outboxId) ?? new Set(),
    take(outboxId, step) {
      steps.set(outboxId, new Set([...(steps.get(outboxId) ?? []), step]))
    },
    move(from, to) {
      moved.set(from, to)
    },
    forgoRich() {
      isWithoutRich = true
    },
    done: (outboxId) => void steps.delete(outboxId),
  }
}

export function callChatId(call: TelegramCall): number | undefined {
  return 'chat_id' in call.payload ? call.payload.chat_id : undefined
}

/** Whether a call has that other form. */
export function hasFallbackForm(step: Fallback, call: TelegramCall, isEdit: boolean): boolean {
  const isText = call.method === 'sendMessage'
  switch (step) {
    case 'as_ranges':
      return isText && call.rich !== undefined
    case 'plain':
      return isText && call.rich === undefined && call.payload.entities !== undefined
    case 'as_new':
      return isText && isEdit
    case 'without_reply':
      return 'reply_parameters' in call.payload
    case 'without_buttons':
      return isText && call.payload.reply_markup !== undefined
    case 'as_document':
      return isFileCall(call) && applyFallback(call, step) !== call
    case 'as_text':
      return isFileCall(call)
    default:
      return step satisfies never
  }
}

function isFileCall(call: TelegramCall): call is FileCall | AlbumCall {
  return 'file' in call || 'files' in call
}

/** Cast: only the number changes, the kind of call stays what it is. */
function moveCallToChat(call: TelegramCall, chatId: number): TelegramCall {
  return { ...call, payload: { ...call.payload, chat_id: chatId } } as TelegramCall
}

function applyFallback(call: TelegramCall, step: Fallback): TelegramCall {
  switch (step) {
    case 'as_ranges':
      return call.method === 'sendMessage' ? dropRichMessage(call) : call
    case 'plain':
      return call.method === 'sendMessage' ? dropFormatting(call) : call
    case 'as_new':
      return call.method === 'sendMessage' ? removeFinishesLiveFlag(call) : call
    case 'without_reply':
      return 'reply_parameters' in call.payload ? dropPayloadField(call, 'reply_parameters') : call
    case 'without_buttons':
      return 'reply_markup' in call.payload ? dropPayloadField(call, 'reply_markup') : call
    case 'as_document':
      return isFileCall(call) ? toDocumentCall(call) : call
    case 'as_text':
      return isFileCall(call) ? replaceFilesByText(call) : call
    default:
      return step satisfies never
  }
}

function dropRichMessage({ rich: _refused, ...call }: TextCall): TextCall {
  return call
}

function removeFinishesLiveFlag({ finishesLive: _gone, ...call }: TextCall): TextCall {
  return call
}

/** Cast: an optional field less, the kind of call stays what it is. */
function dropPayloadField(call: TelegramCall, field: 'reply_parameters' | 'reply_markup'): TelegramCall {
  const payload = Object.fromEntries(Object.entries(call.payload).filter(([name]) => name !== field))
  return { ...call, payload } as TelegramCall
}

function dropFormatting(call: TextCall): TextCall {
  const { entities: _refused, ...payload } = call.payload
  return { ...call, payload: { ...payload, text: defuseMentionsAndCommands(payload.text) } }
}

/** What Telegram cannot show it still carries. */
function toDocumentCall(call: FileCall | AlbumCall): FileCall | AlbumCall {
  if ('file' in call) return call.method === 'sendDocument' ? call : { ...call, method: 'sendDocument' }
  if (call.files.every(({ kind }) => kind === 'document')) return call
  return { ...call, files: call.files.map((file) => ({ ...file, kind: 'document' })) }
}

function replaceFilesByText(call: FileCall | AlbumCall): TextCall {
  const names = ('file' in call ? [call.file] : call.files).map(({ name }) => name).join(', ')
  const { caption, caption_entities: entities, ...place } = call.payload
  const note = defuseMentionsAndCommands(`[The file ${names} could not be sent: Telegram did not take it.]`)
  const text = caption === undefined ? note : `${caption}\n${note}`
  const ranges = entities === undefined ? {} : { entities }
  return { method: 'sendMessage', payload: { ...place, text, ...ranges, link_preview_options: { is_disabled: true } } }
}
