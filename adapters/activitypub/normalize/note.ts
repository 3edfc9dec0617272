// Normalizes a note, new or edited, into one message for each agent of ours that it is for. Pure.

import {
  type ChannelContext,
  formatAddress,
  type InboundEvent,
  type InboundMessage,
  mintEvidence,
  parseAddress,
  type RecordWrite,
  type Sender,
  textPart,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { cleanName, type JsonObject } from '../../../src/lib/index.ts'
import { findBotNoReplyReason, isAutomatedActor } from '../moderation.ts'
import { iriHost } from '../signatures/host-authority.ts'
import { readNoteObject } from '../vocab.ts'
import type { ReadObject, RemoteActor, Visibility } from '../wire/activity.ts'
import { isChatMessage } from '../wire/delivery.ts'
import { peerFamilies } from '../wire/records.ts'
import {
  type ActivityContext,
  activityDeliveryId,
  agentHandle,
  agentsByIri,
  findAddressedCommunity,
  ignoreActivity,
  ignoreAsNoise,
  listOtherRecipients,
  noteMentions,
  noteVisibility,
  recipientAgents,
  safeIri,
} from './activity-context.ts'
import { contentWarning, noteParts } from './parts.ts'

const written: ReadonlySet<string> = new Set(
  'Note Article Page Question ChatMessage Video Audio Image Document Event'.split(' '),
)
/** Names are columns, and an edit adds to one. */
const maxIdLength = 400

type Change = { readonly event: 'new' | 'edit'; readonly version: string }

export function normalizeNote(
  context: ActivityContext,
  object: ReadObject | string | undefined,
): readonly InboundEvent[] {
  const { activity, signer } = context.gated
  if (typeof object === 'string' && activity.type === 'Create') return normalizeNoteGivenByIri(context, object)
  if (typeof object !== 'object') return [ignoreActivity(context, 'object_not_embedded')]
  if (!written.has(object.type)) return [ignoreActivity(context, 'unknown_object')]
  if (isPollVote(object)) return [ignoreAsNoise(context, 'vote')]
  const visibility = noteVisibility(context, object)
  const addressed = recipientAgents(context, object, visibility)
  if (addressed.length === 0) return [ignoreAsNoise(context, 'not_addressed')]
  const silence = findBotNoReplyReason(context.moderation, signer)
  if (silence !== undefined) return [ignoreActivity(context, silence)]
  const agents = addressed.filter((agent) => !context.facts.blocked.includes(agent))
  if (agents.length === 0) return [ignoreActivity(context, 'blocked_by_author')]
  const id = safeIri(object.id ?? activity.id, maxIdLength)
  if (id === undefined) return [ignoreActivity(context, 'unusable_id')]
  const said = { object, id, visibility, agents }
  if (agents.every((agent) => noteParts(context, object, agent).length === 0))
    return [ignoreActivity(context, 'no_content')]
  // What is changed may be new to us: when the change names us first, or overtook what it changes. Where it is known, the first of
  // the two is a copy.
  const changes: readonly Change[] =
    activity.type === 'Update'
      ? [
          { event: 'new', version: '0' },
          { event: 'edit', version: (object.updated ?? activity.id ?? 'edit').slice(0, 256) },
        ]
      : [{ event: 'new', version: '0' }]
  return changes.flatMap((change) => agents.map((agent) => noteToMessage(context, { ...said, agent, change })))
}

/**
 * A post that is only named: its server is asked for it when it is answered, never before the delivery is. Until then the activity
 * says whom it is for; whether the post says so too, and is its sender's, is looked at then (thread-ancestors.ts).
 */
function normalizeNoteGivenByIri(context: ActivityContext, iri: string): readonly InboundEvent[] {
  const { activity, signer } = context.gated
  const id = safeIri(iri, maxIdLength)
  if (id === undefined || iriHost(id) !== iriHost(signer.id)) return [ignoreActivity(context, 'object_not_embedded')]
  const object = readNoteObject({ id, type: 'Note', attributedTo: signer.id, to: activity.to, cc: activity.cc })
  const visibility = noteVisibility(context, object)
  const addressed = agentsByIri(context, [...activity.to, ...activity.cc])
  if (addressed.length === 0) return [ignoreAsNoise(context, 'not_addressed')]
  const silence = findBotNoReplyReason(context.moderation, signer)
  if (silence !== undefined) return [ignoreActivity(context, silence)]
  const agents = addressed.filter((agent) => !context.facts.blocked.includes(agent))
  if (agents.length === 0) return [ignoreActivity(context, 'blocked_by_author')]
  const change: Change = { event: 'new', version: '0' }
  return agents.map((agent) => {
    const arrived = noteToMessage(context, { object, id, visibility, agents, agent, change })
    const { message } = arrived
    // What stands there where it never gets answered.
    const parts = [textPart(`[a post: ${id}]`)]
    return {
      ...arrived,
      message: {
        ...message,
        parts,
        channel: { ...noteChannelContext(context, { object, id, agent, visibility, agents, change }), named_at: id },
      },
    }
  })
}

/** Votes on a poll come as notes that say nothing but a name. */
function isPollVote({ name, content, inReplyTo, type, attachments }: ReadObject): boolean {
  return type === 'Note' && name !== '' && content === '' && inReplyTo !== undefined && attachments.length === 0
}

type Said = {
  readonly object: ReadObject
  readonly id: string
  readonly visibility: Visibility
  readonly agents: readonly string[]
  readonly agent: string
  readonly change: Change
}

function noteToMessage(context: ActivityContext, said: Said): InboundMessage {
  const { object, id, agent, change } = said
  const { signer, activity } = context.gated
  const isEdit = change.event === 'edit'
  const at = (isEdit ? object.updated : undefined) ?? object.published ?? activity.published
  return {
    kind: 'message',
    message: {
      // Replies, changes and deletions name the object, never the activity that brought it: so does this.
      id: isEdit ? `${id}#edit-${change.version}`.slice(0, 512) : id,
      thread_id: noteThreadId(object, id),
      ...(safeIri(object.inReplyTo) === undefined ? {} : { in_reply_to: object.inReplyTo }),
      sender: actorSender(context, agent),
      recipient: agentHandle(context, agent),
      parts: [...noteParts(context, object, agent)],
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
        rendering: { markdown: 'html-subset', streaming: 'none', files: true, buttons: false },
      },
      received_via: 'activitypub',
      received_at: context.rawRequest.receivedAt,
      raw: activity.raw,
      channel: noteChannelContext(context, said),
    },
    agent,
    isAddressed: true,
    semanticId: id,
    version: change.version,
    isSenderChosenId: true,
    // A server that sends a note again, by whatever activity, sends the same note.
    ...(isEdit ? {} : { isOnceById: true }),
    deliveryId: activityDeliveryId(context),
    subject: signer.id,
    thread: noteThread(context, said),
    replyTo: noteReplyAddress(context, said),
    ...noteAgentsRecordWrite(context, said),
    ...(at === undefined || Number.isNaN(Date.parse(at)) ? {} : { platformAt: new Date(at).toISOString() }),
  }
}

