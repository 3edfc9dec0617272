// Every answer of the Bot API that is known, to what it means: the whole table, and what stands in no row of it.
import { GrammyError } from 'grammy/web'
import { describe, expect, test } from 'vitest'
import {
  classifyRefusal,
  findFallback,
  knownRefusals,
  telegramDeliveryOutcome,
} from '../../../../../adapters/telegram/deliver/outcome.ts'
import type { TelegramCall } from '../../../../../adapters/telegram/wire/calls.ts'

const payload = { chat_id: 5, text: 'x', link_preview_options: { is_disabled: true } } as const
const place = { reply_parameters: { message_id: 1, allow_sending_without_reply: true } } as const
const bold = { type: 'bold', offset: 0, length: 1 } as const
const keyboard = { inline_keyboard: [[{ text: 'Yes', callback_data: 'a:1' }]] }
const words: TelegramCall = { method: 'sendMessage', payload }
const full: TelegramCall = {
  method: 'sendMessage',
  payload: { ...payload, ...place, entities: [bold], reply_markup: keyboard },
}
const rich: TelegramCall = {
  ...full,
  rich: { blocks: [{ type: 'paragraph', text: 'x' }], skip_entity_detection: true },
}
const photo: TelegramCall = { method: 'sendPhoto', payload: { chat_id: 5 }, file: { attachment: 'a', name: 'n' } }
const press: TelegramCall = { method: 'answerCallbackQuery', payload: { callback_query_id: 'q' } }
const none = new Set<never>()

function errorOf(code: number, description: string, parameters = {}): GrammyError {
  return new GrammyError('failed', { ok: false, error_code: code, description, parameters }, 'sendMessage', {})
}

/** Told by whom, in its own words, and what becomes of plain words that meet it. */
const samples: readonly (readonly [number, string, string])[] = [
  [400, 'Bad Request: message is not modified: specified new message content', 'delivered'],
  [400, 'Bad Request: group chat was upgraded to a supergroup chat', 'refused chat_migrated'],
  [400, 'Bad Request: chat not found', 'refused chat_not_found'],
  [400, 'Bad Request: PEER_ID_INVALID', 'refused chat_not_found'],
  [400, 'Bad Request: private chat not found', 'refused chat_not_found'],
  [400, 'Bad Request: chat_id is empty', 'refused chat_not_found'],
  [400, 'Bad Request: message thread not found', 'refused topic_unavailable'],
  [400, 'Bad Request: TOPIC_CLOSED', 'refused topic_unavailable'],
  [400, 'Bad Request: TOPIC_DELETED', 'refused topic_unavailable'],
  [400, 'Bad Request: message to be replied not found', 'refused reply_gone'],
  [400, 'Bad Request: reply message not found', 'refused reply_gone'],
  [400, 'Bad Request: message to edit not found', 'refused message_not_editable'],
  [400, "Bad Request: message can't be edited", 'refused message_not_editable'],
  [400, 'Bad Request: message identifier is not specified', 'refused message_not_editable'],
  [400, 'Bad Request: message is too long', 'refused message_too_long'],
  [400, 'Bad Request: MEDIA_CAPTION_TOO_LONG', 'refused message_too_long'],
  [400, "Bad Request: can't parse entities: Unsupported start tag", 'refused render_rejected'],
  [400, 'Bad Request: ENTITY_BOUNDS_INVALID', 'refused render_rejected'],
  [400, 'Bad Request: text must be non-empty', 'refused render_rejected'],
  [400, 'Bad Request: message text is empty', 'refused render_rejected'],
  [400, 'Bad Request: BUTTON_DATA_INVALID', 'refused buttons_rejected'],
  [400, 'Bad Request: inline keyboard button URL is invalid', 'refused buttons_rejected'],
  [400, 'Bad Request: query is too old and response timeout expired or query ID is invalid', 'refused query_expired'],
  [400, 'Bad Request: file is too big', 'refused file_too_large'],
  [400, 'Bad Request: not enough rights to send text messages to the chat', 'refused not_allowed_in_chat'],
  [400, 'Bad Request: have no rights to send a message', 'refused not_allowed_in_chat'],
  [400, 'Bad Request: CHAT_WRITE_FORBIDDEN', 'refused not_allowed_in_chat'],
  [400, 'Bad Request: need administrator rights in the channel chat', 'refused not_allowed_in_chat'],
  [400, 'Bad Request: CHANNEL_PRIVATE', 'refused not_allowed_in_chat'],
  [400, 'Bad Request: PHOTO_INVALID_DIMENSIONS', 'refused file_not_accepted'],
  [400, 'Bad Request: IMAGE_PROCESS_FAILED', 'refused file_not_accepted'],
  [400, 'Bad Request: wrong type of the web page content', 'refused file_not_accepted'],
  [400, 'Bad Request: file must be non-empty', 'refused file_not_accepted'],
  [400, 'Bad Request: business connection not found', 'refused business_unavailable'],
  [400, 'Bad Request: ALLOW_PAYMENT_REQUIRED', 'refused payment_required'],
  [400, 'Logged out', 'retry bot_logged_out connection'],
  [400, 'Bad Request: SOMETHING_NEW', 'refused telegram_400'],
  [401, 'Unauthorized', 'retry token_revoked connection'],
  [403, 'Forbidden: bot was blocked by the user', 'refused blocked_by_user'],
  [403, 'Forbidden: user is deactivated', 'refused user_deactivated'],
  [403, 'Forbidden: bot was kicked from the supergroup chat', 'refused not_allowed_in_chat'],
  [403, 'Forbidden: bot is not a member of the channel chat', 'refused not_allowed_in_chat'],
  [403, 'Forbidden: the group chat was deleted', 'refused not_allowed_in_chat'],
  [403, "Forbidden: bot can't initiate conversation with a user", 'refused not_started_by_user'],
  [403, "Forbidden: bot can't send messages to bots", 'refused bot_to_bot'],
  [403, 'Forbidden: PRIVACY_PREMIUM_REQUIRED', 'refused payment_required'],
  [403, 'Forbidden: something new', 'refused telegram_403'],
  [404, 'Not Found', 'refused telegram_404'],
  [409, 'Conflict: terminated by other getUpdates request', 'retry telegram_409 connection'],
  [413, 'Request Entity Too Large', 'refused file_too_large'],
  [418, 'nobody knows', 'refused telegram_418'],
  [420, 'FLOOD', 'retry rate_limited conversation'],
  [429, 'Too Many Requests: retry after 7', 'retry rate_limited conversation'],
  [500, 'Internal Server Error', 'retry telegram_500'],
  [500, 'Internal Server Error: restart', 'retry telegram_500'],
  [503, 'Service Unavailable', 'retry telegram_503'],
  [502, 'Bad Gateway', 'unknown telegram_502'],
  [504, 'Gateway Timeout', 'unknown telegram_504'],
  [302, 'Found', 'unknown telegram_302'],
  [Number.NaN, '', 'unknown no_readable_answer'],
]

