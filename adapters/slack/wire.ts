// Slack's payloads as far as Parley reads and writes them (docs.slack.dev/reference); the home of Slack's field names.
import * as z from 'zod'
import type { JsonObject } from '../../src/contract/index.ts'

/** Blocks of one message hold this much text in total; more is refused although no single limit is broken (slack 2.9). */
export const maxTextLength = 12_000

const id = z.string().regex(/^[A-Z0-9]{2,32}$/)
/** An identifier that looks like a number and must never become one. */
const ts = z.string().regex(/^\d{1,12}\.\d{1,9}$/)

/** Slack leaves out, or says null. */
function maybe<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined) as z.ZodType<z.output<T> | undefined, unknown>
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
function lenient<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return maybe(schema).catch(undefined)
}

const authorizationSchema = z.object({
  enterprise_id: lenient(id),
  team_id: lenient(id),
  user_id: lenient(id),
  is_bot: lenient(z.boolean()),
  is_enterprise_install: lenient(z.boolean()),
})

export const envelopeSchema = z.looseObject({
  type: z.string(),
  team_id: maybe(id),
  enterprise_id: maybe(id),
  context_team_id: maybe(id),
  api_app_id: maybe(id),
  event_id: maybe(z.string().min(1).max(128)),
  is_ext_shared_channel: lenient(z.boolean()),
  authorizations: lenient(z.array(authorizationSchema)),
  event: z.unknown().optional(),
})

export type SlackEnvelope = z.infer<typeof envelopeSchema>

const authorFields = {
  user: maybe(id),
  bot_id: maybe(id),
  app_id: maybe(id),
  bot_profile: lenient(z.looseObject({ app_id: lenient(id), name: lenient(z.string()) })),
  team: maybe(id),
  user_team: maybe(id),
  source_team: maybe(id),
  user_profile: lenient(
    z.looseObject({
      name: lenient(z.string()),
      display_name: lenient(z.string()),
      real_name: lenient(z.string()),
      is_restricted: lenient(z.boolean()),
      is_ultra_restricted: lenient(z.boolean()),
    }),
  ),
}

const contentFields = {
  subtype: maybe(z.string()),
  text: lenient(z.string()),
  thread_ts: maybe(ts),
  parent_user_id: lenient(id),
  blocks: lenient(z.array(z.unknown())),
  files: lenient(z.array(z.unknown())),
  attachments: lenient(z.array(z.unknown())),
  edited: lenient(z.looseObject({ ts: lenient(ts) })),
  streaming_state: lenient(z.string()),
}

/** A message inside an edit or a delete. */
const innerSchema = z.looseObject({ ...authorFields, ...contentFields, ts })

export const messageSchema = z.looseObject({
  ...authorFields,
  ...contentFields,
  type: z.enum(['message', 'app_mention']),
  channel: id,
  channel_type: lenient(z.string()),
  ts,
  event_ts: lenient(ts),
  deleted_ts: lenient(ts),
  message: maybe(innerSchema),
  previous_message: maybe(innerSchema),
})

export type SlackEvent = z.infer<typeof messageSchema>
/** The fields an outer and an inner message share. */
export type SlackMessage = z.infer<typeof innerSchema>

/** The native stop button of an agent's thread. */
export const stoppedSchema = z.looseObject({
  type: z.literal('agent_session_stopped'),
  channel: id,
  user: id,
  thread_ts: ts,
  event_ts: ts,
})

/** Subtypes that are a person's own words. */
export const spokenSubtypes: ReadonlySet<string> = new Set([
  'file_share',
  'thread_broadcast',
  'me_message',
  'bot_message',
])

/** Messages Slack writes itself: joins, topics, archives. Nobody said anything to the agent. */
export const systemSubtypes: ReadonlySet<string> = new Set(
  words(`
  channel_join channel_leave channel_topic channel_purpose channel_name channel_archive channel_unarchive
  channel_posting_permissions channel_convert_to_private group_join group_leave group_topic group_purpose group_name
  group_archive group_unarchive ekm_access_denied bot_add bot_remove pinned_item unpinned_item reminder_add
  assistant_app_thread huddle_thread app_conversation_join
`),
)

/** The closed list of events that leave no row: they ask for nothing and no later release will want them back. */
export const noiseEvents: ReadonlySet<string> = new Set(
  words(`
  app_home_opened file_shared file_created file_change file_public user_typing link_shared user_change
  member_joined_channel member_left_channel channel_rename emoji_changed dnd_updated_user
`),
)

/** What happened to the installation itself. */
export const installationEvents: ReadonlySet<string> = new Set(['app_uninstalled', 'tokens_revoked'])

