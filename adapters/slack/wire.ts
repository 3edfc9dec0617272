// Slack's payloads as far as Parley reads and writes them: events, interactions, and Web API calls (docs.slack.dev/reference).
import * as z from 'zod'
import * as rules from '../../src/lib/index.ts'
import {
  type JsonObject,
  wireLenient as mayList,
  type Reading,
  wireArray,
  wireLooseObject,
  wireStringMatching,
  wireUnknown,
} from '../../src/lib/index.ts'

const idPattern = /^[A-Z0-9]{2,32}$/
/** An identifier that looks like a number and must never become one. */
const tsPattern = /^\d{1,12}\.\d{1,9}$/

const id = z.string().regex(idPattern)
const ts = z.string().regex(tsPattern)
/** The same for what is read before an acknowledgement, by plain rules. */
const plainId = wireStringMatching(idPattern)
const plainTs = wireStringMatching(tsPattern)

/** Slack leaves out, or says null. */
function optionalField<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined) as z.ZodType<z.output<T> | undefined, unknown>
}

/** What is only shown or compared may be anything; then it is as if it were not there. */
function lenientField<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined, unknown> {
  return optionalField(schema).catch(undefined)
}

// The app's own views in Slack: the agent's, and the older assistant's (docs.slack.dev/ai).

export const assistantContextSchema = z.looseObject({ channel_id: lenientField(id), team_id: lenientField(id) })

export const threadOpenedSchema = z.looseObject({
  type: z.enum(['assistant_thread_started', 'assistant_thread_context_changed']),
  assistant_thread: z.looseObject({
    user_id: id,
    channel_id: id,
    thread_ts: ts,
    context: lenientField(assistantContextSchema),
  }),
})

export const homeOpenedSchema = z.looseObject({
  type: z.literal('app_home_opened'),
  user: id,
  channel: optionalField(id),
  tab: lenientField(z.string()),
})

/** What a message of the newer view says about what its sender looks at. */
const appContextRule = wireLooseObject({ entities: mayList(wireArray(wireUnknown)) })

export const entitySchema = z.looseObject({
  type: z.string(),
  value: z.union([z.string().min(1).max(64), z.looseObject({ message_ts: ts, channel_id: id })]),
  team_id: lenientField(id),
})

export type ThreadOpened = z.infer<typeof threadOpenedSchema>
export type HomeOpened = z.infer<typeof homeOpenedSchema>
export type AppContext = Reading<typeof appContextRule>
export type AssistantContext = z.infer<typeof assistantContextSchema>

// Read before the acknowledgement: plain rules, which cost a fraction of a schema.
const flag = rules.wireLenient(rules.wireBoolean)
const shownText = rules.wireLenient(rules.wireString)
const shownId = rules.wireLenient(plainId)
const mayId = rules.wireNullish(plainId)
const anyList = rules.wireLenient(rules.wireArray(rules.wireUnknown))

/** The rule of an event's envelope. */
export const envelopeRule = rules.wireObject({
  type: rules.wireString,
  team_id: mayId,
  enterprise_id: mayId,
  context_team_id: mayId,
  api_app_id: mayId,
  event_id: rules.wireNullish(rules.wireStringOfLength(1, 128)),
  is_ext_shared_channel: flag,
  authorizations: rules.wireLenient(
    rules.wireArray(
      rules.wireObject({
        enterprise_id: shownId,
        team_id: shownId,
        user_id: shownId,
        is_bot: flag,
        is_enterprise_install: flag,
      }),
    ),
  ),
  event: rules.wireUnknown,
})

export type SlackEnvelope = rules.Reading<typeof envelopeRule>

const authorFields = {
  user: mayId,
  bot_id: mayId,
  app_id: mayId,
  bot_profile: rules.wireLenient(rules.wireObject({ app_id: shownId, name: shownText })),
  team: mayId,
  user_team: mayId,
  source_team: mayId,
  user_profile: rules.wireLenient(
    rules.wireObject({
      name: shownText,
      display_name: shownText,
      real_name: shownText,
      is_restricted: flag,
      is_ultra_restricted: flag,
    }),
  ),
}