describe('what the Bot API says', () => {
  test.each(samples)('%s %s', (code, description, expected) => {
    const outcome = telegramDeliveryOutcome(errorOf(code, description), { call: words, isEdit: false, taken: none })
    const scope = 'scope' in outcome ? outcome.scope : undefined
    const shown = [outcome.kind, 'reason' in outcome ? outcome.reason : undefined, scope]
    expect(shown.filter((each) => each !== undefined).join(' ')).toBe(expected)
  })

  test('has a sample for every row of the table, which is the row that counts for it', () => {
    const met = new Set(samples.map(([code, description]) => classifyRefusal(code, description)))
    expect(knownRefusals.filter((row) => !met.has(row))).toEqual([])
  })

  test('is never a sentence of Telegram’s, which may carry anything', () => {
    for (const [code, description] of samples) {
      const outcome = telegramDeliveryOutcome(errorOf(code, description), { call: words, isEdit: false, taken: none })
      expect('reason' in outcome ? outcome.reason : 'ok').toMatch(/^[a-z0-9_]+$/)
    }
  })

  test('about an edit or a press that is unclear is a retry: repeating it changes nothing', () => {
    const fault = errorOf(500, 'Internal Server Error')
    expect(telegramDeliveryOutcome(fault, { call: words, isEdit: true, taken: none })).toMatchObject({ kind: 'retry' })
    expect(telegramDeliveryOutcome(fault, { call: press, isEdit: false, taken: none })).toMatchObject({ kind: 'retry' })
    const old = errorOf(400, 'Bad Request: query is too old')
    expect(telegramDeliveryOutcome(old, { call: press, isEdit: false, taken: none })).toEqual({ kind: 'delivered' })
  })

  test('waits as long as it asks for, and where there is a number, exactly that', () => {
    const limited = errorOf(429, 'Too Many Requests', { retry_after: 33 })
    expect(telegramDeliveryOutcome(limited, { call: words, isEdit: false, taken: none })).toMatchObject({
      afterMs: 33_000,
    })
  })
})

describe('another form of the same call', () => {
  const stepsOf = (call: TelegramCall, description: string, code = 400, isEdit = false): readonly string[] => {
    const taken = new Set<never>()
    const way = findFallback(errorOf(code, description), { call, isEdit, taken })
    return way === undefined ? [] : [way.kind === 'step' ? way.step : way.kind]
  }

  test.each<readonly [string, TelegramCall, string, string | undefined]>([
    ['rich words', rich, "can't parse entities", 'as_ranges'],
    ['words with ranges', full, "can't parse entities", 'plain'],
    ['plain words', words, "can't parse entities", undefined],
    ['words with buttons', full, 'BUTTON_DATA_INVALID', 'without_buttons'],
    ['words without buttons', words, 'BUTTON_DATA_INVALID', undefined],
    ['an answer to what is gone', full, 'message to be replied not found', 'without_reply'],
    ['a picture that cannot be read', photo, 'PHOTO_INVALID_DIMENSIONS', 'as_document'],
    ['a picture where none is allowed', photo, 'CHAT_SEND_PHOTOS_FORBIDDEN', 'as_text'],
    ['words for a chat that is not there', rich, 'chat not found', undefined],
  ])('%s', (_name, call, description, step) => {
    expect(stepsOf(call, description)).toEqual(step === undefined ? [] : [step])
  })

  test('is tried once', () => {
    const made = { call: full, isEdit: false, taken: new Set(['plain'] as const) }
    expect(findFallback(errorOf(400, "can't parse entities"), made)).toBeUndefined()
  })

  test('is a new message where the live one is gone', () => {
    expect(stepsOf(words, 'message to edit not found', 400, true)).toEqual(['as_new'])
    expect(stepsOf(words, 'message to edit not found')).toEqual([])
  })
})
