// Records of this channel, by family: followers and requests, blocks, reports, key generations.

import type { IgnoredEvent, Records, RecordWrite } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import type { InboxCall } from './delivery.ts'

export const peerFamilies = {
  /** Who follows by which activity, so that an Undo may name that alone. Key: its IRI. Value: `{ agent, actor }`. */
  follow: 'follow',
  /** Who asked to follow and waits for the operator. Key: `peerKey`. Value: like a follower. */
  request: 'follow_request',
  /** Who has blocked an agent. Key: `peerKey`. Value: `{ agent, actor, block }`. */
  block: 'block',
  /** Which agents a note was for, where they were several or it was to a community. Key: its IRI. Value: `{ agents, author }`. */
  shared: 'shared_note',
  /** What another server reported to the operator. Key: IRI of the report. Value: `{ actor, about, complaint, at }`. */
  flag: 'flag',
  /** The same once the operator is done with it, with `closed_at`. */
  closedFlag: 'closed_flag',
} as const

/** An agent's name holds no white space, so no two pairs have one key. What `Places` calls a person, too. */
export function peerKey(agent: string, actor: string): string {
  return `${agent} ${actor}`
}

/** What goes to one person goes in this order. It has an end, so that no key is the beginning of another. */
export function perPersonDeliveryOrderKey(agent: string, actor: string): string {
  return `${peerKey(agent, actor)} >`
}

export async function isAgentBlockedBy(records: Records, agent: string, actor: string): Promise<boolean> {
  return (await records.get(peerFamilies.block, peerKey(agent, actor))) !== undefined
}

// Followers of an agent, and how often its keys were rotated (its posts: delivery.ts).

export const ownFamilies = {
  /** Key: `followerKey`. Value: whom to tell where, and by which Follow of when (`FollowRecord`). */
  follower: 'follower',
  /** How often the keys of an actor were made anew. Key: its name. */
  keys: 'keys',
} as const

export function followerKey(agent: string, actor: string): string {
  return `${agent} ${actor}`
}

// Blocks are the operator's own list, and no person's erasure removes them.

export const blockFamilies = {
  /** Key: a host, or the address of an actor. Value: `{ severity, comment }`. */
  peer: 'blocked_peer',
  /** Another one after every change, so that a replica that holds the list knows when to read it again. Key: `all`. Value: `{ version }`. */
  version: 'blocked_version',
} as const

export const versionKey = 'all'

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
export function followRequestHourIndex(askedAt: string): number {
  const at = Date.parse(askedAt)
  return Number.isFinite(at) ? Math.floor(at / answeredMs) : 0
}

export function followRequestWrites(asker: FollowRecord): readonly RecordWrite[] {
  const { agent, actor } = asker
  const key = peerKey(agent, actor)
  return [{ kind: 'put', family: peerFamilies.request, key, value: followToJson(asker), agent, subject: actor }]
}

/** They follow from now on, and an Undo may name their Follow alone. */
export function followerWrites(asker: FollowRecord): readonly RecordWrite[] {
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
export function parseStoredFollowRecord(agent: string, value: JsonObject): FollowRecord | undefined {
  const { actor, inbox, shared_inbox: shared, follow, asked_at: askedAt } = value
  if (typeof actor !== 'string' || typeof inbox !== 'string' || typeof follow !== 'string') return undefined
  const sharedInbox = typeof shared === 'string' ? shared : null
  return { agent, actor, inbox, sharedInbox, follow, askedAt: typeof askedAt === 'string' ? askedAt : '' }
}

export type ProtocolReply = NonNullable<IgnoredEvent['protocolReplies']>[number]

/** `own`: the agent as others know it. */
export function buildFollowAnswerCall(own: string, asker: FollowRecord, type: 'Accept' | 'Reject'): ProtocolReply {
  const { agent, actor, inbox, follow, askedAt } = asker
  // Only what is needed to find it: some servers refuse a follow that comes back with more than they sent.
  const object: JsonObject = { id: follow, type: 'Follow', actor, object: own }
  const name = `${type.toLowerCase()}-${encodeURIComponent(follow)}-${followRequestHourIndex(askedAt)}`
  const call: InboxCall = {
    op: 'deliver',
    agent,
    inbox,
    is_shared: false,
    activity: { '@context': asContext, id: `${own}#${name}`, type, actor: own, to: [actor], object },
  }
  return { call, orderKey: perPersonDeliveryOrderKey(agent, actor), clientId: `${agent}:${name}`.slice(0, 1500) }
}
