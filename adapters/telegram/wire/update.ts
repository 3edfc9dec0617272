// Bot API payloads as far as Parley reads them (core.telegram.org/bots/api); with its neighbours the only home of Telegram's
// field names.

import * as z from 'zod'
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
export const updateRule = rules.wireObject({
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

export type TelegramUpdate = rules.Reading<typeof updateRule>
export type TelegramMessage = rules.Reading<typeof message>
export type TelegramEntity = rules.Reading<typeof entity>
export type TelegramUser = rules.Reading<typeof user>
export type TelegramChat = rules.Reading<typeof chat>
export type TelegramClick = rules.Reading<typeof click>
export type TelegramOrigin = rules.Reading<typeof origin>

// An update in no list is kept for a later release to read.

/** Update fields that carry a message a person wrote, and whether they amend an earlier one. */
export const messageFields = {
  message: 'new',
  edited_message: 'edit',
  channel_post: 'new',
  edited_channel_post: 'edit',
  business_message: 'new',
  edited_business_message: 'edit',
  guest_message: 'new',
} as const

/** What Telegram is asked to deliver, by webhook and by polling alike: it remembers an older list otherwise. */
export const allowedUpdates = [
  ...(['message', 'edited_message', 'channel_post', 'edited_channel_post', 'business_message'] as const),
  ...(['edited_business_message', 'deleted_business_messages', 'guest_message', 'callback_query'] as const),
  ...(['stopped_message_generation', 'my_chat_member'] as const),
]

/** The closed list of updates that leave no row: they ask for nothing and no later release will want them back. */
export const noiseFields: ReadonlySet<string> = new Set(
  splitWords(`
  inline_query chosen_inline_result poll poll_answer message_reaction message_reaction_count
  chat_boost removed_chat_boost chat_member
`),
)

/** Content beside text, by the field that carries it. The first that is present names the message. */
export const contentFields: readonly string[] = splitWords(`
  live_photo photo animation video video_note voice audio sticker document venue location contact poll
  dice checklist story paid_media game invoice giveaway rich_message
`)

/** Messages Telegram writes itself: joins, titles, pins, payments. Nothing was said to the agent. */
export const serviceFields: ReadonlySet<string> = new Set(
  splitWords(`
  new_chat_members left_chat_member new_chat_title new_chat_photo delete_chat_photo group_chat_created
  supergroup_chat_created channel_chat_created message_auto_delete_timer_changed migrate_to_chat_id
  migrate_from_chat_id pinned_message successful_payment refunded_payment users_shared chat_shared
  connected_website write_access_allowed passport_data proximity_alert_triggered boost_added
  chat_background_set checklist_tasks_done checklist_tasks_added direct_message_price_changed
  forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened
  general_forum_topic_hidden general_forum_topic_unhidden giveaway_created giveaway_winners
  giveaway_completed paid_message_price_changed gift unique_gift gift_upgrade_sent
  video_chat_scheduled video_chat_started video_chat_ended video_chat_participants_invited
  web_app_data
`),
)

function splitWords(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}

// What a message can carry beside text and files, as far as it can be said in words.

const line = z.string().max(4096)

export const locationSchema = z.object({
  latitude: z.number(),
  longitude: z.number(),
  live_period: z.int().optional().catch(undefined),
})

export const venueSchema = z.object({ location: locationSchema, title: line, address: line })

export const contactSchema = z.object({
  phone_number: line,
  first_name: line,
  last_name: line.optional().catch(undefined),
})

export const pollSchema = z.object({ question: line, options: z.array(z.object({ text: line })).max(64) })

export const diceSchema = z.object({ emoji: z.string().max(16), value: z.int() })

export const stickerSchema = z.object({ emoji: z.string().min(1).max(16) })

export const checklistSchema = z.object({
  title: line,
  tasks: z.array(z.object({ text: line, completion_date: z.int().optional().catch(undefined) })).max(256),
})

/** Blocks are looked at one by one: what one of them is must not hide the others. */
export const richSchema = z.object({ blocks: z.array(z.unknown()).max(500) })

/** Every field that some kind of rich block has; unknown kinds say what they can. */
export const richBlockSchema = z.looseObject({
  type: z.string(),
  text: z.unknown().optional(),
  size: z.int().min(1).max(6).optional().catch(undefined),
  language: z.string().max(32).optional().catch(undefined),
  expression: z.string().optional().catch(undefined),
  summary: z.unknown().optional(),
  caption: z.unknown().optional(),
  blocks: z.array(z.unknown()).optional().catch(undefined),
  cells: z
    .array(z.array(z.looseObject({ text: z.unknown().optional() })))
    .optional()
    .catch(undefined),
  items: z
    .array(
      z.looseObject({
        label: z.string().optional().catch(undefined),
        blocks: z.array(z.unknown()).catch([]),
        has_checkbox: z.boolean().optional().catch(undefined),
        is_checked: z.boolean().optional().catch(undefined),
        value: z.int().optional().catch(undefined),
      }),
    )
    .optional()
    .catch(undefined),
})

export const richTextSchema = z.looseObject({
  type: z.string(),
  text: z.unknown().optional(),
  url: z.string().optional().catch(undefined),
  expression: z.string().optional().catch(undefined),
  alternative_text: z.string().optional().catch(undefined),
})

/** Fields that carry a file. An animation comes as a document too, and is one thing. */
export const fileFields = [
  'photo',
  'animation',
  'video',
  'video_note',
  'voice',
  'audio',
  'sticker',
  'document',
] as const

export type FileField = (typeof fileFields)[number]

export const fileSchema = z.object({
  file_id: z.string().min(1).max(512),
  file_name: z.string().optional().catch(undefined),
  mime_type: z.string().min(1).max(127).optional().catch(undefined),
  file_size: z.int().nonnegative().optional().catch(undefined),
  is_animated: z.boolean().optional().catch(undefined),
  is_video: z.boolean().optional().catch(undefined),
})

export type TelegramFile = z.infer<typeof fileSchema>
