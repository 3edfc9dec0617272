// Normalizes Follow, Block and Flag. A follow is answered by the protocol's own rules; only the operator decides who may. Pure.
import type { IgnoredEvent, RecordWrite } from '../../../src/contract/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import { iriHost } from '../signatures/host-authority.ts'
import {
  answerFollow,
  type FollowRecord,
  followerEffects,
  followerKey,
  followRound,
  ownFamilies,
  peerFamilies,
  peerKey,
  personOrderKey,
  requestEffects,
} from '../wire/records.ts'
import { type ActivityContext, activityDeliveryId, agentsByIri, ignoreActivity, safeIri } from './activity-context.ts'

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
      return ignoreActivity(scene, 'follow_rejected', { ...known, protocolReplies: replyToFollow('Reject') })
    case 'manual':
      return ignoreActivity(scene, 'follow_requested', {
        ...known,
        recordWrites: requestEffects(asker),
        isForOperator: true,
      })
    case 'accept':
      return ignoreActivity(scene, 'followed', {
        ...known,
        recordWrites: followerEffects(asker),
        protocolReplies: replyToFollow('Accept'),
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
  return ignoreActivity(scene, 'unfollowed', { recordWrites: effects })
}

// An actor that blocks or reports an agent says nothing to it. Pure.

/** Nothing goes there any more, also not what waits; no server is told. */
export function normalizeBlock(scene: ActivityContext): IgnoredEvent {
  const { activity, signer } = scene.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsByIri(scene, object === undefined ? [] : [object])
  if (agent === undefined) return ignoreActivity(scene, 'unknown_actor')
  const place = peerKey(agent, signer.id)
  const value = { agent, actor: signer.id }
  const mine = { agent, subject: signer.id }
  const block = safeIri(activity.id)
  const effects: readonly RecordWrite[] = [
    { kind: 'put', family: peerFamilies.block, key: place, value: { ...value, block: block ?? null }, ...mine },
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, signer.id) },
    ...(block === undefined
      ? []
      : [
          {
            kind: 'put',
            family: peerFamilies.follow,
            key: block,
            value: { ...value, kind: 'Block' },
            ...mine,
          } as const,
        ]),
  ]
  const roomStatus = { room: place, closed: 'blocked', at: scene.arrival.receivedAt }
  return ignoreActivity(scene, 'blocked_by_author', {
    recordWrites: effects,
    cancelPending: { orderKeyPrefix: personOrderKey(agent, signer.id) },
    roomStatus,
  })
}

export function normalizeUndoBlock(scene: ActivityContext, agent: string): IgnoredEvent {
  const place = peerKey(agent, scene.gated.signer.id)
  const effects: readonly RecordWrite[] = [{ kind: 'remove', family: peerFamilies.block, key: place }]
  return ignoreActivity(scene, 'unblocked', {
    recordWrites: effects,
    roomStatus: { room: place, closed: null, at: scene.arrival.receivedAt },
  })
}

const maxReported = 100
const maxComplaint = 5000

/** For the operator, who alone decides what comes of it. */
export function normalizeFlag(scene: ActivityContext): IgnoredEvent {
  const { activity, signer } = scene.gated
  const { object, content } = activity.raw
  const about = (Array.isArray(object) ? object : [object]).flatMap((each) => {
    const iri = typeof each === 'object' && each !== null && !Array.isArray(each) ? each['id'] : each
    return typeof iri === 'string' ? (safeIri(iri) ?? []) : []
  })
  const value = {
    actor: signer.id,
    about: about.slice(0, maxReported),
    at: scene.arrival.receivedAt,
    complaint: typeof content === 'string' ? htmlToText(content, { maxLength: maxComplaint }) : '',
  }
  const key = activityDeliveryId(scene)
  const effects: readonly RecordWrite[] = [{ kind: 'put', family: peerFamilies.flag, key, value, subject: signer.id }]
  return ignoreActivity(scene, 'flag_received', { recordWrites: effects, isForOperator: true })
}