/** A deletion names the note and not the agents it was for; one that a community passes on not even its author. */
function noteAgentsRecordWrite(
  context: ActivityContext,
  said: Said,
): { readonly recordWrites?: readonly RecordWrite[] } {
  const { agents, agent, id } = said
  const isPassedOn = findAddressedCommunity(context, said.object, said.visibility) !== undefined
  if ((agents.length < 2 && !isPassedOn) || agent !== agents[0]) return {}
  const subject = context.gated.signer.id
  // Of what only some may read its server says to us, too, that it is not there.
  const value = { agents: [...agents], ...(isPassedOn ? { author: subject } : {}) }
  return { recordWrites: [{ kind: 'put', family: peerFamilies.shared, key: id, value, subject }] }
}

function noteThreadId({ context, conversation, inReplyTo }: ReadObject, id: string): string {
  return safeIri(context) ?? safeIri(conversation) ?? safeIri(inReplyTo) ?? id
}

/** Any author can name any thread: it is joined only by those who take part in it. */
function noteThread(context: ActivityContext, said: Said): InboundMessage['thread'] {
  const { id, object } = said
  const { context: objectContext, conversation, inReplyTo } = object
  const parent = safeIri(inReplyTo)
  const contexts = [safeIri(objectContext), safeIri(conversation)].flatMap((name) =>
    name === undefined ? [] : [`c:${name}`],
  )
  const named = contexts.length > 0 ? [...new Set(contexts)] : fallbackThreadAliases(context, said)
  return {
    candidates: [`o:${id}`, ...(parent === undefined ? [] : [`o:${parent}`]), ...named],
    platformVerified: false,
    newThreadKey: `o:${id}`,
    aliases: [`o:${id}`, ...named],
  }
}

/**
 * Where no thread is named: what this author asks under one post is one conversation. No server is asked where the thread began:
 * not before the answer to the delivery, which must be fast, and after it the lane is chosen.
 */
function fallbackThreadAliases(
  { gated: { signer } }: ActivityContext,
  { object, visibility }: Said,
): readonly string[] {
  // A chat names no thread at all: it is one.
  if (isChatMessage(object)) return safeIri(signer.id) === undefined ? [] : [`m:${signer.id}`]
  const isOpen = visibility === 'public' || visibility === 'unlisted'
  const name = safeIri(object.inReplyTo) === undefined ? undefined : `${signer.id}>${object.inReplyTo}`
  return isOpen && safeIri(name) !== undefined ? [`p:${name}`] : []
}

function noteChannelContext(context: ActivityContext, { object, id, agent, visibility, change }: Said): ChannelContext {
  const { places, connection, gated } = context
  const mentions = noteMentions(object).map(({ href, name }) => ({ text: name, subject: href }))
  const isMention = mentions.some(({ subject }) => subject === places.actor(agent) || subject === places.profile(agent))
  const isDirect = visibility === 'direct'
  return {
    connector_id: connection.id,
    external_provider: 'activitypub',
    external_conversation_id: noteThreadId(object, id),
    external_message_id: id,
    sender_id: gated.signer.id,
    room_kind: isDirect ? (listOtherRecipients(context, object).length > 0 ? 'group' : 'dm') : 'channel',
    from_self: false,
    sender_kind: isAutomatedActor(gated.signer) ? 'machine' : 'person',
    addressed: isMention && !isDirect ? 'mention' : 'dm',
    visibility,
    mentions: mentions.slice(0, 100),
    event: change.event,
    ...(change.event === 'edit' ? { target_id: id } : {}),
  }
}

