// What the Bot API's answers mean (slack 3.15). Nothing of an error but fixed words leaves this file: errors carry the token.
import { GrammyError, HttpError } from 'grammy/web'
import type { DeliveryOutcome } from '../../../src/contract/index.ts'
import type { TelegramCall } from '../wire/call.ts'
import type { Step } from './ladder.ts'

// Failures of the dialling itself: not a byte of the call has left.
const notSent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** Refusals by what Telegram says; anything else is named by its number. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/chat not found|PEER_ID_INVALID/i, 'chat_not_found'],
  [/upgraded to a supergroup/i, 'chat_migrated'],
  [/thread not found|TOPIC_CLOSED|TOPIC_DELETED/i, 'topic_unavailable'],
  [/message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i, 'message_not_editable'],
  [/too long/i, 'message_too_long'],
  [/can't parse entities|must be non-empty/i, 'render_rejected'],
  [/blocked by the user/i, 'blocked_by_user'],
  [/user is deactivated/i, 'user_deactivated'],
  [/kicked|not a member|not enough rights|have no rights/i, 'not_allowed_in_chat'],
  [/file is too big|Entity Too Large/i, 'file_too_large'],
  [/PHOTO_|IMAGE_PROCESS_FAILED|wrong type of the web page/i, 'file_not_accepted'],
]

/** A refusal that another form of the same call, or another place, may not meet. */
export type Way =
  | { readonly kind: 'step'; readonly step: Step; readonly reason: string }
  | { readonly kind: 'moved'; readonly to: number }
  /** The server is older than the method. */
  | { readonly kind: 'unknown_method' }

/** Undefined: the outcome is what it is. */
export function wayOn(error: unknown, call: TelegramCall, isEdit: boolean): Way | undefined {
  if (!(error instanceof GrammyError) || error.error_code === 429 || error.error_code >= 500) return undefined
  const to = error.parameters.migrate_to_chat_id
  if (to !== undefined) return { kind: 'moved', to }
  if (error.error_code === 404 && isRich(call)) return { kind: 'unknown_method' }
  const reason = refusalOf(error)
  const step = stepAfter(reason, call, isEdit)
  return step === undefined ? undefined : { kind: 'step', step, reason }
}

/** A refusal of what is said, not of saying it there. */
const mayBeForm: ReadonlySet<string> = new Set(['render_rejected', 'message_too_long', 'telegram_400'])

function isRich(call: TelegramCall): boolean {
  return call.method === 'sendMessage' && call.rich !== undefined
}

function stepAfter(reason: string, call: TelegramCall, isEdit: boolean): Step | undefined {
  if (isRich(call) && mayBeForm.has(reason)) return 'as_ranges'
  if (reason === 'render_rejected' && call.method === 'sendMessage' && call.payload.entities !== undefined)
    return 'plain'
  if (reason === 'message_not_editable' && isEdit && call.method === 'sendMessage') return 'as_new'
  if (!('file' in call)) return undefined
  if (reason === 'file_not_accepted' && call.method === 'sendPhoto') return 'as_document'
  return reason === 'file_too_large' || reason === 'file_not_accepted' ? 'as_text' : undefined
}

export function outcomeOf(error: unknown, call: TelegramCall, isEdit: boolean): DeliveryOutcome {
  // Editing and answering a press again changes nothing, sending again shows twice.
  const ambiguous = isEdit || repeatable.has(call.method) ? 'retry' : 'unknown'
  if (error instanceof GrammyError) return apiOutcome(error, call, ambiguous)
  if (error instanceof HttpError && wasNotSent(error.error)) return { kind: 'retry', reason: 'telegram_unreachable' }
  return { kind: ambiguous, reason: 'no_readable_answer' }
}

const repeatable: ReadonlySet<string> = new Set(['editMessageText', 'editMessageReplyMarkup', 'answerCallbackQuery'])

function apiOutcome(error: GrammyError, call: TelegramCall, ambiguous: 'retry' | 'unknown'): DeliveryOutcome {
  const { error_code: code } = error
  if (code === 429) {
    return { kind: 'retry', reason: 'rate_limited', afterMs: retryAfterMs(error), scope: 'conversation' }
  }
  if (code >= 500) return { kind: ambiguous, reason: `telegram_${code}` }
  if (code === 401) return { kind: 'refused', reason: 'token_revoked' }
  // What the press asked for has happened all the same, and a card that is gone has no buttons.
  const isMoot = call.method === 'answerCallbackQuery' || call.method === 'editMessageReplyMarkup'
  if (isMoot && code === 400) return { kind: 'delivered' }
  return { kind: 'refused', reason: refusalOf(error) }
}

/** Without a number of Telegram's own: a second. */
export function retryAfterMs({ parameters }: GrammyError): number {
  return (parameters.retry_after ?? 1) * 1000
}

export function isUnmodified(error: unknown): boolean {
  return error instanceof GrammyError && /message is not modified/i.test(error.description)
}

function refusalOf({ error_code: code, description }: GrammyError): string {
  const known = refusals.find(([pattern]) => pattern.test(description))
  return known?.[1] ?? (code === 413 ? 'file_too_large' : `telegram_${code}`)
}

function wasNotSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError) return cause.errors.every((each) => notSent.has(codeOf(each)))
  return notSent.has(codeOf(cause))
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
