// Every answer of the Bot API that is not a success, as far as it is known: what it means, and in which other form the same call may
// pass. The first row that fits counts; what fits none is judged by its number. Telegram documents few of these
// sentences, and changes them: hence patterns.
import type { Fallback } from './ladder.ts'

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

const refusalRow = (code: number, said: RegExp, reason: string, ...instead: readonly Fallback[]): Refusal => ({
  code,
  said,
  means: 'refused',
  reason,
  ...(instead.length === 0 ? {} : { instead }),
})

const anyText = /^/

export const knownRefusals: readonly Refusal[] = [
  { code: 400, said: /message is not modified/i, means: 'done', reason: 'unmodified' },
  refusalRow(400, /upgraded to a supergroup/i, 'chat_migrated'),
  refusalRow(400, /chat not found|user not found|PEER_ID_INVALID|USER_ID_INVALID|CHAT_ID_INVALID/i, 'chat_not_found'),
  refusalRow(400, /chat_id is empty|chat is deactivated|INPUT_USER_DEACTIVATED/i, 'chat_not_found'),
  refusalRow(400, /thread not found|TOPIC_CLOSED|TOPIC_DELETED|TOPIC_ID_INVALID/i, 'topic_unavailable'),
  refusalRow(
    400,
    /repl(?:y|ied).*not found|REPLY_MESSAGE_ID_INVALID|QUOTE_TEXT_INVALID/i,
    'reply_gone',
    'without_reply',
  ),
  refusalRow(
    ...([
      400,
      /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|MESSAGE_EDIT_TIME_EXPIRED/i,
    ] as const),
    ...(['message_not_editable', 'as_new'] as const),
  ),
  refusalRow(400, /message identifier is not specified|inline_message_id/i, 'message_not_editable', 'as_new'),
  refusalRow(400, /too long|TOO_LONG/i, 'message_too_long', 'as_ranges'),
  refusalRow(400, /can't parse|ENTITY_|ENTITIES_|RICH_|rich message/i, 'render_rejected', 'as_ranges', 'plain'),
  refusalRow(400, /(?<!file )must be non-empty|text is empty|MESSAGE_EMPTY/i, 'render_rejected', 'as_ranges', 'plain'),
  refusalRow(400, /BUTTON_|REPLY_MARKUP_|inline keyboard|reply markup/i, 'buttons_rejected', 'without_buttons'),
  refusalRow(400, /query is too old|QUERY_ID_INVALID|query ID is invalid/i, 'query_expired'),
  refusalRow(400, /file is too big|FILE_PARTS_INVALID/i, 'file_too_large', 'as_text'),
  refusalRow(400, /rights to send|CHAT_SEND_\w+_FORBIDDEN|VOICE_MESSAGES_FORBIDDEN/i, 'not_allowed_in_chat', 'as_text'),
  refusalRow(400, /not enough rights|no rights|CHAT_WRITE_FORBIDDEN|CHAT_ADMIN_REQUIRED/i, 'not_allowed_in_chat'),
  refusalRow(
    400,
    /administrator rights|CHANNEL_PRIVATE|USER_BANNED_IN_CHANNEL|CHAT_RESTRICTED/i,
    'not_allowed_in_chat',
  ),
  refusalRow(
    ...([400, /PHOTO_|IMAGE_|VIDEO_|AUDIO_|MEDIA_|WEBPAGE_|web ?page|file|type of the/i] as const),
    ...(['file_not_accepted', 'as_document', 'as_text'] as const),
  ),
  refusalRow(400, /BUSINESS_|business connection/i, 'business_unavailable'),
  refusalRow(400, /PAYMENT|STARS|paid message/i, 'payment_required'),
  { code: 400, said: /logged out/i, means: 'pause', reason: 'bot_logged_out' },
  refusalRow(400, anyText, 'telegram_400', 'as_ranges'),
  { code: 401, said: anyText, means: 'pause', reason: 'token_revoked' },
  refusalRow(403, /blocked by the user/i, 'blocked_by_user'),
  refusalRow(403, /user is deactivated/i, 'user_deactivated'),
  refusalRow(403, /kicked|not a member|not enough rights|no rights|chat was deleted/i, 'not_allowed_in_chat'),
  refusalRow(403, /can't initiate conversation/i, 'not_started_by_user'),
  refusalRow(403, /messages to (?:other )?bots/i, 'bot_to_bot'),
  refusalRow(403, /PRIVACY_PREMIUM_REQUIRED|PAYMENT|paid message/i, 'payment_required'),
  refusalRow(404, anyText, 'telegram_404'),
  { code: 409, said: anyText, means: 'pause', reason: 'telegram_409' },
  refusalRow(413, anyText, 'file_too_large', 'as_text'),
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