export const fileSchema = z.looseObject({
  id,
  name: lenient(z.string()),
  mimetype: lenient(z.string().min(1).max(127)),
  size: lenient(z.int().nonnegative()),
  mode: lenient(z.string()),
  is_external: lenient(z.boolean()),
  file_access: lenient(z.string()),
  url_private_download: lenient(z.string().max(2048)),
  url_private: lenient(z.string().max(2048)),
})

export type SlackFile = z.infer<typeof fileSchema>

export const attachmentSchema = z.looseObject({
  is_share: lenient(z.boolean()),
  is_msg_unfurl: lenient(z.boolean()),
  from_url: lenient(z.string()),
  author_name: lenient(z.string()),
  pretext: lenient(z.string()),
  title: lenient(z.string()),
  text: lenient(z.string()),
  fallback: lenient(z.string()),
  blocks: lenient(z.array(z.unknown())),
  message_blocks: lenient(z.array(z.unknown())),
})

const personSchema = z.looseObject({ id, team_id: lenient(id), name: lenient(z.string()) })

export const interactionSchema = z.looseObject({
  type: z.string(),
  api_app_id: lenient(id),
  is_enterprise_install: lenient(z.boolean()),
  team: lenient(z.looseObject({ id: lenient(id), enterprise_id: lenient(id) })),
  enterprise: lenient(z.looseObject({ id: lenient(id) })),
  user: lenient(personSchema),
  channel: lenient(z.looseObject({ id })),
  container: lenient(z.looseObject({ message_ts: lenient(ts), channel_id: lenient(id), thread_ts: lenient(ts) })),
  message: lenient(z.looseObject({ ts: lenient(ts), thread_ts: lenient(ts), text: lenient(z.string()) })),
  actions: lenient(
    z.array(
      z.looseObject({
        action_id: lenient(z.string()),
        block_id: lenient(z.string()),
        value: lenient(z.string().max(2000)),
        action_ts: lenient(ts),
      }),
    ),
  ),
})

export type SlackInteraction = z.infer<typeof interactionSchema>

export const slashSchema = z.looseObject({
  command: z.string().regex(/^\/[^\s/]{1,64}$/),
  text: z.string().default(''),
  user_id: id,
  team_id: id,
  enterprise_id: lenient(id),
  channel_id: id,
  trigger_id: lenient(z.string().max(256)),
  api_app_id: lenient(id),
  is_enterprise_install: lenient(z.string()),
})

export type SlackSlash = z.infer<typeof slashSchema>

/** The block that holds the buttons of an approval; a click on anything else is not ours. */
export const approvalBlock = 'parley_approval'
export const approvalActions: ReadonlySet<string> = new Set(['approve', 'reject'])

export const replyToSchema = z.object({
  account: z.string(),
  /** The workspace an organization's token is used for. */
  team_id: z.string().optional(),
  channel: z.string(),
  thread_ts: z.string().optional(),
  /** Set where the bot may not be in the channel: then the answer goes to this person alone. */
  user: z.string().optional(),
  reply_to_user: z.string().optional(),
  reply_to_team: z.string().optional(),
  /** The card whose button was clicked, and what it asked. */
  reply_to_card: z.string().optional(),
  reply_to_question: z.string().optional(),
})

/** Where an answer goes; the gateway keeps it as it is. */
export type SlackReplyTo = z.infer<typeof replyToSchema>

export type MessagePayload = {
  readonly channel: string
  readonly text: string
  readonly blocks?: readonly JsonObject[]
  readonly thread_ts?: string
  readonly team_id?: string
}

/** Which installation's token the call is made with. */
type Account = { readonly account: string }

/** One Web API call as data; `upload` stands for the three that send a file. */
export type SlackCall = Account &
  (
    | {
        readonly method: 'chat.postMessage'
        readonly payload: MessagePayload
        /** The first words of a reply that may have a live message. */
        readonly live?: true
        readonly fallbackUser?: string
      }
    | { readonly method: 'chat.postEphemeral'; readonly payload: MessagePayload & { readonly user: string } }
    | { readonly method: 'chat.update'; readonly payload: MessagePayload & { readonly ts: string } }
    | {
        readonly method: 'chat.startStream'
        readonly payload: {
          readonly channel: string
          readonly thread_ts: string
          readonly markdown_text: string
          readonly recipient_user_id?: string
          readonly recipient_team_id?: string
          readonly team_id?: string
        }
      }
    | {
        readonly method: 'upload'
        readonly payload: { readonly channel_id: string; readonly thread_ts?: string; readonly team_id?: string }
        readonly file: { readonly attachment: string; readonly name: string }
      }
  )

function words(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}
