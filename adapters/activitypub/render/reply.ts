// Renders a reply to notes that have no id yet, with their audience. An approval question goes only to the person it asks. Pure.
import { isKnownPart, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import { type JsonObject, jsonByteLength } from '../../../src/lib/index.ts'
import { writeMarkdown } from '../../../src/markdown/index.ts'
import { followersIri, publicAudience } from '../wire/activity.ts'
import {
  type ActivityPubReplyTo,
  chatType,
  type DraftCall,
  type Person,
  type ReplyVisibility,
  replyToSchema,
} from '../wire/delivery.ts'
import type { Note } from './note.ts'
import { noteLengthLimit, notifiablePeople, type RenderHost, renderAttachments, renderReplyText } from './reply-text.ts'
export type RenderSettings = RenderHost & {
  /** How widely a public note is answered. */
  readonly visibility: 'unlisted' | 'public'
  /** Longest note, in characters as servers count them. */
  readonly limit: number
  /** Whether stored files can be asked for at addresses of ours. */
  readonly servesFiles: boolean
}

type Rendered = { readonly call: DraftCall; readonly primary: boolean }

export function renderActivityPub(
  settings: RenderSettings,
  reply: NormalizedResponse,
  to: JsonObject,
  mayNotify: ReadonlySet<string> = new Set(),
): readonly Rendered[] {
  const address = replyToSchema.parse(to)
  const visibility = replyVisibility(address, settings.visibility)
  return splitPrivateParts(reply, visibility === 'direct' && isOneToOne(settings, address)).flatMap(
    ({ reply: each, isPrivate }) => renderNotes(settings, each, address, mayNotify, isPrivate),
  )
}

type Said = { readonly reply: NormalizedResponse; readonly isPrivate: boolean }

/** What the gateway itself answers (a code for pairing, what waits) is as private as a question of policy. */
function splitPrivateParts(reply: NormalizedResponse, isBetweenTwo: boolean): readonly Said[] {
  if (isBetweenTwo) return [{ reply, isPrivate: false }]
  if (reply.control !== undefined) return [{ reply, isPrivate: true }]
  const asked = reply.parts.filter(isPolicyPart)
  if (asked.length === 0) return [{ reply, isPrivate: false }]
  const open = reply.parts.filter((part) => !isPolicyPart(part) && part.kind !== 'tool_call')
  const priv = { reply: { ...reply, parts: asked }, isPrivate: true }
  return open.length === 0
    ? [priv]
    : [{ reply: { ...reply, parts: open, status: 'completed' }, isPrivate: false }, priv]
}

function isPolicyPart(part: Part): boolean {
  return isKnownPart(part) && part.kind === 'policy'
}

function isOneToOne(home: RenderHost, to: ActivityPubReplyTo): boolean {
  return notifiablePeople(home, to, false).answered.length <= 1
}

function renderNotes(
  settings: RenderSettings,
  reply: NormalizedResponse,
  to: ActivityPubReplyTo,
  mayNotify: ReadonlySet<string>,
  isPrivate: boolean,
): readonly Rendered[] {
  const visibility = isPrivate ? 'direct' : replyVisibility(to, settings.visibility)
  const isAlone = isPrivate || to.is_chat === true
  const people = notifiablePeople(settings, to, isAlone)
  const { attachments, reply: words } = renderAttachments(reply, settings.servesFiles)
  const { notes, called } = renderReplyText(words, {
    people,
    limit: noteLengthLimit(settings.limit, to.is_chat === true),
    hasFiles: attachments.length > 0,
    // A question that only one person may see mentions no other.
    mayNotify: isAlone ? new Set() : mayNotify,
    isUncalled: to.is_chat === true,
  })
  const recipients = [...called.map(toRecipient), ...communityRecipients(communityForReply(to, visibility))]
  const drafts = to.is_chat
    ? renderChatMessages(notes, to.actor, attachments)
    : notes.map((note, at) =>
        draftNote(note, {
          to,
          visibility,
          called,
          origin: settings.origin,
          isFirst: at === 0,
          attachments: at === 0 ? attachments : [],
        }),
      )
  return drafts.map((note, at) => ({
    call: { op: 'draft', agent: to.agent, visibility, recipients, follows: at > 0, note },
    primary: true,
  }))
}

/** Each file with words of its own, as long as there are some. */
function renderChatMessages(
  notes: readonly Note[],
  person: string,
  files: readonly JsonObject[],
): readonly JsonObject[] {
  const count = Math.max(notes.length, files.length)
  return Array.from({ length: count }, (_, at) => draftChat(notes[at], person, files[at]))
}

function toRecipient({ actor, inbox, shared_inbox, url }: Person): DraftCall['recipients'][number] {
  return { actor, inbox, shared_inbox, ...(url === null ? {} : { url }) }
}

/** The community passes it on to its members. Where that is reached is asked when the answer leaves. */
function communityRecipients(community: string | undefined): DraftCall['recipients'] {
  return community === undefined ? [] : [{ actor: community, inbox: community, shared_inbox: null, is_community: true }]
}

// Lists are lists also where they hold one thing: some readers insist. Pure.

export type DraftFacts = {
  readonly to: ActivityPubReplyTo
  readonly visibility: ReplyVisibility
  readonly called: readonly Person[]
  readonly origin: string
  readonly isFirst: boolean
  readonly attachments: readonly JsonObject[]
}

// Some servers take 64 KiB, and what wraps the note counts too.
const maxBytes = 52 * 1024
const maxSummary = 400
const languageTag = /^[a-z]{2,8}(?:-[a-z0-9]{1,8}){0,4}$/i

function draftNote(note: Note, { to: address, ...facts }: DraftFacts): JsonObject {
  const { called, visibility, origin, isFirst } = facts
  const actors = called.map(({ actor }) => actor)
  // Later notes of a thread notify no reader again. A direct one must: a recipient that it does not mention sees it nowhere.
  const tagged = isFirst || visibility === 'direct' ? called : []
  const { to, cc } = replyAudience(visibility, actors, { origin, agent: address.agent })
  const community = communityForReply(address, visibility)
  const small: JsonObject = {
    type: 'Note',
    to,
    ...(community === undefined ? { cc } : { cc: [...cc, community], audience: community }),
    inReplyTo: address.reply_to_object,
    ...(address.reply_to_context === null ? {} : { context: address.reply_to_context }),
    ...(address.reply_to_conversation === null ? {} : { conversation: address.reply_to_conversation }),
    ...contentWarningMembers(address),
    content: note.html,
    tag: tagged.map(({ actor, handle }) => ({ type: 'Mention', href: actor, name: handle })),
    attachment: facts.attachments,
  }
  const language = address.reply_to_language
  const withLanguage =
    language === null || !languageTag.test(language) ? small : { ...small, contentMap: { [language]: note.html } }
  const source = { content: writeMarkdown({ type: 'root', children: note.blocks }), mediaType: 'text/markdown' }
  const forms = [{ ...withLanguage, source }, withLanguage]
  return forms.find((form) => jsonByteLength(form) <= maxBytes) ?? small
}

/** To one person, in a chat with them. Servers take one file there, and no list without any. Undefined words: only the file. */
function draftChat(note: Note | undefined, person: string, attachment: JsonObject | undefined): JsonObject {
  const small: JsonObject = {
    type: chatType,
    to: [person],
    content: note?.html ?? '',
    ...(attachment === undefined ? {} : { attachment: [attachment] }),
  }
  if (note === undefined) return small
  const source = { content: writeMarkdown({ type: 'root', children: note.blocks }), mediaType: 'text/markdown' }
  return [{ ...small, source }].find((form) => jsonByteLength(form) <= maxBytes) ?? small
}

/** What only one person may read is in no community. */
function communityForReply({ community }: ActivityPubReplyTo, visibility: ReplyVisibility): string | undefined {
  return visibility === 'direct' ? undefined : community
}

function contentWarningMembers({ reply_to_as_summary: summary }: ActivityPubReplyTo): JsonObject {
  if (summary === null || summary.trim() === '') return {}
  const words = summary.trim().slice(0, maxSummary).toWellFormed()
  return { summary: /^re:/i.test(words) ? words : `re: ${words}`, sensitive: true }
}

// Who may read a reply: as many as could read what it answers, or fewer, never more. Pure.

export type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** `widest`: what the operator wants of answers to public notes. We cannot reach the followers of others: direct. */
function replyVisibility(
  { visibility }: Pick<ActivityPubReplyTo, 'visibility'>,
  widest: 'unlisted' | 'public',
): ReplyVisibility {
  switch (visibility) {
    case 'public':
      return widest
    case 'unlisted':
      return 'unlisted'
    case 'followers':
    case 'direct':
      return 'direct'
    default:
      return visibility satisfies never
  }
}

function replyAudience(
  visibility: ReplyVisibility,
  actors: readonly string[],
  { origin, agent }: { readonly origin: string; readonly agent: string },
): Audience {
  const followers = followersIri(origin, agent)
  switch (visibility) {
    case 'public':
      return { to: [publicAudience], cc: [...actors, followers] }
    case 'unlisted':
      return { to: [...actors, followers], cc: [publicAudience] }
    case 'direct':
      return { to: actors, cc: [] }
    default:
      return visibility satisfies never
  }
}
