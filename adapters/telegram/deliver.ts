// Hop 8: one Bot API call to what became of it (slack 3.15). Errors of the client carry the token, so none leaves this file.
import { Api, GrammyError, HttpError } from 'grammy/web'
import type { Attempt, ChannelDeps, DeliveryOutcome } from '../../src/contract/index.ts'
import { botIdOf, type TelegramSettings } from './config.ts'
import { openUpload } from './files/send.ts'
import { maxTextLength, type TelegramCall } from './wire.ts'

export const callTimeoutMs = 9000

const repeatMark = 'Possibly sent before:\n'
// Failures of the dialling itself: not a byte of the call has left.
const notSent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** Refusals by what Telegram says; anything else is named by its number. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/chat not found|PEER_ID_INVALID/i, 'chat_not_found'],
  [/upgraded to a supergroup/i, 'chat_migrated'],
  [/thread not found|TOPIC_CLOSED|TOPIC_DELETED/i, 'topic_unavailable'],
  [/message to edit not found|message can't be edited/i, 'message_not_editable'],
  [/too long/i, 'message_too_long'],
  [/can't parse entities|must be non-empty/i, 'render_rejected'],
  [/blocked by the user/i, 'blocked_by_user'],
  [/user is deactivated/i, 'user_deactivated'],
  [/kicked|not a member|not enough rights|have no rights/i, 'not_allowed_in_chat'],
  [/file is too big|PHOTO_INVALID|IMAGE_PROCESS_FAILED/i, 'file_not_accepted'],
]

/** Grammy's web build runs on the platform's own fetch and abort signals, on Node and on Workers alike. */
export function telegramApi(settings: TelegramSettings, deps: Pick<ChannelDeps, 'fetch'>): Api {
  return new Api(settings.botToken.reveal(), {
    apiRoot: settings.apiRoot,
    fetch: (input: RequestInfo | URL, init?: RequestInit) => deps.fetch(input, init),
    timeoutSeconds: callTimeoutMs / 1000,
  })
}

export function deliverTelegram(
  settings: TelegramSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'files'>,
): (call: TelegramCall, attempt: Attempt) => Promise<DeliveryOutcome> {
  const api = telegramApi(settings, deps)
  return async (call, attempt) => {
    if (attempt.signal.aborted) return { kind: 'retry', reason: 'aborted_before_sending' }
    if (saysCredential(settings, call)) return { kind: 'refused', reason: 'text_contains_credential' }
    try {
      if (!('file' in call)) return { kind: 'delivered', vendorId: await send(api, call, attempt) }
      const upload = await openUpload(call, deps.files)
      if (upload.kind !== 'opened') return upload
      // The client's types name a polyfill for old runtimes; its web build takes the platform's own signal.
      return { kind: 'delivered', vendorId: await upload.send(api, attempt.signal as unknown as ClientSignal) }
    } catch (error) {
      return outcomeOf(error, call)
    }
  }
}

function saysCredential(settings: TelegramSettings, call: TelegramCall): boolean {
  // Links stand beside the text.
  const said = 'file' in call ? call.file.name : call.payload.text + JSON.stringify(call.payload.entities ?? [])
  return said.includes(settings.botToken.reveal()) || said.includes(`/bot${botIdOf(settings)}:`)
}

export type ClientSignal = NonNullable<Parameters<Api['raw']['getMe']>[0]>

async function send(
  api: Api,
  call: Exclude<TelegramCall, { readonly file: unknown }>,
  attempt: Attempt,
): Promise<string> {
  const signal = attempt.signal as unknown as ClientSignal
  switch (call.method) {
    case 'sendMessage': {
      const sent = await api.raw.sendMessage(marked(call.payload, attempt.isMaybeRepeat), signal)
      return String(sent.message_id)
    }
    case 'editMessageText':
      await api.raw.editMessageText(call.payload, signal)
      return String(call.payload.message_id)
    default:
      return call satisfies never
  }
}

function outcomeOf(error: unknown, call: TelegramCall): DeliveryOutcome {
  // Editing again changes nothing, sending again shows twice.
  const ambiguous = call.method === 'editMessageText' ? 'retry' : 'unknown'
  if (error instanceof GrammyError) return apiOutcome(error, call, ambiguous)
  if (error instanceof HttpError && wasNotSent(error.error)) return { kind: 'retry', reason: 'telegram_unreachable' }
  return { kind: ambiguous, reason: 'no_readable_answer' }
}

function apiOutcome(error: GrammyError, call: TelegramCall, ambiguous: 'retry' | 'unknown'): DeliveryOutcome {
  const { error_code: code, description } = error
  if (code === 429) {
    const seconds = error.parameters.retry_after ?? 1
    return { kind: 'retry', reason: 'rate_limited', afterMs: seconds * 1000, scope: 'conversation' }
  }
  if (code >= 500) return { kind: ambiguous, reason: `telegram_${code}` }
  if (call.method === 'editMessageText' && /message is not modified/i.test(description)) {
    return { kind: 'delivered', vendorId: String(call.payload.message_id) }
  }
  if (code === 401) return { kind: 'refused', reason: 'token_revoked' }
  const known = refusals.find(([pattern]) => pattern.test(description))
  return { kind: 'refused', reason: known?.[1] ?? `telegram_${code}` }
}

function wasNotSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError) return cause.errors.every((each) => notSent.has(codeOf(each)))
  return notSent.has(codeOf(cause))
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

type SendPayload = Extract<TelegramCall, { method: 'sendMessage' }>['payload']

/** A repeat says so where there is room; entities move along with the text. */
function marked(payload: SendPayload, isMaybeRepeat: boolean): SendPayload {
  if (!isMaybeRepeat || payload.text.length + repeatMark.length > maxTextLength) return payload
  const entities = payload.entities?.map((entity) => ({ ...entity, offset: entity.offset + repeatMark.length }))
  return { ...payload, text: repeatMark + payload.text, ...(entities === undefined ? {} : { entities }) }
}
