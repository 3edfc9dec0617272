// Bot API payloads as far as Parley reads them (core.telegram.org/bots/api); with its neighbours the only home of Telegram's
// field names.
import * as rules from '../../../src/verification/index.ts'

// Read before the acknowledgement: plain rules, which cost a fraction of a schema.

/** Ids pass 32 bits; as strings they survive every JSON reader exactly. */
const id = rules.mapped(rules.wholeNumber(), String)
/** Seconds; the bound is the largest instant a Date can hold. */
const seconds = rules.wholeNumber(0, 8_640_000_000_000)
/** Ids that Telegram makes of letters. */
const opaqueId = rules.textOf(1, 128)
const mayText = rules.optional(rules.text)

const user = rules.fieldsOf({
  id,
  is_bot: rules.otherwise(rules.flag, false),
  first_name: rules.otherwise(rules.text, ''),
  last_name: mayText,
  username: mayText,
  language_code: mayText,
})

const chat = rules.fieldsOf({
  id,
  type: rules.otherwise(rules.text, 'private'),
  title: mayText,
  username: mayText,
})

const entity = rules.fieldsOf({
  type: rules.text,
  offset: rules.wholeNumber(),
  length: rules.wholeNumber(),
  user: rules.optional(user),
  url: rules.lenient(rules.text),
  language: rules.lenient(rules.text),
})

const origin = rules.fieldsOf({
  sender_user: rules.optional(user),
  sender_user_name: mayText,
  sender_chat: rules.optional(chat),
  chat: rules.optional(chat),
})

/** Open: the fields of whatever it carries are read like those of a message. */
const parent = rules.looseFieldsOf({
  message_id: id,
  from: rules.optional(user),
  sender_chat: rules.lenient(chat),
  text: rules.lenient(rules.text),
  caption: rules.lenient(rules.text),
})

const message = rules.looseFieldsOf({
  message_id: id,
  date: seconds,
  edit_date: rules.optional(seconds),
  chat,
  from: rules.optional(user),
  sender_chat: rules.optional(chat),
  sender_business_bot: rules.optional(user),
  business_connection_id: rules.optional(opaqueId),
  guest_query_id: rules.optional(opaqueId),
  message_thread_id: rules.optional(id),
  /** Whose thread it is where people write to a channel: nothing can be sent there without it. */
  direct_messages_topic: rules.lenient(rules.fieldsOf({ topic_id: id })),
  is_topic_message: rules.optional(rules.flag),
  is_automatic_forward: rules.optional(rules.flag),
  media_group_id: rules.lenient(opaqueId),
  migrate_to_chat_id: rules.lenient(id),
  migrate_from_chat_id: rules.lenient(id),
  forward_origin: rules.optional(origin),
  reply_to_message: rules.optional(parent),
  external_reply: rules.lenient(rules.looseFieldsOf({ origin })),
  quote: rules.optional(rules.fieldsOf({ text: rules.text })),
  text: mayText,
  entities: rules.optional(rules.listOf(entity)),
  caption: mayText,
  caption_entities: rules.optional(rules.listOf(entity)),
})

/** A press on a button. The message it hangs on may be too old to be shown, or belong to no chat of ours. */
const click = rules.fieldsOf({
  id: opaqueId,
  from: user,
  message: rules.optional(
    rules.fieldsOf({
      message_id: id,
      chat,
      message_thread_id: rules.optional(id),
      is_topic_message: rules.optional(rules.flag),
      business_connection_id: rules.optional(opaqueId),
    }),
  ),
  inline_message_id: rules.optional(opaqueId),
  data: mayText,
})

const deleted = rules.fieldsOf({ business_connection_id: opaqueId, chat, message_ids: rules.listOf(id, 1000) })

const stopped = rules.fieldsOf({ chat, message_thread_id: rules.optional(id), draft_id: rules.wholeNumber() })

const membership = rules.fieldsOf({
  chat,
  from: user,
  date: seconds,
  new_chat_member: rules.fieldsOf({
    status: rules.text,
    is_member: rules.lenient(rules.flag),
    can_send_messages: rules.lenient(rules.flag),
  }),
})

/** What is not a message and cannot be read is kept as it came. */
export const readUpdate = rules.fieldsOf({
  update_id: id,
  message: rules.optional(message),
  edited_message: rules.optional(message),
  channel_post: rules.optional(message),
  edited_channel_post: rules.optional(message),
  business_message: rules.optional(message),
  edited_business_message: rules.optional(message),
  guest_message: rules.optional(message),
  callback_query: rules.lenient(click),
  deleted_business_messages: rules.lenient(deleted),
  stopped_message_generation: rules.lenient(stopped),
  my_chat_member: rules.lenient(membership),
})

export type TelegramUpdate = rules.Reading<typeof readUpdate>
export type TelegramMessage = rules.Reading<typeof message>
export type TelegramEntity = rules.Reading<typeof entity>
export type TelegramUser = rules.Reading<typeof user>
export type TelegramChat = rules.Reading<typeof chat>
export type TelegramClick = rules.Reading<typeof click>
export type TelegramOrigin = rules.Reading<typeof origin>
