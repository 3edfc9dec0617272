// Delivers one Bot API call. One call an attempt; what may be tried in another form is said to be a retry.
import type { Api } from 'grammy/web'
import type { Attempt, ChannelDeps, DeliveryResult, Sentence } from '../../../src/contract/index.ts'
import type { TelegramSettings } from '../config.ts'
import { openUpload } from '../files.ts'
import type { TelegramSay } from '../sentences.ts'
import { maxTextLength, type RichMessage, type TelegramCall, type TextCall } from '../wire/calls.ts'
import { type ChatRateLimit, containsBotToken, createBotApi, toClientSignal } from './bot-api.ts'
import { callChatId, createFallbackMemory, type Fallback, type Fallbacks } from './fallbacks.ts'
import { type FallbackDecision, findFallback, isUnmodifiedError, telegramDeliveryOutcome } from './outcome.ts'

type DeliverDeps = Pick<ChannelDeps, 'fetch' | 'files' | 'closedRooms'> & { readonly say: TelegramSay }

export function deliverTelegram(
  settings: TelegramSettings,
  deps: DeliverDeps,
  pace: ChatRateLimit,
): (call: TelegramCall, attempt: Attempt) => Promise<DeliveryResult> {
  const api = createBotApi(settings, deps)
  const fallbacks = createFallbackMemory()
  return async (given, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    const call = fallbacks.due(attempt.outboxId, given)
    if (containsBotToken(settings, call)) return { kind: 'refused', reason: 'text_contains_credential' }
    const closed = await findClosedChatReason(deps, call, attempt)
    if (closed !== undefined) return { kind: 'refused', reason: `place_closed:${closed}` }
    const edited = call.method === 'sendMessage' && call.finishesLive === true ? attempt.liveReference : undefined
    if (attempt.mustEdit === true && edited === undefined) return { kind: 'refused', reason: 'cannot_be_edited' }
    const waitMs = isSendMethod(call) && edited === undefined ? pace.waitMs(callChatId(call) ?? 0) : 0
    if (waitMs > 0) return { kind: 'retry', reason: 'group_limit', afterMs: waitMs, scope: 'conversation' }
    try {
      const sent = await callBotApi(api, call, { deps, attempt, edited })
      if (sent.kind === 'delivered') fallbacks.done(attempt.outboxId)
      // Of an album every item counts.
      for (let said = countMessagesOfCall(call); said > 0; said -= 1) pace.count(callChatId(call) ?? 0)
      return sent
    } catch (error) {
      if (isUnmodifiedError(error)) return { kind: 'delivered', ...receiptOfUnchangedEdit(call, edited) }
      const taken = fallbacks.taken(attempt.outboxId)
      const made = {
        call,
        isEdit: edited !== undefined,
        taken: attempt.mustEdit === true ? new Set<Fallback>([...taken, 'as_new']) : taken,
      }
      return (
        applyFallbackDecision(fallbacks, attempt, findFallback(error, made), call) ??
        addRateLimitScope(pace, call, telegramDeliveryOutcome(error, made))
      )
    }
  }
}

/** Known to take nothing: nothing is asked for there. A chat of a business account is not the bot's own. */
async function findClosedChatReason(
  { closedRooms }: Pick<ChannelDeps, 'closedRooms'>,
  call: TelegramCall,
  { runId }: Attempt,
): Promise<string | undefined> {
  const chatId = callChatId(call)
  if (closedRooms === undefined || chatId === undefined || 'business_connection_id' in call.payload) return undefined
  // A store that does not answer must not keep a reply back: Telegram refuses it if need be.
  return closedRooms.closed(String(chatId), runId).catch(() => undefined)
}

/** What holds for many chats at once holds for the bot. */
function addRateLimitScope(pace: ChatRateLimit, call: TelegramCall, outcome: DeliveryResult): DeliveryResult {
  const chatId = callChatId(call)
  if (outcome.kind !== 'retry' || outcome.reason !== 'rate_limited' || chatId === undefined) return outcome
  return { ...outcome, scope: pace.hush(chatId, outcome.afterMs ?? 0) }
}

function isSendMethod({ method }: TelegramCall): boolean {
  return method.startsWith('send')
}

function countMessagesOfCall(call: TelegramCall): number {
  if (call.method === 'sendMediaGroup') return call.files.length
  return isSendMethod(call) ? 1 : 0
}

/** Undefined: there is no other form, or it was tried. */
function applyFallbackDecision(
  fallbacks: Fallbacks,
  { outboxId }: Attempt,
  way: FallbackDecision | undefined,
  call: TelegramCall,
): DeliveryResult | undefined {
  switch (way?.kind) {
    case undefined:
      return undefined
    case 'step':
      fallbacks.take(outboxId, way.step)
      return { kind: 'retry', reason: way.reason, afterMs: 0 }
    case 'unknown_method':
      fallbacks.forgoRich()
      return { kind: 'retry', reason: 'rich_unknown', afterMs: 0 }
    case 'moved': {
      const from = callChatId(call)
      if (from === undefined || from === way.to) return undefined
      fallbacks.move(from, way.to)
      return { kind: 'retry', reason: 'chat_migrated', afterMs: 0 }
    }
  }
}

