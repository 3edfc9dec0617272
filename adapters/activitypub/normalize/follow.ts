// Hop 3: who follows an agent. A follow is answered by the protocol's own rules: by nobody's leave but the operator's. Pure.
import type { ArrivedNothing, Effect, JsonObject } from '../../../src/contract/index.ts'
import type { InboxCall } from '../wire/call.ts'
import { families, followerKey } from '../wire/own-records.ts'
import { orderKeyOf, peerFamilies, peerKey } from '../wire/peer-records.ts'
import { agentsAt } from './audience.ts'
import { deliveryIdOf, ignored, plainName, type Scene } from './scene.ts'

const asContext = 'https://www.w3.org/ns/activitystreams'
/** Whoever asks again after this is answered again: the first answer may have been lost. */
const answeredMs = 60 * 60 * 1000

export function fromFollow(scene: Scene): ArrivedNothing {
  const { activity, signer } = scene.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsAt(scene, object === undefined ? [] : [object])
  if (agent === undefined) return ignored(scene, 'unknown_actor')
  const id = plainName(activity.id)
  if (id === undefined) return ignored(scene, 'unusable_id')
  if (scene.facts.blocked.includes(agent)) return ignored(scene, 'blocked_by_author')
  const round = Math.floor(Date.parse(scene.arrival.receivedAt) / answeredMs)
  const deliveryId = `${deliveryIdOf(scene).slice(0, 490)} ${round}`
  const follow = { id, agent, round }
  const facts = { actor: signer.id, inbox: signer.inbox, shared_inbox: signer.sharedInbox ?? null, follow: id }
  const mine = { agent, subject: signer.id }
  switch (scene.manners.follow) {
    case 'reject':
      return ignored(scene, 'follow_rejected', { deliveryId, sends: [answer(scene, follow, 'Reject')] })
    case 'manual': {
      const key = peerKey(agent, signer.id)
      const effects: readonly Effect[] = [{ kind: 'put', family: peerFamilies.request, key, value: facts, ...mine }]
      return ignored(scene, 'follow_requested', { deliveryId, effects })
    }
    case 'accept': {
      const key = followerKey(agent, signer.id)
      const effects: readonly Effect[] = [
        { kind: 'put', family: families.follower, key, value: facts, ...mine },
        { kind: 'put', family: peerFamilies.follow, key: id, value: { agent, actor: signer.id }, ...mine },
      ]
      return ignored(scene, 'followed', { deliveryId, effects, sends: [answer(scene, follow, 'Accept')] })
    }
    default:
      return scene.manners.follow satisfies never
  }
}

/** `id`: of the Follow. `round`: which of our answers to it. */
type Asked = { readonly id: string; readonly agent: string; readonly round: number }

function answer(
  { places, gated: { signer } }: Scene,
  { id, agent, round }: Asked,
  type: 'Accept' | 'Reject',
): NonNullable<ArrivedNothing['sends']>[number] {
  const actor = places.actor(agent)
  // Only what is needed to find it: some servers refuse a follow that comes back with more than they sent.
  const follow: JsonObject = { id, type: 'Follow', actor: signer.id, object: actor }
  const name = `${type.toLowerCase()}-${encodeURIComponent(id)}-${round}`
  const call: InboxCall = {
    op: 'deliver',
    agent,
    inbox: signer.inbox,
    is_shared: false,
    activity: { '@context': asContext, id: `${actor}#${name}`, type, actor, to: [signer.id], object: follow },
  }
  return { call, orderKey: orderKeyOf(agent, signer.id), clientId: `${agent}:${name}`.slice(0, 1500) }
}

/** The follow itself, or its address alone, which is known from when it came. */
export function fromUndoFollow(scene: Scene, agent: string): ArrivedNothing {
  const { activity, signer } = scene.gated
  const follow = plainName(activity.inner?.id ?? (typeof activity.object === 'string' ? activity.object : undefined))
  const effects: readonly Effect[] = [
    { kind: 'remove', family: families.follower, key: followerKey(agent, signer.id) },
    { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, signer.id) },
    ...(follow === undefined ? [] : [{ kind: 'remove', family: peerFamilies.follow, key: follow } as const]),
  ]
  return ignored(scene, 'unfollowed', { effects })
}
