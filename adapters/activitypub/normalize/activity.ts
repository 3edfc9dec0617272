// Normalizes one activity. Only what a person says to an agent becomes a message. Pure.
import type { Connection, InboundEvent, RawRequest } from '../../../src/contract/index.ts'
import { type ActivityPayload, nothingKnown } from '../wire/activity.ts'
import {
  type ActivityContext,
  agentsByIri,
  ignoreActivity,
  ignoreSilently,
  isOwnIri,
  type LocalAgents,
} from './activity-context.ts'
import { accountDeleted, normalizeDelete } from './delete.ts'
import {
  normalizeBlock,
  normalizeFlag,
  normalizeFollow,
  normalizeUndoBlock,
  normalizeUndoFollow,
} from './follow-and-block.ts'
import { normalizeNote } from './note.ts'

/** They ask for nothing and come in numbers: the closed list of what leaves no row. */
const quiet: ReadonlySet<string> = new Set(
  'Like Dislike EmojiReact Announce Add Remove View Read Listen Arrive'.split(' '),
)

export function normalizeActivity(
  home: LocalAgents,
  payload: ActivityPayload,
  arrival: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  if (payload.kind === 'departed') return normalizeDeparted(home, payload, arrival)
  const facts = payload.kind === 'unproven' ? nothingKnown : payload.facts
  const scene: ActivityContext = { ...home, gated: payload.gated, facts, arrival, connection }
  if (payload.kind === 'unproven') return [ignoreActivity(scene, payload.reason)]
  return isOwnIri(scene, payload.gated.signer.id) ? [ignoreActivity(scene, 'own_message')] : normalizeByType(scene)
}

function normalizeByType(scene: ActivityContext): readonly InboundEvent[] {
  const { activity, signer } = scene.gated
  const { type, object } = activity
  const objectId = typeof object === 'string' ? object : object?.id
  if (quiet.has(type)) return [ignoreSilently(scene, `activity_${type.toLowerCase()}`)]
  switch (type) {
    case 'Create':
      return normalizeNote(scene, object)
    case 'Update':
      return objectId === signer.id ? [ignoreSilently(scene, 'profile_updated')] : normalizeNote(scene, object)
    case 'Delete':
      return normalizeDelete(scene, object)
    case 'Follow':
      return [normalizeFollow(scene)]
    case 'Undo':
      return [normalizeUndo(scene)]
    case 'Block':
      return [normalizeBlock(scene)]
    case 'Flag':
      return [normalizeFlag(scene)]
    case 'Accept':
    case 'Reject':
      // Our agents never send a Follow.
      return [ignoreActivity(scene, 'unasked_answer')]
    case 'Move':
      return [ignoreActivity(scene, 'moved')]
    default:
      return [ignoreActivity(scene, 'unknown_activity')]
  }
}

/** Only their own: what another actor did is not theirs to undo. */
function normalizeUndo(scene: ActivityContext): InboundEvent {
  const { activity, signer } = scene.gated
  const { inner } = activity
  if (inner !== undefined && inner.actor !== signer.id) return ignoreActivity(scene, 'not_their_own')
  // What was deleted was forgotten for good: there is nothing to restore, and a person who wants an answer writes again.
  if (inner?.type === 'Delete') return ignoreActivity(scene, 'deleted_for_good')
  if (inner !== undefined && quiet.has(inner.type)) return ignoreSilently(scene, `undo_${inner.type.toLowerCase()}`)
  const target = typeof inner?.object === 'string' ? inner.object : inner?.object?.id
  const [embedded] = target === undefined ? [] : agentsByIri(scene, [target])
  const undone =
    inner === undefined || embedded === undefined ? scene.facts.undone : { kind: inner.type, agent: embedded }
  if (undone?.kind === 'Follow') return normalizeUndoFollow(scene, undone.agent)
  if (undone?.kind === 'Block') return normalizeUndoBlock(scene, undone.agent)
  return ignoreActivity(scene, 'unknown_undo')
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
    ...accountDeleted(agent, activity.actor, receivedAt),
  }))
}
