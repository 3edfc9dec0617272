// NormalizedMessage: the one shape every agent reads.
import * as z from 'zod'
import { jsonSchema } from '../lib/json-value.ts'
import { callerContextSchema } from './caller.ts'
import { recipientCapabilitiesSchema } from './capabilities.ts'
import { maxParts, partSchema } from './parts.ts'
import { senderSchema } from './sender.ts'

// Routing facts of an inbound event: what tools may bind to, never authority, never shown to a model as such.

const slugPattern = /^[a-z0-9][a-z0-9-]*$/
const slugSchema = z
  .string()
  .transform((text) => text.trim().toLowerCase().replaceAll('_', '-'))
  .refine((text) => slugPattern.test(text), 'must be a non-empty slug')
const optionalId = z
  .string()
  .nullish()
  .transform((text) => (text?.trim() ? text.trim() : null))

/** What the sender's program sent beside the message. The sender's word, like the message: data, never authority. */
const clientDataSchema = z.object({
  /** What it wants the agent to know: `{ description: 'page', value: 'checkout' }`. */
  context: z.array(z.object({ description: z.string(), value: z.string() })).optional(),
  /** The state it shares with the agent, as it has it. */
  state: jsonSchema.optional(),
  forwarded_props: jsonSchema.optional(),
  /** Its messages of the roles system and developer: they have no more authority than the rest. */
  system_messages: z.array(z.string()).optional(),
})

/** Bytes of JSON that a program may send beside a message, and that shared state may have: an event of a run takes them. */
export const maxClientDataBytes = 60 * 1024

export const channelContextSchema = z.object({
  /** `connection.id`. */
  connector_id: slugSchema,
  /** The name of the channel. */
  external_provider: slugSchema,
  /** The platform's id of the room: modes of `replyPolicy.rooms` are given by it. */
  external_conversation_id: optionalId,
  /** The platform's id of the message: reactions go to it, and operators ask by it. */
  external_message_id: optionalId,
  /** The platform's id of the sender. */
  sender_id: optionalId,
  /** `dm`: a conversation of two, where every message is for the agent. */
  room_kind: z
    .enum(['dm', 'group', 'channel'])
    .nullish()
    .transform((kind) => kind ?? null),
  /** The bot itself wrote it. */
  from_self: z.boolean().default(false),
  /** What the platform says writes there; left out where it does not say. */
  sender_kind: z.enum(['person', 'machine']).optional(),
  /** How it says that it is for the agent; whether `none` is answered in a room is `replyPolicy`. */
  addressed: z.enum(['mention', 'reply', 'dm', 'thread', 'command', 'none']).default('none'),
  /**
   * For what is said in the room itself where that begins a thread of its own: what the room's main line is called, so that
   * what was said there before belongs to it. The threads of the room are called so too, with a colon and more behind it.
   */
  main_line: z.string().min(1).max(512).optional(),
  /** Who can read it there: `direct` its sender and the agent, `private` the members of a room. */
  visibility: z.enum(['public', 'unlisted', 'followers', 'direct', 'private']).default('private'),
  /** Others it names: `text` as written. */
  mentions: z.array(z.object({ text: z.string(), subject: z.string().optional() })).default([]),
  /** An edit or a deletion names the message in `target_id`, and has a `version` of its own. */
  event: z.enum(['new', 'edit', 'delete']).default('new'),
  /** Where the message is that came by its address alone: its words are asked for when it is answered. */
  named_at: z.string().max(2048).optional(),
  /** `id` of the message that an edit or a deletion is about. */
  target_id: z.string().optional(),
  /** It stands in a thread and was shown to the whole room as well. */
  broadcast: z.boolean().optional(),
  /** What the sender had open when they wrote, by the platform's ids; empty: nothing. */
  context: z
    .array(
      z.object({
        kind: z.string(),
        id: z.string(),
        /** Where it is another one than ours. */
        workspace: z.string().optional(),
        message_id: z.string().optional(),
      }),
    )
    .max(20)
    .optional(),
  /** The chain of agents that called us, as the last of them tells it. */
  caller: callerContextSchema.optional(),
  /** The caller's own id for the run it asks for. */
  run_id: z.string().optional(),
  command: z.object({ name: z.string().min(1), args: z.string() }).optional(),
  client_data: clientDataSchema.optional(),
  /** Tools the caller offers to run itself, as it declares them: not judged yet. */
  client_tools: z.array(z.record(z.string(), z.unknown())).max(64).optional(),
  /** What a tool came to that the caller ran: the message says nothing else. */
  tool_result: z
    .object({ tool_call_id: z.string().min(1), content: z.string(), error: z.string().optional() })
    .optional(),
})

/** Where a message came from on its platform. */
export type ChannelContext = z.infer<typeof channelContextSchema>

export type ClientData = z.infer<typeof clientDataSchema>

/** The eight fields tools may bind to, in the names of agents-api. */
export type ClientContext = {
  readonly source: string
  readonly connector_id: string
  readonly client_name: string
  readonly external_provider: string
  readonly external_conversation_id: string | null
  readonly external_message_id: string | null
  readonly sender_id: string | null
  readonly room_kind: 'dm' | 'group' | 'channel' | null
}

export function toClientContext(channel: ChannelContext, source = 'channel'): ClientContext {
  return {
    source,
    connector_id: channel.connector_id,
    client_name: channel.connector_id,
    external_provider: channel.external_provider,
    external_conversation_id: channel.external_conversation_id,
    external_message_id: channel.external_message_id,
    sender_id: channel.sender_id,
    room_kind: channel.room_kind,
  }
}

/** Ids of platforms are taken as they are, as long as they can be stored; those that callers choose are judged in caller.ts. */
const isStorableId = (text: string) => !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()

export const historicalMessageSchema = z.object({
  id: z.string().optional(),
  role: z.enum(['user', 'assistant']),
  sender: senderSchema,
  parts: z.array(partSchema),
  timestamp: z.string(),
  /** Ambient context: said in the room and not to the agent, to know and not to follow. */
  ambient: z.literal(true).optional(),
})

export const normalizedMessageSchema = z.object({
  /** The platform's id of the message; an edit of it has it in `channel.target_id`. */
  id: z.string().min(1).max(512).refine(isStorableId, 'no control characters'),
  /** The platform's id of the conversation. */
  thread_id: z.string().min(1).max(1024).refine(isStorableId, 'no control characters'),
  /** `id` of the message that this one answers. */
  in_reply_to: z.string().optional(),
  /** Made by `verifiedSender`. */
  sender: senderSchema,
  /** Address of the agent: `formatAddress({ local: connection.agent, domain: connection.domain })`. */
  recipient: z.string(),
  parts: z.array(partSchema).min(1).max(maxParts),
  /** Set by the core. */
  history: z.array(historicalMessageSchema).optional(),
  /** What the agent may rely on when it replies. */
  recipient_capabilities: recipientCapabilitiesSchema,
  /** `capabilities.receivedVia`. */
  received_via: z.string().min(1),
  /** `receivedAt` of the request. */
  received_at: z.iso.datetime({ offset: false }),
  /** The payload as it came. */
  raw: z.unknown(),
  policy_resolution: z.record(z.string(), z.unknown()).optional(),
  channel: channelContextSchema.optional(),
})

/** One earlier turn, with its own sender reduced to what history may show. */
export type HistoricalMessage = z.infer<typeof historicalMessageSchema>
/** The transport-neutral message: evidence, parts, capabilities, and the original payload beside them. */
export type NormalizedMessage = z.infer<typeof normalizedMessageSchema>
