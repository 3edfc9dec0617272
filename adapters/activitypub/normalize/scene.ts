// What an activity is read against: where it came to, who is here, and how the operator wants to be treated. Pure.
import type { Connection, IgnoredEvent, RawRequest } from '../../../src/contract/index.ts'
import { formatAddress } from '../../../src/contract/index.ts'
import type { DocumentUrls } from '../documents/places.ts'
import type { ModerationRules } from '../manners/manners.ts'
import type { VerifiedActivity } from '../wire/activity.ts'
import type { KnownFacts } from '../wire/payload.ts'

/** What stays the same from one activity to the next. */
export type LocalAgents = {
  readonly places: DocumentUrls
  /** Slugs of the agents that are on this connection. */
  readonly agents: readonly string[]
  readonly manners: ModerationRules
}

export type ActivityContext = LocalAgents & {
  readonly gated: VerifiedActivity
  readonly facts: KnownFacts
  readonly arrival: RawRequest
  readonly connection: Connection
}

export function agentHandle({ connection }: ActivityContext, agent: string): string {
  return formatAddress({ local: agent, domain: connection.domain })
}

/** Its sender's name for what came: the activity's, or that of what it is about. */
export function activityDeliveryId({ gated: { activity } }: Pick<ActivityContext, 'gated'>): string {
  const { id, type, object, actor } = activity
  const about = typeof object === 'string' ? object : object?.id
  return (id ?? `${about ?? actor}#${type.toLowerCase()}`).slice(0, 512)
}

export type IgnoredDetails = Omit<IgnoredEvent, 'kind' | 'reason' | 'isNoise' | 'raw' | 'deliveryId' | 'subject'> & {
  readonly deliveryId?: string
}

/** Kept as a row, with why. */
export function ignoreActivity(scene: ActivityContext, reason: string, more: IgnoredDetails = {}): IgnoredEvent {
  const { activity, signer } = scene.gated
  const deliveryId = activityDeliveryId(scene)
  return { kind: 'ignored', reason, isNoise: false, deliveryId, subject: signer.id, raw: activity.raw, ...more }
}

/** On the closed list of what leaves no row: it says nothing to us, and others' talk is not ours to keep. */
export function ignoreSilently(scene: ActivityContext, reason: string): IgnoredEvent {
  return { ...ignoreActivity(scene, reason), isNoise: true }
}

/** Short enough for an index, and nothing hidden in it. */
export function safeIri(iri: string | undefined, maxLength = 1000): string | undefined {
  return iri !== undefined && iri.length <= maxLength && /^[\x21-\x7e]+$/.test(iri) ? iri : undefined
}
