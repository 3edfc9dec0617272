// Slack's events as far as Parley reads them (docs.slack.dev/reference/events).
import * as z from 'zod'
import { id, lenient, maybe, ts } from './field.ts'
import { appContextSchema } from './view.ts'

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
  /** Both say that the message was written in one of the app's own views. */
  app_context: lenient(appContextSchema),
  assistant_thread: lenient(z.looseObject({})),
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
  file_shared file_created file_change file_public user_typing link_shared user_change
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

function words(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}
