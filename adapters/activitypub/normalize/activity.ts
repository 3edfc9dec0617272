// Normalizes one activity. Only what a person says to an agent becomes a message. Pure.
import {
  type Connection,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type RawRequest,
  type RecordWrite,
  textPart,
} from '../../../src/contract/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import { iriHost } from '../signatures/host-authority.ts'
import { type ActivityPayload, nothingKnown, type ReadObject } from '../wire/activity.ts'
import {
  buildFollowAnswerCall,
  type FollowRecord,
  followerKey,
  followerWrites,
  followRequestHourIndex,
  followRequestWrites,
  ownFamilies,
  peerFamilies,
  peerKey,
  perPersonDeliveryOrderKey,
} from '../wire/records.ts'
import {
  type ActivityContext,
  activityDeliveryId,
  agentHandle,
  agentsByIri,
  ignoreActivity,
  ignoreAsNoise,
  isOwnIri,
  type LocalAgents,
  safeIri,
} from './activity-context.ts'
import { actorSender, normalizeNote } from './note.ts'

/** They ask for nothing and come in numbers: the closed list of what leaves no row. */
const quiet: ReadonlySet<string> = new Set(
  'Like Dislike EmojiReact Announce Add Remove View Read Listen Arrive'.split(' '),
)

export function normalizeActivity(
  home: LocalAgents,
  payload: ActivityPayload,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  if (payload.kind === 'departed') return normalizeDeparted(home, payload, rawRequest)
  const facts = payload.kind === 'unproven' ? nothingKnown : payload.facts
  const context: ActivityContext = { ...home, gated: payload.gated, facts, rawRequest, connection }
  if (payload.kind === 'unproven') return [ignoreActivity(context, payload.reason)]
  return isOwnIri(context, payload.gated.signer.id)
    ? [ignoreActivity(context, 'own_message')]
    : normalizeByType(context)
}

function normalizeByType(context: ActivityContext): readonly InboundEvent[] {
  const { activity, signer } = context.gated
  const { type, object } = activity
  const objectId = typeof object === 'string' ? object : object?.id
  if (quiet.has(type)) return [ignoreAsNoise(context, `activity_${type.toLowerCase()}`)]
  switch (type) {
    case 'Create':
      return normalizeNote(context, object)
    case 'Update':
      return objectId === signer.id ? [ignoreAsNoise(context, 'profile_updated')] : normalizeNote(context, object)
    case 'Delete':
      return normalizeDelete(context, object)
    case 'Follow':
      return [normalizeFollow(context)]
    case 'Undo':
      return [normalizeUndo(context)]
    case 'Block':
      return [normalizeBlock(context)]
    case 'Flag':
      return [normalizeFlag(context)]
    case 'Accept':
    case 'Reject':
      // Our agents never send a Follow.
      return [ignoreActivity(context, 'unasked_answer')]
    case 'Move':
      return [ignoreActivity(context, 'moved')]
    default:
      return [ignoreActivity(context, 'unknown_activity')]
  }
}

/** Only their own: what another actor did is not theirs to undo. */
function normalizeUndo(context: ActivityContext): InboundEvent {
  const { activity, signer } = context.gated
  const { inner } = activity
  if (inner !== undefined && inner.actor !== signer.id) return ignoreActivity(context, 'not_their_own')
  // What was deleted was forgotten for good: there is nothing to restore, and a person who wants an answer writes again.
  if (inner?.type === 'Delete') return ignoreActivity(context, 'deleted_for_good')
  if (inner !== undefined && quiet.has(inner.type)) return ignoreAsNoise(context, `undo_${inner.type.toLowerCase()}`)
  const target = typeof inner?.object === 'string' ? inner.object : inner?.object?.id
  const [embedded] = target === undefined ? [] : agentsByIri(context, [target])
  const undone =
    inner === undefined || embedded === undefined ? context.facts.undone : { kind: inner.type, agent: embedded }
  if (undone?.kind === 'Follow') return normalizeUndoFollow(context, undone.agent)
  if (undone?.kind === 'Block') return normalizeUndoBlock(context, undone.agent)
  return ignoreActivity(context, 'unknown_undo')
}

