// Hop 3: what a person wrote, new or changed, as one message for each agent of ours that it is for. Pure.
import {
  type Arrived,
  type ArrivedMessage,
  type ChannelContext,
  type Effect,
  textPart,
} from '../../../src/contract/index.ts'
import { hostOf } from '../gate/hosts.ts'
import { isMachine, reasonForSilence } from '../manners/manners.ts'
import { readObject } from '../read/read-object.ts'
import type { ReadObject, Visibility } from '../wire/activity.ts'
import { isChat } from '../wire/call.ts'
import { peerFamilies } from '../wire/peer-records.ts'
import { agentsAt, agentsFor, communityOf, mentionsOf, othersIn, visibilityOf } from './audience.ts'
import { partsOf } from './parts.ts'
import { replyToOf } from './reply-to.ts'
import { deliveryIdOf, ignored, noise, plainName, recipientOf, type Scene } from './scene.ts'
import { senderOf } from './sender.ts'

const written: ReadonlySet<string> = new Set(
  'Note Article Page Question ChatMessage Video Audio Image Document Event'.split(' '),
)
/** Names are columns, and an edit adds to one. */
const maxIdLength = 400

type Change = { readonly event: 'new' | 'edit'; readonly version: string }

export function fromNote(scene: Scene, object: ReadObject | string | undefined): readonly Arrived[] {
  const { activity, signer } = scene.gated
  if (typeof object === 'string' && activity.type === 'Create') return fromNamed(scene, object)
  if (typeof object !== 'object') return [ignored(scene, 'object_not_embedded')]
  if (!written.has(object.type)) return [ignored(scene, 'unknown_object')]
  if (isVote(object)) return [noise(scene, 'vote')]
  const visibility = visibilityOf(scene, object)
  const addressed = agentsFor(scene, object, visibility)
  if (addressed.length === 0) return [noise(scene, 'not_addressed')]
  const silence = reasonForSilence(scene.manners, signer)
  if (silence !== undefined) return [ignored(scene, silence)]
  const agents = addressed.filter((agent) => !scene.facts.blocked.includes(agent))
  if (agents.length === 0) return [ignored(scene, 'blocked_by_author')]
  const id = plainName(object.id ?? activity.id, maxIdLength)
  if (id === undefined) return [ignored(scene, 'unusable_id')]
  const said = { object, id, visibility, agents }
  if (agents.every((agent) => partsOf(scene, object, agent).length === 0)) return [ignored(scene, 'no_content')]
  // What is changed may be new to us: when the change names us first, or overtook what it changes. Where it is known, the first of
  // the two is a copy.
  const changes: readonly Change[] =
    activity.type === 'Update'
      ? [
          { event: 'new', version: '0' },
          { event: 'edit', version: (object.updated ?? activity.id ?? 'edit').slice(0, 256) },
        ]
      : [{ event: 'new', version: '0' }]
  return changes.flatMap((change) => agents.map((agent) => arrivedMessage(scene, { ...said, agent, change })))
}

/**
 * A post that is only named: its server is asked for it when it is answered, never before the delivery is. Until then the activity
 * says whom it is for; whether the post says so too, and is its sender's, is looked at then (around.ts).
 */
function fromNamed(scene: Scene, iri: string): readonly Arrived[] {
  const { activity, signer } = scene.gated
  const id = plainName(iri, maxIdLength)
  if (id === undefined || hostOf(id) !== hostOf(signer.id)) return [ignored(scene, 'object_not_embedded')]
  const object = readObject({ id, type: 'Note', attributedTo: signer.id, to: activity.to, cc: activity.cc })
  const visibility = visibilityOf(scene, object)
  const addressed = agentsAt(scene, [...activity.to, ...activity.cc])
  if (addressed.length === 0) return [noise(scene, 'not_addressed')]
  const silence = reasonForSilence(scene.manners, signer)
  if (silence !== undefined) return [ignored(scene, silence)]
  const agents = addressed.filter((agent) => !scene.facts.blocked.includes(agent))
  if (agents.length === 0) return [ignored(scene, 'blocked_by_author')]
  const change: Change = { event: 'new', version: '0' }
  return agents.map((agent) => {
    const arrived = arrivedMessage(scene, { object, id, visibility, agents, agent, change })
    const { message } = arrived
    // What stands there where it never gets answered.
    const parts = [textPart(`[a post: ${id}]`)]
    return {
      ...arrived,
      message: {
        ...message,
        parts,
        channel: { ...contextOf(scene, { object, id, agent, visibility, agents, change }), named_at: id },
      },
    }
  })
}

