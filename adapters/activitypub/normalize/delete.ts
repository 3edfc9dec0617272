// Normalizes Delete: a note is taken back, or an account is deleted. Pure.
import type { IgnoredEvent, InboundEvent, InboundMessage, RecordWrite } from '../../../src/contract/index.ts'
import { textPart } from '../../../src/contract/index.ts'
import type { ReadObject } from '../wire/activity.ts'
import { followerKey, ownFamilies, peerFamilies, peerKey, personOrderKey } from '../wire/records.ts'
import { type ActivityContext, activityDeliveryId, agentHandle, ignoreActivity, safeIri } from './activity-context.ts'
import { actorSender } from './sender.ts'

const maxIdLength = 400

/** A deletion names what it deletes and not the agents it was for: those that have it are found by its id. */
export function normalizeDelete(
  scene: ActivityContext,
  object: ReadObject | string | undefined,
): readonly InboundEvent[] {
  const { signer } = scene.gated
  const named = typeof object === 'string' ? object : object?.id
  if (named === signer.id) return normalizeAccountDelete(scene)
  const id = safeIri(named, maxIdLength)
  if (id === undefined) return [ignoreActivity(scene, 'unusable_id')]
  const { shared } = scene.facts
  const agents = scene.agents.filter((agent) => shared.includes(agent))
  if (agents.length > 0) return agents.map((agent) => deleteToMessage(scene, id, agent, true))
  return [deleteToMessage(scene, id, scene.connection.agent, false)]
}

function deleteToMessage(scene: ActivityContext, id: string, agent: string, isAddressed: boolean): InboundMessage {
  const { signer, activity } = scene.gated
  return {
    kind: 'message',
    message: {
      id: `${id}#delete`,
      thread_id: id,
      sender: actorSender(scene, agent),
      recipient: agentHandle(scene, agent),
      parts: [textPart('')],
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
      },
      received_via: 'activitypub',
      received_at: scene.arrival.receivedAt,
      raw: activity.raw,
      channel: {
        connector_id: scene.connection.id,
        external_provider: 'activitypub',
        external_conversation_id: id,
        external_message_id: id,
        sender_id: signer.id,
        room_kind: 'dm',
        from_self: false,
        addressed: 'dm',
        visibility: 'direct',
        mentions: [],
        event: 'delete',
        target_id: id,
      },
    },
    agent,
    isAddressed,
    semanticId: id,
    version: 'deleted',
    isSenderChosenId: true,
    isOnceById: true,
    deliveryId: activityDeliveryId(scene),
    subject: signer.id,
    thread: { candidates: [`o:${id}`], platformVerified: false, newThreadKey: `o:${id}` },
    replyTo: { actor: signer.id, inbox: signer.inbox, agent },
  }
}

/** The account is gone: nothing goes to it any more, and what it said is erased. */
function normalizeAccountDelete(scene: ActivityContext): readonly IgnoredEvent[] {
  const { id } = scene.gated.signer
  const named = activityDeliveryId(scene)
  return scene.agents.map((agent, at) => ({
    ...ignoreActivity(scene, 'actor_deleted', at === 0 ? {} : { deliveryId: `${named} ${agent}`.slice(0, 512) }),
    ...accountDeleted(agent, id, scene.arrival.receivedAt),
  }))
}

/** They get nothing any more, are no longer a follower, and what they said is erased. */
export function accountDeleted(
  agent: string,
  actor: string,
  at: string,
): Pick<IgnoredEvent, 'recordWrites' | 'cancelPending' | 'isAccountDeleted' | 'roomStatus'> {
  const gone: readonly RecordWrite[] = [
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, actor) },
    { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, actor) },
    { kind: 'remove', family: peerFamilies.block, key: peerKey(agent, actor) },
  ]
  const place = peerKey(agent, actor)
  return {
    recordWrites: gone,
    isAccountDeleted: true,
    cancelPending: { orderKeyPrefix: personOrderKey(agent, actor) },
    roomStatus: { room: place, closed: 'actor_deleted', at },
  }
}
