// Maps an answer of the Bot API to a delivery outcome. Nothing of an error but fixed words leaves this file: errors carry the token.
import { GrammyError, HttpError } from 'grammy/web'
import type { DeliveryResult } from '../../../src/contract/index.ts'
import { errorCode } from '../../../src/lib/index.ts'
import type { TelegramCall } from '../wire/calls.ts'
import { type Fallback, hasFallbackForm } from './fallbacks.ts'

// Failures of the dialling itself: not a byte of the call has left.
const notSent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** How long a bot rests whose token is refused: until then the operator may have set a new one. */
const pauseMs = 60_000

/** A refusal that another form of the same call, or another place, may not meet. */
export type FallbackDecision =
  | { readonly kind: 'step'; readonly step: Fallback; readonly reason: string }
  | { readonly kind: 'moved'; readonly to: number }
  /** The server is older than the method. */
  | { readonly kind: 'unknown_method' }

/** How a call was made. */
export type CallAttempt = {
  readonly call: TelegramCall
  readonly isEdit: boolean
  readonly taken: ReadonlySet<Fallback>
}

/** Undefined: the outcome is what it is. */
export function findFallback(error: unknown, { call, isEdit, taken }: CallAttempt): FallbackDecision | undefined {
  if (!(error instanceof GrammyError)) return undefined
  const to = error.parameters.migrate_to_chat_id
  if (to !== undefined) return { kind: 'moved', to }
  if (error.error_code === 404 && hasFallbackForm('as_ranges', call, isEdit)) return { kind: 'unknown_method' }
  const { reason, instead = [] } = classifyRefusal(error.error_code, error.description)
  const step = instead.find((each) => !taken.has(each) && hasFallbackForm(each, call, isEdit))
  return step === undefined ? undefined : { kind: 'step', step, reason }
}

export function telegramDeliveryOutcome(error: unknown, { call, isEdit }: CallAttempt): DeliveryResult {
  // Editing and answering a press again changes nothing, sending again shows twice.
  const unclear = isEdit || repeatable.has(call.method) ? 'retry' : 'unknown'
  if (!(error instanceof GrammyError)) {
    if (error instanceof HttpError && neverReachedTelegram(error.error))
      return { kind: 'retry', reason: 'telegram_unreachable' }
    return { kind: unclear, reason: 'no_readable_answer' }
  }
  const { means, reason } = classifyRefusal(error.error_code, error.description)
  switch (means) {
    case 'done':
      return { kind: 'delivered' }
    case 'wait':
      return { kind: 'retry', reason, afterMs: retryAfterMs(error), scope: 'conversation' }
    case 'pause':
      return { kind: 'retry', reason, afterMs: pauseMs, scope: 'connection' }
    case 'again':
      return { kind: 'retry', reason }
    case 'unclear':
      return { kind: unclear, reason }
    case 'refused':
      // What the press asked for has happened all the same, and a card that is gone has no buttons.
      return moot.has(call.method) && error.error_code === 400 ? { kind: 'delivered' } : { kind: 'refused', reason }
    default:
      return means satisfies never
  }
}

const repeatable: ReadonlySet<string> = new Set(['editMessageText', 'editMessageReplyMarkup', 'answerCallbackQuery'])
const moot: ReadonlySet<string> = new Set(['editMessageReplyMarkup', 'answerCallbackQuery'])

/** Without a number of Telegram's own: a second. */
export function retryAfterMs({ parameters }: GrammyError): number {
  return (parameters.retry_after ?? 1) * 1000
}

export function isUnmodifiedError(error: unknown): boolean {
  return error instanceof GrammyError && classifyRefusal(error.error_code, error.description).reason === 'unmodified'
}

function neverReachedTelegram(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof AggregateError) return cause.errors.every((each) => notSent.has(errorCode(each)))
  return notSent.has(errorCode(cause))
}

// Every answer of the Bot API that is not a success, as far as it is known: what it means, and in which other form the same call may
// pass. The first row that fits counts; what fits none is judged by its number. Telegram documents few of these
// sentences, and changes them: hence patterns.

/**
 * refused: for good. wait: after the time Telegram names. pause: nothing of this bot passes until the operator acts. done: it is as
 * it should be. again: it failed on their side, and nothing came of it. unclear: it may have been carried out.
 */
export type Meaning = 'refused' | 'wait' | 'pause' | 'done' | 'again' | 'unclear'

export type Refusal = {
  readonly code: number
  readonly said: RegExp
  readonly means: Meaning
  readonly reason: string
  /** Forms to try, in this order, as far as the call has them. */
  readonly instead?: readonly Fallback[]
}

const createRefusalRule = (code: number, said: RegExp, reason: string, ...instead: readonly Fallback[]): Refusal => ({
  code,
  said,
  means: 'refused',
  reason,
  ...(instead.length === 0 ? {} : { instead }),
})

const anyText = /^/

