// Bot API payloads as far as Parley reads them (core.telegram.org/bots/api); with its neighbours the only home of Telegram's
// field names.
import * as z from 'zod'

/** Ids pass 32 bits; as strings they survive every JSON reader exactly. */
const idSchema = z.int().transform(String)
/** Seconds; the bound is the largest instant a Date can hold. */
const secondsSchema = z.int().min(0).max(8_640_000_000_000)
/** Ids that Telegram makes of letters. */
const opaqueIdSchema = z.string().min(1).max(128)

const userSchema = z.object({
  id: idSchema,
  is_bot: z.boolean().default(false),
  first_name: z.string().default(''),
  last_name: z.string().optional(),
  username: z.string().optional(),
  language_code: z.string().optional(),
})

const chatSchema = z.object({
  id: idSchema,
  type: z.string().default('private'),
  title: z.string().optional(),
  username: z.string().optional(),
})

const entitySchema = z.object({
  type: z.string(),
  offset: z.int(),
  length: z.int(),
  user: userSchema.optional(),
  url: z.string().optional().catch(undefined),
  language: z.string().optional().catch(undefined),
})

const originSchema = z.object({
  sender_user: userSchema.optional(),
  sender_user_name: z.string().optional(),
  sender_chat: chatSchema.optional(),
  chat: chatSchema.optional(),
})

/** Open: the fields of whatever it carries are read like those of a message. */
const parentSchema = z.looseObject({
  message_id: idSchema,
  from: userSchema.optional(),
  sender_chat: chatSchema.optional().catch(undefined),
  text: z.string().optional().catch(undefined),
  caption: z.string().optional().catch(undefined),
})

const messageSchema = z.looseObject({
  message_id: idSchema,
  date: secondsSchema,
  edit_date: secondsSchema.optional(),
  chat: chatSchema,
  from: userSchema.optional(),
  sender_chat: chatSchema.optional(),
  sender_business_bot: userSchema.optional(),
  business_connection_id: opaqueIdSchema.optional(),
  guest_query_id: opaqueIdSchema.optional(),
  message_thread_id: idSchema.optional(),
  /** Whose thread it is where people write to a channel: nothing can be sent there without it. */
  direct_messages_topic: z.object({ topic_id: idSchema }).optional().catch(undefined),
  is_topic_message: z.boolean().optional(),
  is_automatic_forward: z.boolean().optional(),
  media_group_id: opaqueIdSchema.optional().catch(undefined),
  migrate_to_chat_id: idSchema.optional().catch(undefined),
  migrate_from_chat_id: idSchema.optional().catch(undefined),
  forward_origin: originSchema.optional(),
  reply_to_message: parentSchema.optional(),
  external_reply: z.looseObject({ origin: originSchema }).optional().catch(undefined),
  quote: z.object({ text: z.string() }).optional(),
  text: z.string().optional(),
  entities: z.array(entitySchema).optional(),
  caption: z.string().optional(),
  caption_entities: z.array(entitySchema).optional(),
})

/** A press on a button. The message it hangs on may be too old to be shown, or belong to no chat of ours. */
const clickSchema = z.object({
  id: opaqueIdSchema,
  from: userSchema,
  message: z
    .object({
      message_id: idSchema,
      chat: chatSchema,
      message_thread_id: idSchema.optional(),
      is_topic_message: z.boolean().optional(),
      business_connection_id: opaqueIdSchema.optional(),
    })
    .optional(),
  inline_message_id: opaqueIdSchema.optional(),
  data: z.string().optional(),
})

const deletedSchema = z.object({
  business_connection_id: opaqueIdSchema,
  chat: chatSchema,
  message_ids: z.array(idSchema).max(1000),
})

const stoppedSchema = z.object({ chat: chatSchema, message_thread_id: idSchema.optional(), draft_id: z.int() })

const membershipSchema = z.object({
  chat: chatSchema,
  from: userSchema,
  date: secondsSchema,
  new_chat_member: z.object({
    status: z.string(),
    is_member: z.boolean().optional().catch(undefined),
    can_send_messages: z.boolean().optional().catch(undefined),
  }),
})

/** What is not a message and cannot be read is kept as it came. */
export const updateSchema = z.looseObject({
  update_id: idSchema,
  message: messageSchema.optional(),
  edited_message: messageSchema.optional(),
  channel_post: messageSchema.optional(),
  edited_channel_post: messageSchema.optional(),
  business_message: messageSchema.optional(),
  edited_business_message: messageSchema.optional(),
  guest_message: messageSchema.optional(),
  callback_query: clickSchema.optional().catch(undefined),
  deleted_business_messages: deletedSchema.optional().catch(undefined),
  stopped_message_generation: stoppedSchema.optional().catch(undefined),
  my_chat_member: membershipSchema.optional().catch(undefined),
})

export type TelegramUpdate = z.infer<typeof updateSchema>
export type TelegramMessage = z.infer<typeof messageSchema>
export type TelegramEntity = z.infer<typeof entitySchema>
export type TelegramUser = z.infer<typeof userSchema>
export type TelegramChat = z.infer<typeof chatSchema>
export type TelegramClick = z.infer<typeof clickSchema>
export type TelegramOrigin = z.infer<typeof originSchema>
