// Bot API payloads as far as Parley reads them (core.telegram.org/bots/api); with its neighbours the only home of Telegram's
// field names.
import * as rules from '../../../src/lib/index.ts'

// Read before the acknowledgement: plain rules, which cost a fraction of a schema.

/** Ids pass 32 bits; as strings they survive every JSON reader exactly. */
const id = rules.wireMapped(rules.wireInteger(), String)
/** Seconds; the bound is the largest instant a Date can hold. */
const seconds = rules.wireInteger(0, 8_640_000_000_000)
/** Ids that Telegram makes of letters. */
const opaqueId = rules.wireStringOfLength(1, 128)
const mayText = rules.wireOptional(rules.wireString)

const user = rules.wireObject({
  id,
  is_bot: rules.wireDefault(rules.wireBoolean, false),
  first_name: rules.wireDefault(rules.wireString, ''),
  last_name: mayText,
  username: mayText,
  language_code: mayText,
})

const chat = rules.wireObject({
  id,
  type: rules.wireDefault(rules.wireString, 'private'),
  title: mayText,
  username: mayText,
})

const entity = rules.wireObject({
  type: rules.wireString,
  offset: rules.wireInteger(),
  length: rules.wireInteger(),
  user: rules.wireOptional(user),
  url: rules.wireLenient(rules.wireString),
  language: rules.wireLenient(rules.wireString),
})

const origin = rules.wireObject({
  sender_user: rules.wireOptional(user),
  sender_user_name: mayText,
  sender_chat: rules.wireOptional(chat),
  chat: rules.wireOptional(chat),
})

/** Open: the fields of whatever it carries are read like those of a message. */
const parent = rules.wireLooseObject({
  message_id: id,
  from: rules.wireOptional(user),
  sender_chat: rules.wireLenient(chat),
  text: rules.wireLenient(rules.wireString),
  caption: rules.wireLenient(rules.wireString),
})

const message = rules.wireLooseObject({
  message_id: id,
  date: seconds,
  edit_date: rules.wireOptional(seconds),
  chat,
  from: rules.wireOptional(user),
  sender_chat: rules.wireOptional(chat),
  sender_business_bot: rules.wireOptional(user),
  business_connection_id: rules.wireOptional(opaqueId),
  guest_query_id: rules.wireOptional(opaqueId),
  message_thread_id: rules.wireOptional(id),
  /** Whose thread it is where people write to a channel: nothing can be sent there without it. */
  direct_messages_topic: rules.wireLenient(rules.wireObject({ topic_id: id })),
  is_topic_message: rules.wireOptional(rules.wireBoolean),
  is_automatic_forward: rules.wireOptional(rules.wireBoolean),
  media_group_id: rules.wireLenient(opaqueId),
  migrate_to_chat_id: rules.wireLenient(id),
  migrate_from_chat_id: rules.wireLenient(id),
  forward_origin: rules.wireOptional(origin),
  reply_to_message: rules.wireOptional(parent),
  external_reply: rules.wireLenient(rules.wireLooseObject({ origin })),
  quote: rules.wireOptional(rules.wireObject({ text: rules.wireString })),
  text: mayText,
  entities: rules.wireOptional(rules.wireArray(entity)),
  caption: mayText,
  caption_entities: rules.wireOptional(rules.wireArray(entity)),
})

/** A press on a button. The message it hangs on may be too old to be shown, or belong to no chat of ours. */
const click = rules.wireObject({
  id: opaqueId,
  from: user,
  message: rules.wireOptional(
    rules.wireObject({
      message_id: id,
      chat,
      message_thread_id: rules.wireOptional(id),
      is_topic_message: rules.wireOptional(rules.wireBoolean),
      business_connection_id: rules.wireOptional(opaqueId),
    }),
  ),
  inline_message_id: rules.wireOptional(opaqueId),
  data: mayText,
})

const deleted = rules.wireObject({ business_connection_id: opaqueId, chat, message_ids: rules.wireArray(id, 1000) })

const stopped = rules.wireObject({ chat, message_thread_id: rules.wireOptional(id), draft_id: rules.wireInteger() })

const membership = rules.wireObject({
  chat,
  from: user,
  date: seconds,
  new_chat_member: rules.wireObject({
    status: rules.wireString,
    is_member: rules.wireLenient(rules.wireBoolean),
    can_send_messages: rules.wireLenient(rules.wireBoolean),
  }),
})

/** What is not a message and cannot be read is kept as it came. */
export const readUpdate = rules.wireObject({
  update_id: id,
  message: rules.wireOptional(message),
  edited_message: rules.wireOptional(message),
  channel_post: rules.wireOptional(message),
  edited_channel_post: rules.wireOptional(message),
  business_message: rules.wireOptional(message),
  edited_business_message: rules.wireOptional(message),
  guest_message: rules.wireOptional(message),
  callback_query: rules.wireLenient(click),
  deleted_business_messages: rules.wireLenient(deleted),
  stopped_message_generation: rules.wireLenient(stopped),
  my_chat_member: rules.wireLenient(membership),
})

export type TelegramUpdate = rules.Reading<typeof readUpdate>
export type TelegramMessage = rules.Reading<typeof message>
export type TelegramEntity = rules.Reading<typeof entity>
export type TelegramUser = rules.Reading<typeof user>
export type TelegramChat = rules.Reading<typeof chat>
export type TelegramClick = rules.Reading<typeof click>
export type TelegramOrigin = rules.Reading<typeof origin>