// Where a reply goes, and what it answers, stored for render (wire/delivery.ts). Pure.

type Answered = {
  readonly object: ReadObject
  readonly id: string
  readonly visibility: Visibility
  readonly agent: string
}

function noteReplyAddress(context: ActivityContext, { object, id, agent, visibility }: Answered): JsonObject {
  const { signer } = context.gated
  const community = findAddressedCommunity(context, object, visibility)
  const isInChat = isChatMessage(object)
  return {
    actor: signer.id,
    inbox: signer.inbox,
    shared_inbox: signer.sharedInbox ?? null,
    handle: signer.handle,
    url: actorPageUrl(signer),
    visibility,
    agent,
    ...(isInChat ? { is_chat: true } : {}),
    followers: signer.followers ?? null,
    // The inboxes of the other participants are looked up when the answer leaves: until then their own address stands for it.
    participants:
      visibility === 'direct' && !isInChat
        ? listOtherRecipients(context, object).map(({ actor, handle }) => ({
            actor,
            inbox: actor,
            shared_inbox: null,
            handle,
            url: null,
          }))
        : [],
    ...(community === undefined ? {} : { community }),
    reply_to_object: id,
    reply_to_context: safeIri(object.context) ?? null,
    reply_to_conversation: safeIri(object.conversation) ?? null,
    // What stands under another warning is answered apart, and an edit may add one.
    reply_to_as_summary: contentWarning(object),
    reply_to_language: safeIri(object.language, 35) ?? null,
  }
}

// The sender of an activity: the actor by its address, shown by the handle its server gives it. Pure.

/** The name of the method, as evidence carries it. */
const methods = {
  'ap-http-signature': 'urn:gw:auth:ap-http-signature:v0.1',
  'ap-object-integrity-proof': 'urn:gw:auth:ap-object-integrity-proof:v0.1',
  'ap-origin-fetch': 'urn:gw:auth:ap-origin-fetch:v0.1',
} as const

export function actorSender(context: ActivityContext, agent: string): Sender {
  const { signer, method, keyId, community } = context.gated
  const key = keyId === undefined ? {} : { keyId }
  const evidence = mintEvidence({
    subject: signer.id,
    // A server vouches for the people on it, and for no others.
    issuer: new URL(signer.id).host,
    method: methods[method],
    assurance: 'domain',
    recipient: agentHandle(context, agent),
    issuedAt: context.rawRequest.receivedAt,
    ...key,
    claims: {
      actor_type: signer.type,
      ...(signer.isHandleConfirmed ? { acct: acctUri(signer) } : {}),
      ...(community === undefined ? {} : { passed_on_by: community }),
    },
  })
  const name = cleanName(signer.name)
  return verifiedSender([evidence], {
    address: actorAddress(signer, context.connection.domain),
    ...(name === '' ? {} : { display_name: name }),
    profile: actorProfile(signer, name),
    auth_method: method,
    ...(keyId === undefined ? {} : { key_id: keyId }),
  })
}

function actorProfile(signer: RemoteActor, name: string): NonNullable<Sender['profile']> {
  return {
    ...(name === '' ? {} : { display_name: name }),
    username: cleanName(signer.preferredUsername),
    url: signer.url ?? signer.id,
    // Named and never fetched.
    ...(signer.iconUrl === undefined ? {} : { avatar: { url: signer.iconUrl } }),
    provider: 'activitypub',
    provider_subject: signer.id,
    fetched_at: signer.fetchedAt,
    // Below the name of the protocol, so that no two sources write one key.
    extensions: {
      activitypub: { actor_type: signer.type, handle: signer.handle, handle_confirmed: signer.isHandleConfirmed },
    },
  }
}

/** Where a link with their name leads: their page, if it is on the server that vouches for them. */
function actorPageUrl({ id, url }: RemoteActor): string {
  return url !== undefined && iriHost(url) !== undefined && iriHost(url) === iriHost(id) ? url : id
}

/** Their handle where it can stand as an address; a server without a name of its own gets one of ours. */
export function actorAddress(signer: Pick<RemoteActor, 'handle' | 'preferredUsername'>, domain: string): string {
  const parsed = parseAddress(signer.handle)
  if (parsed !== undefined) return formatAddress(parsed)
  const plain = signer.preferredUsername.replace(/[^A-Za-z0-9_-]/g, '').slice(0, 64)
  return formatAddress({ local: plain === '' ? 'actor' : plain, domain: `activitypub.${domain}` })
}

function acctUri({ handle }: RemoteActor): string {
  return `acct:${handle.replace(/^@/, '')}`
}
