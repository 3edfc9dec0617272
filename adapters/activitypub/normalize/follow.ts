// Hop 3: who follows an agent. A follow is answered by the protocol's own rules; only the operator decides who may. Pure.
import type { ArrivedNothing, Effect } from '../../../src/contract/index.ts'
import { hostOf } from '../gate/hosts.ts'
import { type Asker, answerFollow, followerEffects, requestEffects, roundOf } from '../wire/asker.ts'
import { families, followerKey } from '../wire/own-records.ts'
import { peerFamilies, peerKey } from '../wire/peer-records.ts'
import { agentsAt } from './audience.ts'
import { deliveryIdOf, ignored, plainName, type Scene } from './scene.ts'

export function fromFollow(scene: Scene): ArrivedNothing {
  const { activity, signer } = scene.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsAt(scene, object === undefined ? [] : [object])
  if (agent === undefined) return ignored(scene, 'unknown_actor')
  const id = plainName(activity.id)
  if (id === undefined) return ignored(scene, 'unusable_id')
  // Who asks again later signs anew and is answered again; who sends a copy of the request is not, also after an Undo.
  const once = (scene.gated.once ?? []).map(({ key, forMs }) => ({
    key: `activitypub:${scene.connection.id}:${key}`,
    forMs,
  }))
  if (scene.facts.blocked.includes(agent)) return ignored(scene, 'blocked_by_author', { once })
  const { receivedAt } = scene.arrival
  const { inbox, sharedInbox = null } = signer
  const asker: Asker = { agent, actor: signer.id, inbox, sharedInbox, follow: id, askedAt: receivedAt }
  const known = { deliveryId: `${deliveryIdOf(scene).slice(0, 490)} ${roundOf(receivedAt)}`, once }
  const answer = (type: 'Accept' | 'Reject') => [answerFollow(scene.places.actor(agent), asker, type)]
  switch (scene.manners.follow) {
    case 'reject':
      return ignored(scene, 'follow_rejected', { ...known, sends: answer('Reject') })
    case 'manual':
      return ignored(scene, 'follow_requested', {
        ...known,
        effects: requestEffects(asker),
        isForOperator: true,
      })
    case 'accept':
      return ignored(scene, 'followed', { ...known, effects: followerEffects(asker), sends: answer('Accept') })
    default:
      return scene.manners.follow satisfies never
  }
}

/** The follow itself, or its address alone, which is known from when it came. */
export function fromUndoFollow(scene: Scene, agent: string): ArrivedNothing {
  const { activity, signer } = scene.gated
  const named = plainName(activity.inner?.id ?? (typeof activity.object === 'string' ? activity.object : undefined))
  // Knowing the address of another actor's follow is not enough to undo it.
  const follow = named !== undefined && hostOf(named) === hostOf(signer.id) ? named : undefined
  const effects: readonly Effect[] = [
    { kind: 'remove', family: families.follower, key: followerKey(agent, signer.id) },
    { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, signer.id) },
    ...(follow === undefined ? [] : [{ kind: 'remove', family: peerFamilies.follow, key: follow } as const]),
  ]
  return ignored(scene, 'unfollowed', { effects })
}