/** Votes on a poll come as notes that say nothing but a name. */
function isVote({ name, content, inReplyTo, type, attachments }: ReadObject): boolean {
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

function arrivedMessage(scene: Scene, said: Said): ArrivedMessage {
  const { object, id, agent, change } = said
  const { signer, activity } = scene.gated
  const isEdit = change.event === 'edit'
  const at = (isEdit ? object.updated : undefined) ?? object.published ?? activity.published
  return {
    kind: 'message',
    message: {
      // Replies, changes and deletions name the object, never the activity that brought it: so does this.
      id: isEdit ? `${id}#edit-${change.version}`.slice(0, 512) : id,
      thread_id: threadIdOf(object, id),
      ...(plainName(object.inReplyTo) === undefined ? {} : { in_reply_to: object.inReplyTo }),
      sender: senderOf(scene, agent),
      recipient: recipientOf(scene, agent),
      parts: [...partsOf(scene, object, agent)],
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
        rendering: { markdown: 'html-subset', streaming: 'none', files: true, buttons: false },
      },
      received_via: 'activitypub',
      received_at: scene.arrival.receivedAt,
      raw: activity.raw,
      channel: contextOf(scene, said),
    },
    agent,
    isAddressed: true,
    semanticId: id,
    version: change.version,
    isSenderChosenId: true,
    // A server that sends a note again, by whatever activity, sends the same note.
    ...(isEdit ? {} : { isOnceById: true }),
    deliveryId: deliveryIdOf(scene),
    subject: signer.id,
    thread: threadOf(scene, said),
    replyTo: replyToOf(scene, said),
    ...sharedEffect(scene, said),
    ...(at === undefined || Number.isNaN(Date.parse(at)) ? {} : { platformAt: new Date(at).toISOString() }),
  }
}

/** A deletion names the note and not the agents it was for; one that a community passes on not even its author. */
function sharedEffect(scene: Scene, said: Said): { readonly effects?: readonly Effect[] } {
  const { agents, agent, id } = said
  const isPassedOn = communityOf(scene, said.object, said.visibility) !== undefined
  if ((agents.length < 2 && !isPassedOn) || agent !== agents[0]) return {}
  const subject = scene.gated.signer.id
  // Of what only some may read its server says to us, too, that it is not there.
  const value = { agents: [...agents], ...(isPassedOn ? { author: subject } : {}) }
  return { effects: [{ kind: 'put', family: peerFamilies.shared, key: id, value, subject }] }
}

function threadIdOf({ context, conversation, inReplyTo }: ReadObject, id: string): string {
  return plainName(context) ?? plainName(conversation) ?? plainName(inReplyTo) ?? id
}

/** Any author can name any thread: it is joined only by those who take part in it. */
function threadOf(scene: Scene, said: Said): ArrivedMessage['thread'] {
  const { id, object } = said
  const { context, conversation, inReplyTo } = object
  const parent = plainName(inReplyTo)
  const contexts = [plainName(context), plainName(conversation)].flatMap((name) =>
    name === undefined ? [] : [`c:${name}`],
  )
  const named = contexts.length > 0 ? [...new Set(contexts)] : underneath(scene, said)
  return {
    candidates: [`o:${id}`, ...(parent === undefined ? [] : [`o:${parent}`]), ...named],
    vouched: false,
    fresh: `o:${id}`,
    also: [`o:${id}`, ...named],
  }
}

/**
 * Where no thread is named: what this author asks under one post is one conversation. No server is asked where the thread began:
 * not before the answer to the delivery, which must be fast, and after it the lane is chosen.
 */
function underneath({ gated: { signer } }: Scene, { object, visibility }: Said): readonly string[] {
  // A chat names no thread at all: it is one.
  if (isChat(object)) return plainName(signer.id) === undefined ? [] : [`m:${signer.id}`]
  const isOpen = visibility === 'public' || visibility === 'unlisted'
  const name = plainName(object.inReplyTo) === undefined ? undefined : `${signer.id}>${object.inReplyTo}`
  return isOpen && plainName(name) !== undefined ? [`p:${name}`] : []
}

function contextOf(scene: Scene, { object, id, agent, visibility, change }: Said): ChannelContext {
  const { places, connection, gated } = scene
  const mentions = mentionsOf(object).map(({ href, name }) => ({ text: name, subject: href }))
  const isMention = mentions.some(({ subject }) => subject === places.actor(agent) || subject === places.profile(agent))
  const isDirect = visibility === 'direct'
  return {
    connector_id: connection.id,
    external_provider: 'activitypub',
    external_conversation_id: threadIdOf(object, id),
    external_message_id: id,
    sender_id: gated.signer.id,
    room_kind: isDirect ? (othersIn(scene, object).length > 0 ? 'group' : 'dm') : 'channel',
    from_self: false,
    sender_kind: isMachine(gated.signer) ? 'machine' : 'person',
    addressed: isMention && !isDirect ? 'mention' : 'dm',
    visibility,
    mentions: mentions.slice(0, 100),
    event: change.event,
    ...(change.event === 'edit' ? { target_id: id } : {}),
  }
}