/** Their key is gone with them, so that nothing could be verified; that they are gone, their own server has said. */
function normalizeDeparted(
  { agents }: LocalAgents,
  { activity }: Extract<ActivityPayload, { kind: 'departed' }>,
  { receivedAt }: RawRequest,
): readonly InboundEvent[] {
  return agents.map((agent) => ({
    kind: 'ignored',
    reason: 'actor_deleted',
    isNoise: false,
    deliveryId: `${activity.actor}#gone ${agent}`.slice(0, 512),
    subject: activity.actor,
    raw: activity.raw,
    ...toAccountDeletion(agent, activity.actor, receivedAt),
  }))
}

// Normalizes Delete: a note is taken back, or an account is deleted. Pure.

const maxIdLength = 400

/** A deletion names what it deletes and not the agents it was for: those that have it are found by its id. */
function normalizeDelete(context: ActivityContext, object: ReadObject | string | undefined): readonly InboundEvent[] {
  const { signer } = context.gated
  const named = typeof object === 'string' ? object : object?.id
  if (named === signer.id) return normalizeAccountDelete(context)
  const id = safeIri(named, maxIdLength)
  if (id === undefined) return [ignoreActivity(context, 'unusable_id')]
  const { shared } = context.facts
  const agents = context.agents.filter((agent) => shared.includes(agent))
  if (agents.length > 0) return agents.map((agent) => deleteToMessage(context, id, agent, true))
  return [deleteToMessage(context, id, context.connection.agent, false)]
}

