// Where an answer goes, and what it answers, written down for render (wire/call.ts). Pure.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { ReadObject, Visibility } from '../wire/activity.ts'
import { isChat } from '../wire/call.ts'
import { addressedCommunity, otherRecipients } from './audience.ts'
import { contentWarning } from './parts.ts'
import { type ActivityContext, safeIri } from './scene.ts'
import { actorPage } from './sender.ts'

type Answered = {
  readonly object: ReadObject
  readonly id: string
  readonly visibility: Visibility
  readonly agent: string
}

export function noteReplyTo(scene: ActivityContext, { object, id, agent, visibility }: Answered): JsonObject {
  const { signer } = scene.gated
  const community = addressedCommunity(scene, object, visibility)
  const isInChat = isChat(object)
  return {
    actor: signer.id,
    inbox: signer.inbox,
    shared_inbox: signer.sharedInbox ?? null,
    handle: signer.handle,
    url: actorPage(signer),
    visibility,
    agent,
    ...(isInChat ? { is_chat: true } : {}),
    followers: signer.followers ?? null,
    // The inboxes of the other participants are looked up when the answer leaves: until then their own address stands for it.
    participants:
      visibility === 'direct' && !isInChat
        ? otherRecipients(scene, object).map(({ actor, handle }) => ({
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
