// Hop 3: who follows an agent. A follow is answered by the protocol's own rules; only the operator decides who may. Pure.
import type { IgnoredEvent, RecordWrite } from '../../../src/contract/index.ts'
import { iriHost } from '../gate/hosts.ts'
import { answerFollow, type FollowRecord, followerEffects, followRound, requestEffects } from '../wire/asker.ts'
import { followerKey, ownFamilies } from '../wire/own-records.ts'
import { peerFamilies, peerKey } from '../wire/peer-records.ts'
import { agentsByIri } from './audience.ts'
import { type ActivityContext, activityDeliveryId, ignoreActivity, safeIri } from './scene.ts'

export function normalizeFollow(scene: ActivityContext): IgnoredEvent {
  const { activity, signer } = scene.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsByIri(scene, object === undefined ? [] : [object])
  if (agent === undefined) return ignoreActivity(scene, 'unknown_actor')
  const id = safeIri(activity.id)
  if (id === undefined) return ignoreActivity(scene, 'unusable_id')
  // Who asks again later signs anew and is answered again; who sends a copy of the request is not, also after an Undo.
  const once = (scene.gated.once ?? []).map(({ key, forMs }) => ({
    key: `activitypub:${scene.connection.id}:${key}`,
    forMs,
  }))
  if (scene.facts.blocked.includes(agent)) return ignoreActivity(scene, 'blocked_by_author', { once })
  const { receivedAt } = scene.arrival
  const { inbox, sharedInbox = null } = signer
  const asker: FollowRecord = { agent, actor: signer.id, inbox, sharedInbox, follow: id, askedAt: receivedAt }
  const known = { deliveryId: `${activityDeliveryId(scene).slice(0, 490)} ${followRound(receivedAt)}`, once }
  const replyToFollow = (type: 'Accept' | 'Reject') => [answerFollow(scene.places.actor(agent), asker, type)]
  switch (scene.manners.follow) {
    case 'reject':
      return ignoreActivity(scene, 'follow_rejected', { ...known, sends: replyToFollow('Reject') })
    case 'manual':
      return ignoreActivity(scene, 'follow_requested', {
        ...known,
        effects: requestEffects(asker),
        isForOperator: true,
      })
    case 'accept':
      return ignoreActivity(scene, 'followed', {
        ...known,
        effects: followerEffects(asker),
        sends: replyToFollow('Accept'),
      })
    default:
      return scene.manners.follow satisfies never
  }
}

/** The follow itself, or its address alone, which is known from when it came. */
export function normalizeUndoFollow(scene: ActivityContext, agent: string): IgnoredEvent {
  const { activity, signer } = scene.gated
  const named = safeIri(activity.inner?.id ?? (typeof activity.object === 'string' ? activity.object : undefined))
  // Knowing the address of another actor's follow is not enough to undo it.
  const follow = named !== undefined && iriHost(named) === iriHost(signer.id) ? named : undefined
  const effects: readonly RecordWrite[] = [
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, signer.id) },
    { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, signer.id) },
    ...(follow === undefined ? [] : [{ kind: 'remove', family: peerFamilies.follow, key: follow } as const]),
  ]
  return ignoreActivity(scene, 'unfollowed', { effects })
}
