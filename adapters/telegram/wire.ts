// Bot API payloads as far as Parley reads them (core.telegram.org/bots/api); the only home of Telegram's field names.
import * as z from 'zod'
import type { Entity } from '../../src/rendering/index.ts'

/** Longest text of one message; Telegram counts code points after parsing, UTF-16 units are never fewer. */
export const maxTextLength = 4096

/** Ids pass 32 bits; as strings they survive every JSON reader exactly. */
const idSchema = z.int().transform(String)
/** Seconds; the bound is the largest instant a Date can hold. */
const secondsSchema = z.int().min(0).max(8_640_000_000_000)

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
})

const forwardOriginSchema = z.object({
  sender_user: userSchema.optional(),
  sender_user_name: z.string().optional(),
  sender_chat: chatSchema.optional(),
  chat: chatSchema.optional(),
})

const messageSchema = z.looseObject({
  message_id: idSchema,
  date: secondsSchema,
  edit_date: secondsSchema.optional(),
  chat: chatSchema,
  from: userSchema.optional(),
  sender_chat: chatSchema.optional(),
  sender_business_bot: userSchema.optional(),
  business_connection_id: z.string().min(1).max(128).optional(),
  message_thread_id: idSchema.optional(),
  is_topic_message: z.boolean().optional(),
  is_automatic_forward: z.boolean().optional(),
  forward_origin: forwardOriginSchema.optional(),
  reply_to_message: z.object({ message_id: idSchema, from: userSchema.optional() }).optional(),
  quote: z.object({ text: z.string() }).optional(),
  text: z.string().optional(),
  entities: z.array(entitySchema).optional(),
  caption: z.string().optional(),
  caption_entities: z.array(entitySchema).optional(),
})

export const updateSchema = z.looseObject({
  update_id: idSchema,
  message: messageSchema.optional(),
  edited_message: messageSchema.optional(),
  channel_post: messageSchema.optional(),
  edited_channel_post: messageSchema.optional(),
  business_message: messageSchema.optional(),
  edited_business_message: messageSchema.optional(),
})

export type TelegramMessage = z.infer<typeof messageSchema>
export type TelegramEntity = z.infer<typeof entitySchema>

/** Update fields that carry a message a person wrote, and whether they amend an earlier one. */
export const messageFields = {
  message: 'new',
  edited_message: 'edit',
  channel_post: 'new',
  edited_channel_post: 'edit',
  business_message: 'new',
  edited_business_message: 'edit',
} as const

/** The closed list of updates that leave no row: they ask for nothing and no later release will want them back. */
export const noiseFields: ReadonlySet<string> = new Set(
  words(`
  inline_query chosen_inline_result poll poll_answer message_reaction message_reaction_count
  chat_boost removed_chat_boost chat_member
`),
)

/** Content beside text, by the field that carries it. The first that is present names the message. */
export const contentFields: readonly string[] = words(`
  live_photo photo animation video video_note voice audio sticker document venue location contact poll
  dice checklist story paid_media game invoice giveaway rich_message
`)

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

/** Messages Telegram writes itself: joins, titles, pins, payments. Nobody said anything to the agent. */
export const serviceFields: ReadonlySet<string> = new Set(
  words(`
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

export const replyToSchema = z.object({
  chat_id: z.string(),
  message_thread_id: z.string().optional(),
  reply_to_message_id: z.string().optional(),
  business_connection_id: z.string().optional(),
})

/** Where an answer goes; the gateway keeps it as it is. */
export type TelegramReplyTo = z.infer<typeof replyToSchema>

type TextPayload = {
  readonly chat_id: number
  readonly text: string
  readonly link_preview_options: { readonly is_disabled: true }
  readonly entities?: Entity[]
  readonly business_connection_id?: string
}

type Place = {
  readonly message_thread_id?: number
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: true }
}

/** A stored file to be uploaded; its bytes are opened when it is sent. */
export type FileCall = {
  readonly method: 'sendPhoto' | 'sendDocument'
  readonly payload: Place & { readonly chat_id: number; readonly business_connection_id?: string }
  readonly file: { readonly attachment: string; readonly name: string }
}

/** One Bot API call as data. */
export type TelegramCall =
  | { readonly method: 'sendMessage'; readonly payload: TextPayload & Place }
  | { readonly method: 'editMessageText'; readonly payload: TextPayload & { readonly message_id: number } }
  | FileCall

/** A command as Telegram marked it, and the bot it names. */
export type Command = { readonly name: string; readonly target: string | undefined; readonly args: string }

/** Only what Telegram itself marked as a command counts; a leading slash may be a path. */
export function commandOf(message: TelegramMessage): Command | undefined {
  const { text, entities } = wordsOf(message)
  const entity = entities.find(({ type, offset }) => type === 'bot_command' && offset === 0)
  const match = /^\/(\w+)(?:@(\w+))?$/.exec(text.slice(0, entity?.length ?? 0))
  if (entity === undefined || match?.[1] === undefined) return undefined
  return { name: match[1].toLowerCase(), target: match[2], args: text.slice(entity.length).trim() }
}

/** Text with its entities; ranges outside the text are dropped, ranges past its end are cut. */
export function wordsOf(message: TelegramMessage): {
  readonly text: string
  readonly entities: readonly TelegramEntity[]
} {
  const text = message.text ?? message.caption ?? ''
  const given = (message.text === undefined ? message.caption_entities : message.entities) ?? []
  const entities = given
    .filter(({ offset, length }) => offset >= 0 && length > 0 && offset < text.length)
    .map((entity) => ({ ...entity, length: Math.min(entity.length, text.length - entity.offset) }))
  return { text, entities }
}

/** A thread id also stands on ordinary replies; the general topic is addressed by leaving it out. */
export function topicOf(message: TelegramMessage): string | undefined {
  const isTopic = message.is_topic_message === true && message.message_thread_id !== '1'
  return isTopic ? message.message_thread_id : undefined
}

/** In a topic every message "replies" to the one that opened it. */
export function parentOf(message: TelegramMessage): TelegramMessage['reply_to_message'] {
  const parent = message.reply_to_message
  return message.is_topic_message === true && parent?.message_id === message.message_thread_id ? undefined : parent
}

function words(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}