function deleteToMessage(context: ActivityContext, id: string, agent: string, isAddressed: boolean): InboundMessage {
  const { signer, activity } = context.gated
  return {
    kind: 'message',
    message: {
      id: `${id}#delete`,
      thread_id: id,
      sender: actorSender(context, agent),
      recipient: agentHandle(context, agent),
      parts: [textPart('')],
      recipient_capabilities: {
        mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
      },
      received_via: 'activitypub',
      received_at: context.rawRequest.receivedAt,
      raw: activity.raw,
      channel: {
        connector_id: context.connection.id,
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
    deliveryId: activityDeliveryId(context),
    subject: signer.id,
    thread: { candidates: [`o:${id}`], platformVerified: false, newThreadKey: `o:${id}` },
    replyTo: { actor: signer.id, inbox: signer.inbox, agent },
  }
}

/** The account is gone: nothing goes to it any more, and what it said is erased. */
function normalizeAccountDelete(context: ActivityContext): readonly IgnoredEvent[] {
  const { id } = context.gated.signer
  const named = activityDeliveryId(context)
  return context.agents.map((agent, at) => ({
    ...ignoreActivity(context, 'actor_deleted', at === 0 ? {} : { deliveryId: `${named} ${agent}`.slice(0, 512) }),
    ...toAccountDeletion(agent, id, context.rawRequest.receivedAt),
  }))
}

/** They get nothing any more, are no longer a follower, and what they said is erased. */
function toAccountDeletion(
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
    cancelPending: { orderKeyPrefix: perPersonDeliveryOrderKey(agent, actor) },
    roomStatus: { room: place, closed: 'actor_deleted', at },
  }
}

// Normalizes Follow, Block and Flag. A follow is answered by the protocol's own rules; only the operator decides who may. Pure.

function normalizeFollow(context: ActivityContext): IgnoredEvent {
  const { activity, signer } = context.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsByIri(context, object === undefined ? [] : [object])
  if (agent === undefined) return ignoreActivity(context, 'unknown_actor')
  const id = safeIri(activity.id)
  if (id === undefined) return ignoreActivity(context, 'unusable_id')
  // Who asks again later signs anew and is answered again; who sends a copy of the request is not, also after an Undo.
  const once = (context.gated.once ?? []).map(({ key, forMs }) => ({
    key: `activitypub:${context.connection.id}:${key}`,
    forMs,
  }))
  if (context.facts.blocked.includes(agent)) return ignoreActivity(context, 'blocked_by_author', { once })
  const { receivedAt } = context.rawRequest
  const { inbox, sharedInbox = null } = signer
  const asker: FollowRecord = { agent, actor: signer.id, inbox, sharedInbox, follow: id, askedAt: receivedAt }
  const known = {
    deliveryId: `${activityDeliveryId(context).slice(0, 490)} ${followRequestHourIndex(receivedAt)}`,
    once,
  }
  const replyToFollow = (type: 'Accept' | 'Reject') => [buildFollowAnswerCall(context.places.actor(agent), asker, type)]
  switch (context.moderation.follow) {
    case 'reject':
      return ignoreActivity(context, 'follow_rejected', { ...known, protocolReplies: replyToFollow('Reject') })
    case 'manual':
      return ignoreActivity(context, 'follow_requested', {
        ...known,
        recordWrites: followRequestWrites(asker),
        isForOperator: true,
      })
    case 'accept':
      return ignoreActivity(context, 'followed', {
        ...known,
        recordWrites: followerWrites(asker),
        protocolReplies: replyToFollow('Accept'),
      })
    default:
      return context.moderation.follow satisfies never
  }
}

/** The follow itself, or its address alone, which is known from when it came. */
function normalizeUndoFollow(context: ActivityContext, agent: string): IgnoredEvent {
  const { activity, signer } = context.gated
  const named = safeIri(activity.inner?.id ?? (typeof activity.object === 'string' ? activity.object : undefined))
  // Knowing the address of another actor's follow is not enough to undo it.
  const follow = named !== undefined && iriHost(named) === iriHost(signer.id) ? named : undefined
  const effects: readonly RecordWrite[] = [
    { kind: 'remove', family: ownFamilies.follower, key: followerKey(agent, signer.id) },
    { kind: 'remove', family: peerFamilies.request, key: peerKey(agent, signer.id) },
    ...(follow === undefined ? [] : [{ kind: 'remove', family: peerFamilies.follow, key: follow } as const]),
  ]
  return ignoreActivity(context, 'unfollowed', { recordWrites: effects })
}

// An actor that blocks or reports an agent says nothing to it. Pure.

/** Nothing goes there any more, also not what waits; no server is told. */
function normalizeBlock(context: ActivityContext): IgnoredEvent {
  const { activity, signer } = context.gated
  const object = typeof activity.object === 'string' ? activity.object : activity.object?.id
  const [agent] = agentsByIri(context, object === undefined ? [] : [object])
  if (agent === undefined) return ignoreActivity(context, 'unknown_actor')
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
  const roomStatus = { room: place, closed: 'blocked', at: context.rawRequest.receivedAt }
  return ignoreActivity(context, 'blocked_by_author', {
    recordWrites: effects,
    cancelPending: { orderKeyPrefix: perPersonDeliveryOrderKey(agent, signer.id) },
    roomStatus,
  })
}

function normalizeUndoBlock(context: ActivityContext, agent: string): IgnoredEvent {
  const place = peerKey(agent, context.gated.signer.id)
  const effects: readonly RecordWrite[] = [{ kind: 'remove', family: peerFamilies.block, key: place }]
  return ignoreActivity(context, 'unblocked', {
    recordWrites: effects,
    roomStatus: { room: place, closed: null, at: context.rawRequest.receivedAt },
  })
}

const maxReported = 100
const maxComplaint = 5000

/** For the operator, who alone decides what comes of it. */
function normalizeFlag(context: ActivityContext): IgnoredEvent {
  const { activity, signer } = context.gated
  const { object, content } = activity.raw
  const about = (Array.isArray(object) ? object : [object]).flatMap((each) => {
    const iri = typeof each === 'object' && each !== null && !Array.isArray(each) ? each['id'] : each
    return typeof iri === 'string' ? (safeIri(iri) ?? []) : []
  })
  const value = {
    actor: signer.id,
    about: about.slice(0, maxReported),
    at: context.rawRequest.receivedAt,
    complaint: typeof content === 'string' ? htmlToText(content, { maxLength: maxComplaint }) : '',
  }
  const key = activityDeliveryId(context)
  const effects: readonly RecordWrite[] = [{ kind: 'put', family: peerFamilies.flag, key, value, subject: signer.id }]
  return ignoreActivity(context, 'flag_received', { recordWrites: effects, isForOperator: true })
}