const contentFields = {
  subtype: rules.wireNullish(rules.wireString),
  text: shownText,
  thread_ts: rules.wireNullish(plainTs),
  parent_user_id: shownId,
  blocks: anyList,
  files: anyList,
  attachments: anyList,
  edited: rules.wireLenient(rules.wireObject({ ts: rules.wireLenient(plainTs) })),
  streaming_state: shownText,
  /** Both say that the message was written in one of the app's own views. */
  app_context: rules.wireLenient(appContextRule),
  assistant_thread: rules.wireLenient(rules.wireLooseObject({})),
}

/** A message inside an edit or a delete. */
const innerMessageRule = rules.wireObject({ ...authorFields, ...contentFields, ts: plainTs })

/** The rule of a message event. */
export const messageRule = rules.wireObject({
  ...authorFields,
  ...contentFields,
  type: rules.wireEnum('message', 'app_mention'),
  channel: plainId,
  channel_type: shownText,
  ts: plainTs,
  event_ts: rules.wireLenient(plainTs),
  deleted_ts: rules.wireLenient(plainTs),
  message: rules.wireNullish(innerMessageRule),
  previous_message: rules.wireNullish(innerMessageRule),
})

export type SlackEvent = rules.Reading<typeof messageRule>
/** The fields an outer and an inner message share. */
export type SlackMessage = rules.Reading<typeof innerMessageRule>

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

/** Messages Slack writes itself: joins, topics, archives. Nothing was said to the agent. */
export const systemSubtypes: ReadonlySet<string> = new Set(
  splitWords(`
  channel_join channel_leave channel_topic channel_purpose channel_name channel_archive channel_unarchive
  channel_posting_permissions channel_convert_to_private group_join group_leave group_topic group_purpose group_name
  group_archive group_unarchive ekm_access_denied bot_add bot_remove pinned_item unpinned_item reminder_add
  assistant_app_thread huddle_thread app_conversation_join
`),
)

/** The closed list of events that leave no row: they ask for nothing and no later release will want them back. */
export const noiseEvents: ReadonlySet<string> = new Set(
  splitWords(`
  file_shared file_created file_change file_public user_typing link_shared user_change
  member_joined_channel member_left_channel channel_rename emoji_changed dnd_updated_user
`),
)

/** What happened to the installation itself. */
export const installationEvents: ReadonlySet<string> = new Set([
  'app_uninstalled',
  'tokens_revoked',
  'team_access_granted',
  'team_access_revoked',
])

export const fileSchema = z.looseObject({
  id,
  name: lenientField(z.string()),
  mimetype: lenientField(z.string().min(1).max(127)),
  size: lenientField(z.int().nonnegative()),
  mode: lenientField(z.string()),
  is_external: lenientField(z.boolean()),
  file_access: lenientField(z.string()),
  url_private_download: lenientField(z.string().max(2048)),
  url_private: lenientField(z.string().max(2048)),
})

export type SlackFile = z.infer<typeof fileSchema>

export const attachmentSchema = z.looseObject({
  is_share: lenientField(z.boolean()),
  is_msg_unfurl: lenientField(z.boolean()),
  from_url: lenientField(z.string()),
  author_name: lenientField(z.string()),
  pretext: lenientField(z.string()),
  title: lenientField(z.string()),
  text: lenientField(z.string()),
  fallback: lenientField(z.string()),
  blocks: lenientField(z.array(z.unknown())),
  message_blocks: lenientField(z.array(z.unknown())),
})

function splitWords(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}

// What Slack sends when a person presses a button or gives a command (docs.slack.dev/reference/interaction-payloads).

const personSchema = z.looseObject({ id, team_id: lenientField(id), name: lenientField(z.string().max(256)) })