type CallDeps = {
  readonly deps: DeliverDeps
  readonly attempt: Attempt
  /** The live message this call finishes. */
  readonly edited: string | undefined
}

async function callBotApi(api: Api, call: TelegramCall, { deps, attempt, edited }: CallDeps): Promise<DeliveryResult> {
  const signal = toClientSignal(attempt.signal)
  switch (call.method) {
    case 'sendMessage':
      if (edited !== undefined) return finishLiveEdit(api, call, edited, attempt)
      return sendTextMessage(
        api,
        call,
        attempt,
        attempt.isMaybeRepeat ? deps.say('telegram.possibly_repeated') : undefined,
      )
    case 'editMessageText':
      await api.raw.editMessageText(call.payload, signal)
      return toDeliveredOutcome(call.payload)
    case 'sendPhoto':
    case 'sendVideo':
    case 'sendAnimation':
    case 'sendAudio':
    case 'sendVoice':
    case 'sendDocument':
    case 'sendMediaGroup': {
      const upload = await openUpload(call, deps.files)
      if (upload.kind !== 'opened') return upload
      const vendorId = await upload.send(api, signal)
      return { kind: 'delivered', ...(vendorId === undefined ? {} : { vendorId }) }
    }
    case 'answerCallbackQuery':
      await api.raw.answerCallbackQuery(call.payload, signal)
      return { kind: 'delivered' }
    case 'editMessageReplyMarkup':
      await api.raw.editMessageReplyMarkup(call.payload, signal)
      return { kind: 'delivered' }
    case 'answerGuestQuery': {
      const { guest_query_id, text, entities } = call.payload
      const content = {
        message_text: text,
        ...(entities === undefined ? {} : { entities }),
        link_preview_options: { is_disabled: true },
      }
      const result = {
        type: 'article',
        id: '1',
        title: deps.say('telegram.guest_answer'),
        input_message_content: content,
      } as const
      await api.raw.answerGuestQuery({ guest_query_id, result }, signal)
      return { kind: 'delivered' }
    }
    default:
      return call satisfies never
  }
}

function receiptOfUnchangedEdit(call: TelegramCall, edited: string | undefined): { readonly vendorId?: string } {
  if (edited !== undefined) return { vendorId: edited }
  return call.method === 'editMessageText' ? { vendorId: String(call.payload.message_id) } : {}
}

// Words go as a message or as the end of a live one, rich where the call has a rich form.

type RichPayload = Parameters<Api['raw']['sendRichMessage']>[0]['rich_message']

async function sendTextMessage(
  api: Api,
  call: TextCall,
  attempt: Attempt,
  mark: Sentence | undefined,
): Promise<DeliveryResult> {
  const signal = toClientSignal(attempt.signal)
  if (call.rich === undefined)
    return toDeliveredOutcome(await api.raw.sendMessage(addRepeatNotice(call.payload, mark), signal))
  const { text: _words, entities: _ranges, link_preview_options: _preview, ...place } = call.payload
  const rich_message = addRichRepeatNotice(call.rich, mark)
  return toDeliveredOutcome(await api.raw.sendRichMessage({ ...place, rich_message }, signal))
}

/** The growing message becomes the reply; where it stands and what it answers it has said when it was opened. */
async function finishLiveEdit(
  api: Api,
  { payload, rich }: TextCall,
  reference: string,
  attempt: Attempt,
): Promise<DeliveryResult> {
  const {
    message_thread_id: _topic,
    direct_messages_topic_id: _direct,
    reply_parameters: _answered,
    ...words
  } = payload
  const { text: _words, entities: _ranges, link_preview_options: _preview, ...place } = words
  const content = rich === undefined ? words : { ...place, rich_message: addRichRepeatNotice(rich, undefined) }
  const message_id = Number(reference)
  await api.raw.editMessageText({ ...content, message_id }, toClientSignal(attempt.signal))
  return toDeliveredOutcome({ message_id })
}

function toDeliveredOutcome({ message_id }: { readonly message_id: number }): DeliveryResult {
  return { kind: 'delivered', vendorId: String(message_id) }
}

/** A repeat says so where there is room; entities move along with the text. */
function addRepeatNotice(payload: TextCall['payload'], said: Sentence | undefined): TextCall['payload'] {
  const mark = `${said}\n`
  if (said === undefined || payload.text.length + mark.length > maxTextLength) return payload
  const entities = payload.entities?.map((entity) => ({ ...entity, offset: entity.offset + mark.length }))
  return { ...payload, text: mark + payload.text, ...(entities === undefined ? {} : { entities }) }
}

/** Cast: our blocks are read-only, the client's types are not. */
function addRichRepeatNotice({ blocks, ...rest }: RichMessage, said: Sentence | undefined): RichPayload {
  return {
    ...rest,
    blocks: said === undefined ? blocks : [{ type: 'paragraph', text: said }, ...blocks],
  } as unknown as RichPayload
}
