// Hop 8: a reply to notes that have no id yet. A question of policy goes only to the person it asks. Pure.
import { isKnownPart, type JsonObject, type NormalizedResponse, type Part } from '../../../src/contract/index.ts'
import type { Note } from '../../../src/markdown/index.ts'
import { type ActivityPubReplyTo, type DraftCall, type Person, replyToSchema } from '../wire/delivery.ts'
import { renderAttachments } from './attachments.ts'
import { draftChat, draftNote, replyCommunity, replyVisibility } from './note-draft.ts'
import { noteLengthLimit, notifiablePeople, type RenderHost, renderReplyText } from './reply-text.ts'

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
  return splitPrivateParts(reply, visibility === 'direct' && isAmongTwo(settings, address)).flatMap(
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

function isAmongTwo(home: RenderHost, to: ActivityPubReplyTo): boolean {
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
  const recipients = [...called.map(toRecipient), ...communityRecipients(replyCommunity(to, visibility))]
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
