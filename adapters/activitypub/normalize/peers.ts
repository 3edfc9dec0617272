// Hop 3: what an actor does about an agent without saying anything to it: blocks it, or reports it. Pure.
import type { IgnoredEvent, RecordWrite } from '../../../src/contract/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import { followerKey, ownFamilies } from '../wire/own-records.ts'
import { peerFamilies, peerKey, personOrderKey } from '../wire/peer-records.ts'
import { agentsByIri } from './audience.ts'
import { type ActivityContext, activityDeliveryId, ignoreActivity, safeIri } from './scene.ts'

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
  const reach = { place, closed: 'blocked', at: scene.arrival.receivedAt }
  return ignoreActivity(scene, 'blocked_by_author', {
    effects,
    cancels: { orderKeyPrefix: personOrderKey(agent, signer.id) },
    reach,
  })
}

export function normalizeUndoBlock(scene: ActivityContext, agent: string): IgnoredEvent {
  const place = peerKey(agent, scene.gated.signer.id)
  const effects: readonly RecordWrite[] = [{ kind: 'remove', family: peerFamilies.block, key: place }]
  return ignoreActivity(scene, 'unblocked', { effects, reach: { place, closed: null, at: scene.arrival.receivedAt } })
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
  return ignoreActivity(scene, 'flag_received', { effects, isForOperator: true })
}