export const interactionSchema = z.looseObject({
  type: z.string(),
  api_app_id: lenientField(id),
  is_enterprise_install: lenientField(z.boolean()),
  team: lenientField(z.looseObject({ id: lenientField(id), enterprise_id: lenientField(id) })),
  enterprise: lenientField(z.looseObject({ id: lenientField(id) })),
  user: lenientField(personSchema),
  channel: lenientField(z.looseObject({ id })),
  container: lenientField(
    z.looseObject({
      message_ts: lenientField(ts),
      channel_id: lenientField(id),
      thread_ts: lenientField(ts),
      is_ephemeral: lenientField(z.boolean()),
    }),
  ),
  message: lenientField(
    z.looseObject({ ts: lenientField(ts), thread_ts: lenientField(ts), text: lenientField(z.string()) }),
  ),
  actions: lenientField(
    z.array(
      z.looseObject({
        action_id: lenientField(z.string()),
        block_id: lenientField(z.string()),
        value: lenientField(z.string().max(2000)),
        action_ts: lenientField(ts),
      }),
    ),
  ),
})

export type SlackInteraction = z.infer<typeof interactionSchema>

export const slashSchema = z.looseObject({
  command: z.string().regex(/^\/[^\s/]{1,64}$/),
  text: z.string().default(''),
  user_id: id,
  /** Slack means to leave it out one day; it is for where `users.info` says nothing. */
  user_name: lenientField(z.string().max(256)),
  team_id: id,
  enterprise_id: lenientField(id),
  channel_id: id,
  trigger_id: lenientField(z.string().max(256)),
  api_app_id: lenientField(id),
  is_enterprise_install: lenientField(z.string()),
})

export type SlackSlash = z.infer<typeof slashSchema>

/** The block that holds the buttons of an approval; a click on anything else is not ours. */
export const approvalBlock = 'parley_approval'
export const approvalActions: ReadonlySet<string> = new Set(['approve', 'reject'])

// Where an answer goes, and the Web API calls Parley makes (docs.slack.dev/reference/methods), as data.

/** Blocks of one message hold this much text in total; more is refused although no single limit is broken. */
export const maxTextLength = 12_000

/** Slack's limits on blocks, checked before anything is sent. */
export const limits = {
  blocks: 50,
  message: maxTextLength,
  /** A fallback is read aloud or shown in a notification, so the beginning is enough. */
  fallback: 3_000,
  section: 3_000,
  header: 150,
  tableRows: 100,
  tableColumns: 20,
  tableCharacters: 10_000,
  indent: 8,
  url: 3_000,
  buttonText: 75,
  buttonValue: 2_000,
} as const

export const replyToSchema = z.object({
  account: z.string(),
  /** The workspace an organization's token is used for. */
  team_id: z.string().optional(),
  channel: z.string(),
  thread_ts: z.string().optional(),
  /** Who gave a slash command: in a channel the answer is for this person alone, and the bot may not be in it. */
  user: z.string().optional(),
  reply_to_user: z.string().optional(),
  reply_to_team: z.string().optional(),
  /** The message itself, to be marked. */
  reply_to_ts: z.string().optional(),
  /** Set in the app's own views in Slack. */
  reply_to_surface: z.enum(['agent', 'assistant']).optional(),
  /** The card whose button was clicked, and what it asked. */
  reply_to_card: z.string().optional(),
  reply_to_question: z.string().optional(),
  /** The card is seen by one person alone, and can be changed by `response_url` only. */
  reply_to_private_card: z.boolean().optional(),
  /** By which name the `response_url` is kept. */
  reply_to_response: z.string().optional(),
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
type Account = {
  readonly account: string
  /** The kept `response_url`: `first` where the answer is for one person alone, else where the call itself cannot work. */
  readonly response?: { readonly key: string; readonly first?: true }
}

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
    | {
        readonly method: 'chat.postEphemeral'
        readonly payload: MessagePayload & { readonly user: string }
        /** Written to directly where the bot cannot show them anything in the channel. */
        readonly fallbackUser?: string
      }
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

/** A message as it is read back, to look whether it is the one that was sent. */
export const foundMessageSchema = z.object({
  ts: z.string(),
  text: z.string().optional(),
  bot_id: z.string().optional(),
  metadata: z.object({ event_payload: z.object({ client_id: z.string().optional() }).optional() }).optional(),
})
export type FoundMessage = z.output<typeof foundMessageSchema>
