// Who asked to follow an agent, as it is kept: beside a request, and beside a follower. Pure.
import type { JsonObject, ProtocolReply, RecordWrite } from '../../../src/contract/index.ts'
import type { InboxCall } from './call.ts'
import { followerKey, ownFamilies } from './own-records.ts'
import { peerFamilies, peerKey, personOrderKey } from './peer-records.ts'

export type FollowRecord = {
  readonly agent: string
  readonly actor: string
  readonly inbox: string
  readonly sharedInbox: string | null
  /** IRI of the Follow. */
  readonly follow: string
  readonly askedAt: string
}

const asContext = 'https://www.w3.org/ns/activitystreams'
/** A request that is repeated after this is answered again: the first answer may have been lost. */
const answeredMs = 60 * 60 * 1000

/** Which of the times they asked: within one they are answered once. */
export function followRound(askedAt: string): number {
  const at = Date.parse(askedAt)
  return Number.isFinite(at) ? Math.floor(at / answeredMs) : 0
}

export function requestEffects(asker: FollowRecord): readonly RecordWrite[] {
  const { agent, actor } = asker
  const key = peerKey(agent, actor)
  return [{ kind: 'put', family: peerFamilies.request, key, value: followToJson(asker), agent, subject: actor }]
}

/** They follow from now on, and an Undo may name their Follow alone. */
export function followerEffects(asker: FollowRecord): readonly RecordWrite[] {
  const { agent, actor, follow } = asker
  const mine = { agent, subject: actor }
  return [
    { kind: 'put', family: ownFamilies.follower, key: followerKey(agent, actor), value: followToJson(asker), ...mine },
    { kind: 'put', family: peerFamilies.follow, key: follow, value: { agent, actor }, ...mine },
  ]
}

function followToJson({ actor, inbox, sharedInbox, follow, askedAt }: FollowRecord): JsonObject {
  return { actor, inbox, shared_inbox: sharedInbox, follow, asked_at: askedAt }
}

/** Undefined: what is kept is not enough to answer. */
export function parseFollow(agent: string, value: JsonObject): FollowRecord | undefined {
  const { actor, inbox, shared_inbox: shared, follow, asked_at: askedAt } = value
  if (typeof actor !== 'string' || typeof inbox !== 'string' || typeof follow !== 'string') return undefined
  const sharedInbox = typeof shared === 'string' ? shared : null
  return { agent, actor, inbox, sharedInbox, follow, askedAt: typeof askedAt === 'string' ? askedAt : '' }
}

/** `own`: the agent as others know it. */
export function answerFollow(own: string, asker: FollowRecord, type: 'Accept' | 'Reject'): ProtocolReply {
  const { agent, actor, inbox, follow, askedAt } = asker
  // Only what is needed to find it: some servers refuse a follow that comes back with more than they sent.
  const object: JsonObject = { id: follow, type: 'Follow', actor, object: own }
  const name = `${type.toLowerCase()}-${encodeURIComponent(follow)}-${followRound(askedAt)}`
  const call: InboxCall = {
    op: 'deliver',
    agent,
    inbox,
    is_shared: false,
    activity: { '@context': asContext, id: `${own}#${name}`, type, actor: own, to: [actor], object },
  }
  return { call, orderKey: personOrderKey(agent, actor), clientId: `${agent}:${name}`.slice(0, 1500) }
}
