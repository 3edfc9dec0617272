// What an activity is read against: where it came to, who is here, and how the operator wants to be treated. Pure.
import type { ArrivedNothing, Connection, RawArrival } from '../../../src/contract/index.ts'
import { formatAddress } from '../../../src/contract/index.ts'
import type { Places } from '../documents/places.ts'
import type { Manners } from '../manners/manners.ts'
import type { GatedActivity } from '../wire/activity.ts'
import type { KnownFacts } from '../wire/payload.ts'

/** What stays the same from one activity to the next. */
export type Home = {
  readonly places: Places
  /** Slugs of the agents that are on this connection. */
  readonly agents: readonly string[]
  readonly manners: Manners
}

export type Scene = Home & {
  readonly gated: GatedActivity
  readonly facts: KnownFacts
  readonly arrival: RawArrival
  readonly connection: Connection
}

export function recipientOf({ connection }: Scene, agent: string): string {
  return formatAddress({ local: agent, domain: connection.domain })
}

/** Its sender's name for what came: the activity's, or that of what it is about. */
export function deliveryIdOf({ gated: { activity } }: Pick<Scene, 'gated'>): string {
  const { id, type, object, actor } = activity
  const about = typeof object === 'string' ? object : object?.id
  return (id ?? `${about ?? actor}#${type.toLowerCase()}`).slice(0, 512)
}

export type Ignored = Omit<ArrivedNothing, 'kind' | 'reason' | 'isNoise' | 'raw' | 'deliveryId' | 'subject'> & {
  readonly deliveryId?: string
}

/** Kept as a row, with why. */
export function ignored(scene: Scene, reason: string, more: Ignored = {}): ArrivedNothing {
  const { activity, signer } = scene.gated
  const deliveryId = deliveryIdOf(scene)
  return { kind: 'ignored', reason, isNoise: false, deliveryId, subject: signer.id, raw: activity.raw, ...more }
}

/** On the closed list of what leaves no row: it says nothing to us, and others' talk is not ours to keep. */
export function noise(scene: Scene, reason: string): ArrivedNothing {
  return { ...ignored(scene, reason), isNoise: true }
}

/** Short enough for an index, and nothing hidden in it. */
export function plainName(iri: string | undefined, maxLength = 1000): string | undefined {
  return iri !== undefined && iri.length <= maxLength && /^[\x21-\x7e]+$/.test(iri) ? iri : undefined
}
