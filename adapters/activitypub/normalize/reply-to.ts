// Where an answer goes, and what it answers, written down for render (wire/call.ts). Pure.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { ReadObject, Visibility } from '../wire/activity.ts'
import { isChat } from '../wire/call.ts'
import { communityOf, othersIn } from './audience.ts'
import { warningOf } from './parts.ts'
import { plainName, type Scene } from './scene.ts'
import { pageOf } from './sender.ts'

type Answered = {
  readonly object: ReadObject
  readonly id: string
  readonly visibility: Visibility
  readonly agent: string
}

export function replyToOf(scene: Scene, { object, id, agent, visibility }: Answered): JsonObject {
  const { signer } = scene.gated
  const community = communityOf(scene, object, visibility)
  const isInChat = isChat(object)
  return {
    actor: signer.id,
    inbox: signer.inbox,
    shared_inbox: signer.sharedInbox ?? null,
    handle: signer.handle,
    url: pageOf(signer),
    visibility,
    agent,
    ...(isInChat ? { is_chat: true } : {}),
    followers: signer.followers ?? null,
    // The inboxes of the other participants are looked up when the answer leaves: until then their own address stands for it.
    participants:
      visibility === 'direct' && !isInChat
        ? othersIn(scene, object).map(({ actor, handle }) => ({
            actor,
            inbox: actor,
            shared_inbox: null,
            handle,
            url: null,
          }))
        : [],
    ...(community === undefined ? {} : { community }),
    reply_to_object: id,
    reply_to_context: plainName(object.context) ?? null,
    reply_to_conversation: plainName(object.conversation) ?? null,
    // What stands under another warning is answered apart, and an edit may add one.
    reply_to_as_summary: warningOf(object),
    reply_to_language: plainName(object.language, 35) ?? null,
  }
}