export const knownRefusals: readonly Refusal[] = [
  { code: 400, said: /message is not modified/i, means: 'done', reason: 'unmodified' },
  createRefusalRule(400, /upgraded to a supergroup/i, 'chat_migrated'),
  createRefusalRule(
    400,
    /chat not found|user not found|PEER_ID_INVALID|USER_ID_INVALID|CHAT_ID_INVALID/i,
    'chat_not_found',
  ),
  createRefusalRule(400, /chat_id is empty|chat is deactivated|INPUT_USER_DEACTIVATED/i, 'chat_not_found'),
  createRefusalRule(400, /thread not found|TOPIC_CLOSED|TOPIC_DELETED|TOPIC_ID_INVALID/i, 'topic_unavailable'),
  createRefusalRule(
    400,
    /repl(?:y|ied).*not found|REPLY_MESSAGE_ID_INVALID|QUOTE_TEXT_INVALID/i,
    'reply_gone',
    'without_reply',
  ),
  createRefusalRule(
    ...([
      400,
      /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|MESSAGE_EDIT_TIME_EXPIRED/i,
    ] as const),
    ...(['message_not_editable', 'as_new'] as const),
  ),
  createRefusalRule(400, /message identifier is not specified|inline_message_id/i, 'message_not_editable', 'as_new'),
  createRefusalRule(400, /too long|TOO_LONG/i, 'message_too_long', 'as_ranges'),
  createRefusalRule(400, /can't parse|ENTITY_|ENTITIES_|RICH_|rich message/i, 'render_rejected', 'as_ranges', 'plain'),
  createRefusalRule(
    400,
    /(?<!file )must be non-empty|text is empty|MESSAGE_EMPTY/i,
    'render_rejected',
    'as_ranges',
    'plain',
  ),
  createRefusalRule(400, /BUTTON_|REPLY_MARKUP_|inline keyboard|reply markup/i, 'buttons_rejected', 'without_buttons'),
  createRefusalRule(400, /query is too old|QUERY_ID_INVALID|query ID is invalid/i, 'query_expired'),
  createRefusalRule(400, /file is too big|FILE_PARTS_INVALID/i, 'file_too_large', 'as_text'),
  createRefusalRule(
    400,
    /rights to send|CHAT_SEND_\w+_FORBIDDEN|VOICE_MESSAGES_FORBIDDEN/i,
    'not_allowed_in_chat',
    'as_text',
  ),
  createRefusalRule(
    400,
    /not enough rights|no rights|CHAT_WRITE_FORBIDDEN|CHAT_ADMIN_REQUIRED/i,
    'not_allowed_in_chat',
  ),
  createRefusalRule(
    400,
    /administrator rights|CHANNEL_PRIVATE|USER_BANNED_IN_CHANNEL|CHAT_RESTRICTED/i,
    'not_allowed_in_chat',
  ),
  createRefusalRule(
    ...([400, /PHOTO_|IMAGE_|VIDEO_|AUDIO_|MEDIA_|WEBPAGE_|web ?page|file|type of the/i] as const),
    ...(['file_not_accepted', 'as_document', 'as_text'] as const),
  ),
  createRefusalRule(400, /BUSINESS_|business connection/i, 'business_unavailable'),
  createRefusalRule(400, /PAYMENT|STARS|paid message/i, 'payment_required'),
  { code: 400, said: /logged out/i, means: 'pause', reason: 'bot_logged_out' },
  createRefusalRule(400, anyText, 'telegram_400', 'as_ranges'),
  { code: 401, said: anyText, means: 'pause', reason: 'token_revoked' },
  createRefusalRule(403, /blocked by the user/i, 'blocked_by_user'),
  createRefusalRule(403, /user is deactivated/i, 'user_deactivated'),
  createRefusalRule(403, /kicked|not a member|not enough rights|no rights|chat was deleted/i, 'not_allowed_in_chat'),
  createRefusalRule(403, /can't initiate conversation/i, 'not_started_by_user'),
  createRefusalRule(403, /messages to (?:other )?bots/i, 'bot_to_bot'),
  createRefusalRule(403, /PRIVACY_PREMIUM_REQUIRED|PAYMENT|paid message/i, 'payment_required'),
  createRefusalRule(404, anyText, 'telegram_404'),
  { code: 409, said: anyText, means: 'pause', reason: 'telegram_409' },
  createRefusalRule(413, anyText, 'file_too_large', 'as_text'),
  { code: 420, said: anyText, means: 'wait', reason: 'rate_limited' },
  { code: 429, said: anyText, means: 'wait', reason: 'rate_limited' },
]

/** Said by what stands before the Bot API, of a call whose answer it did not get (RFC 9110 §15.6.3, §15.6.5): it may have arrived. */
const proxyErrorCodes: ReadonlySet<number> = new Set([502, 504])

/**
 * A number that is not in the table: a refusal where it says that the request is at fault; to be tried again where the Bot API says, in its
 * own form, that it failed itself; else the outcome is unknown.
 */
export function classifyRefusal(code: number, description: string): Refusal {
  const known = knownRefusals.find((each) => each.code === code && each.said.test(description))
  if (known !== undefined) return known
  const isOwnFailure = code >= 500 && code < 600 && !proxyErrorCodes.has(code) && typeof description === 'string'
  const means = code >= 400 && code < 500 ? 'refused' : isOwnFailure ? 'again' : 'unclear'
  return { code, said: anyText, means, reason: Number.isInteger(code) ? `telegram_${code}` : 'no_readable_answer' }
}
