// Hop 3: one activity, and what it asks of us. Only what a person says to an agent becomes a message. Pure.
import type { Arrived, Connection, RawArrival } from '../../../src/contract/index.ts'
import { type ActivityPayload, nothingKnown } from '../wire/payload.ts'
import { agentsAt, isOurs } from './audience.ts'
import { fromFollow, fromUndoFollow } from './follow.ts'
import { fromNote } from './note.ts'
import { fromBlock, fromFlag, fromUndoBlock } from './peers.ts'
import { type Home, ignored, noise, type Scene } from './scene.ts'
import { farewell, fromDelete } from './withdrawal.ts'

/** They ask for nothing and come in numbers: the closed list of what leaves no row. */
const quiet: ReadonlySet<string> = new Set(
  'Like Dislike EmojiReact Announce Add Remove View Read Listen Arrive'.split(' '),
)

export function normalizeActivity(
  home: Home,
  payload: ActivityPayload,
  arrival: RawArrival,
  connection: Connection,
): readonly Arrived[] {
  if (payload.kind === 'departed') return departed(home, payload, arrival)
  const facts = payload.kind === 'unproven' ? nothingKnown : payload.facts
  const scene: Scene = { ...home, gated: payload.gated, facts, arrival, connection }
  if (payload.kind === 'unproven') return [ignored(scene, payload.reason)]
  return isOurs(scene, payload.gated.signer.id) ? [ignored(scene, 'own_message')] : fromActivity(scene)
}

function fromActivity(scene: Scene): readonly Arrived[] {
  const { activity, signer } = scene.gated
  const { type, object } = activity
  const objectId = typeof object === 'string' ? object : object?.id
  if (quiet.has(type)) return [noise(scene, `activity_${type.toLowerCase()}`)]
  switch (type) {
    case 'Create':
      return fromNote(scene, object)
    case 'Update':
      return objectId === signer.id ? [noise(scene, 'profile_updated')] : fromNote(scene, object)
    case 'Delete':
      return fromDelete(scene, object)
    case 'Follow':
      return [fromFollow(scene)]
    case 'Undo':
      return [fromUndo(scene)]
    case 'Block':
      return [fromBlock(scene)]
    case 'Flag':
      return [fromFlag(scene)]
    case 'Accept':
    case 'Reject':
      // Our agents never send a Follow.
      return [ignored(scene, 'unasked_answer')]
    case 'Move':
      return [ignored(scene, 'moved')]
    default:
      return [ignored(scene, 'unknown_activity')]
  }
}

/** Only their own: what another actor did is not theirs to undo. */
function fromUndo(scene: Scene): Arrived {
  const { activity, signer } = scene.gated
  const { inner } = activity
  if (inner !== undefined && inner.actor !== signer.id) return ignored(scene, 'not_their_own')
  // What was deleted was forgotten for good: there is nothing to restore, and a person who wants an answer writes again.
  if (inner?.type === 'Delete') return ignored(scene, 'deleted_for_good')
  if (inner !== undefined && quiet.has(inner.type)) return noise(scene, `undo_${inner.type.toLowerCase()}`)
  const target = typeof inner?.object === 'string' ? inner.object : inner?.object?.id
  const [embedded] = target === undefined ? [] : agentsAt(scene, [target])
  const undone =
    inner === undefined || embedded === undefined ? scene.facts.undone : { kind: inner.type, agent: embedded }
  if (undone?.kind === 'Follow') return fromUndoFollow(scene, undone.agent)
  if (undone?.kind === 'Block') return fromUndoBlock(scene, undone.agent)
  return ignored(scene, 'unknown_undo')
}

/** Their key is gone with them, so that nothing could be verified; that they are gone, their own server has said. */
function departed(
  { agents }: Home,
  { activity }: Extract<ActivityPayload, { kind: 'departed' }>,
  { receivedAt }: RawArrival,
): readonly Arrived[] {
  return agents.map((agent) => ({
    kind: 'ignored',
    reason: 'actor_deleted',
    isNoise: false,
    deliveryId: `${activity.actor}#gone ${agent}`.slice(0, 512),
    subject: activity.actor,
    raw: activity.raw,
    ...farewell(agent, activity.actor, receivedAt),
  }))
}
