// Outgoing calls as data: a reply that has no id yet, and one delivery to one inbox. It is signed when it is sent, never before.
import * as z from 'zod'
import type { JsonObject } from '../../../src/lib/index.ts'

const iri = z.string().min(1).max(2048)
const word = z.string().max(2048).nullable().default(null)

/** `url`: their page, where it is known; people click on it, and servers know them by it. */
const personSchema = z.object({
  actor: iri,
  inbox: iri,
  shared_inbox: word,
  handle: z.string().max(512),
  url: word,
})

/** Where a reply goes, as normalize wrote it down. `participants`: of a direct note, every actor it was addressed to. */
export const replyToSchema = personSchema.extend({
  visibility: z.enum(['public', 'unlisted', 'followers', 'direct']),
  agent: z.string().min(1),
  /** It was said in a chat of two (Pleroma, private messages of Lemmy), and is answered there. */
  is_chat: z.literal(true).optional(),
  participants: z.array(personSchema).max(100).default([]),
  /** Where it stands in one: the community, which passes the answer on to its members. */
  community: iri.optional(),
  reply_to_object: iri,
  reply_to_context: word,
  reply_to_conversation: word,
  reply_to_as_summary: word,
  reply_to_language: word,
})

export type ActivityPubReplyTo = z.infer<typeof replyToSchema>
export type Person = z.infer<typeof personSchema>

/** Never wider than what it answers. */
export type ReplyVisibility = 'public' | 'unlisted' | 'direct'

export type Recipient = JsonObject & {
  readonly actor: string
  readonly inbox: string
  readonly shared_inbox: string | null
  /** Their page; without it: not known. */
  readonly url?: string
  /** It gets the note only if it is a community. */
  readonly is_community?: true
}

/** A stored file that goes with a note, under the name its address ends in. */
export type NoteFile = JsonObject & { readonly name: string; readonly attachment: string }

/** What a stored file is called in a draft, where it has no address yet. */
export const storedScheme = 'attachment:'

/** A note without its name and its time: both are given when it is queued, once for all inboxes it goes to. */
export type DraftCall = JsonObject & {
  readonly op: 'draft'
  readonly agent: string
  readonly visibility: ReplyVisibility
  readonly note: JsonObject
  /** Every actor it is addressed to by name; the first is the one who is answered. */
  readonly recipients: readonly Recipient[]
  /** It goes on where the draft before it ended. */
  readonly follows: boolean
}

/** What is kept of a note beside itself, so that it can be shown, changed and taken back. */
export type KeptFacts = JsonObject & {
  readonly visibility: ReplyVisibility
  readonly recipients: readonly Recipient[]
  /** Without it: none. */
  readonly files?: readonly NoteFile[]
}

export type InboxCall = JsonObject & {
  readonly op: 'deliver'
  readonly agent: string
  readonly inbox: string
  /** Whether the inbox serves a whole server. */
  readonly is_shared: boolean
  readonly activity: JsonObject
}

/** A delivery of a note of ours; other activities keep nothing. */
export type NoteCall = InboxCall & { readonly keeps: KeptFacts }

export type ActivityPubCall = DraftCall | InboxCall | NoteCall

/** Records of the family `note`, by the note's IRI. A note that was taken back is a Tombstone. */
export type NoteRecord = KeptFacts & {
  readonly note: JsonObject
  /** IRIs it is addressed to; who may read it where it is direct. */
  readonly audience: readonly string[]
  /** How often it was changed; without it: never. */
  readonly version?: number
}

/** What is said in a chat is no post: it answers nothing, mentions no actor and stands in no thread. */
export const chatType = 'ChatMessage'

export function isChatMessage({ type }: { readonly type?: unknown }): boolean {
  return type === chatType
}

export function isTombstone({ type }: JsonObject): boolean {
  return type === 'Tombstone'
}

export const noteFamily = 'note'
export const followerFamily = 'follower'
/** Public and unlisted notes, the newest first: `{ id, published }`. */
export const outboxFamily = 'outbox'
/** The same for direct ones, which only the operator sees a list of. */
export const directFamily = 'direct_outbox'

const endOfTime = 8_640_000_000_000_000

export function outboxKey(id: string, published: string): string {
  const at = Date.parse(published)
  return `${String(endOfTime - (Number.isFinite(at) ? at : 0)).padStart(16, '0')} ${id}`
}
