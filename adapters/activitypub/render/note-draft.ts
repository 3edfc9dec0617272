// One note, all of it but its id and its time. Lists are lists also where they hold one thing: some readers insist. Pure.
import type { JsonObject } from '../../../src/contract/index.ts'
import { type Note, writeMarkdown } from '../../../src/markdown/index.ts'
import { type ActivityPubReplyTo, chatType, type Person, type ReplyVisibility } from '../wire/delivery.ts'
import { followersIri, publicAudience } from '../wire/iris.ts'

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

export function draftNote(note: Note, { to: address, ...facts }: DraftFacts): JsonObject {
  const { called, visibility, origin, isFirst } = facts
  const actors = called.map(({ actor }) => actor)
  // Later notes of a thread notify no reader again. A direct one must: a recipient that it does not mention sees it nowhere.
  const tagged = isFirst || visibility === 'direct' ? called : []
  const { to, cc } = replyAudience(visibility, actors, { origin, agent: address.agent })
  const community = replyCommunity(address, visibility)
  const small: JsonObject = {
    type: 'Note',
    to,
    ...(community === undefined ? { cc } : { cc: [...cc, community], audience: community }),
    inReplyTo: address.reply_to_object,
    ...(address.reply_to_context === null ? {} : { context: address.reply_to_context }),
    ...(address.reply_to_conversation === null ? {} : { conversation: address.reply_to_conversation }),
    ...warningMembers(address),
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
export function draftChat(note: Note | undefined, person: string, attachment: JsonObject | undefined): JsonObject {
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
export function replyCommunity({ community }: ActivityPubReplyTo, visibility: ReplyVisibility): string | undefined {
  return visibility === 'direct' ? undefined : community
}

function warningMembers({ reply_to_as_summary: summary }: ActivityPubReplyTo): JsonObject {
  if (summary === null || summary.trim() === '') return {}
  const words = summary.trim().slice(0, maxSummary).toWellFormed()
  return { summary: /^re:/i.test(words) ? words : `re: ${words}`, sensitive: true }
}

function jsonByteLength(value: JsonObject): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

// Who may read a reply: as many as could read what it answers, or fewer, never more. Pure.

export type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** `widest`: what the operator wants of answers to public notes. We cannot reach the followers of others: direct. */
export function replyVisibility(
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
