// The context of an activity: where it came to, which agents are here, who may read it, and which agents it is for. Pure.
import { type Connection, formatAddress, type IgnoredEvent, type RawRequest } from '../../../src/contract/index.ts'
import type { DocumentUrls } from '../documents/urls.ts'
import type { ModerationRules } from '../moderation.ts'
import {
  type KnownFacts,
  publicAudience,
  type ReadActivity,
  type ReadObject,
  type ReadTag,
  type VerifiedActivity,
  type Visibility,
} from '../wire/activity.ts'
/** What stays the same from one activity to the next. */
export type LocalAgents = {
  readonly places: DocumentUrls
  /** Slugs of the agents that are on this connection. */
  readonly agents: readonly string[]
  readonly moderation: ModerationRules
}

export type ActivityContext = LocalAgents & {
  readonly gated: VerifiedActivity
  readonly facts: KnownFacts
  readonly rawRequest: RawRequest
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
export function ignoreActivity(context: ActivityContext, reason: string, more: IgnoredDetails = {}): IgnoredEvent {
  const { activity, signer } = context.gated
  const deliveryId = activityDeliveryId(context)
  return { kind: 'ignored', reason, isNoise: false, deliveryId, subject: signer.id, raw: activity.raw, ...more }
}

/** On the closed list of what leaves no row: it says nothing to us, and others' talk is not ours to keep. */
export function ignoreAsNoise(context: ActivityContext, reason: string): IgnoredEvent {
  return { ...ignoreActivity(context, reason), isNoise: true }
}

/** Short enough for an index, and nothing hidden in it. */
export function safeIri(iri: string | undefined, maxLength = 1000): string | undefined {
  return iri !== undefined && iri.length <= maxLength && /^[\x21-\x7e]+$/.test(iri) ? iri : undefined
}

// A name in the text addresses no agent: only a mention together with an address counts, or a note that went to few people and to
// us. Pure.

const widest: readonly Visibility[] = ['direct', 'followers', 'unlisted', 'public']

type Envelope = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** Where the note and its activity disagree, the one for fewer people counts. */
export function noteVisibility(context: ActivityContext, object: ReadObject): Visibility {
  if (object.type === 'ChatMessage') return 'direct'
  const found = [object, context.gated.activity].filter(hasRecipients).map((each) => envelopeVisibility(context, each))
  return found.reduce((one, other) => (widest.indexOf(other) < widest.indexOf(one) ? other : one), found[0] ?? 'direct')
}

/** Followers in either field, as some servers write it; a collection that is called so is one, whichever actor it belongs to. */
function envelopeVisibility({ gated: { signer } }: ActivityContext, { to, cc }: Envelope): Visibility {
  if (to.includes(publicAudience)) return 'public'
  if (cc.includes(publicAudience)) return 'unlisted'
  const isFollowersCollection = (iri: string): boolean => iri === signer.followers || /\/followers\/?$/.test(iri)
  return [...to, ...cc].some(isFollowersCollection) ? 'followers' : 'direct'
}

function hasRecipients({ to, cc }: Envelope): boolean {
  return to.length + cc.length > 0
}

/** Every actor it is addressed to by name. */
function listAddressedActors({ gated: { activity, signer } }: ActivityContext, object: ReadObject): readonly string[] {
  const { to, cc } = hasRecipients(object) ? object : activity
  const all = new Set([...to, ...cc])
  return [...all].filter((iri) => iri !== publicAudience && iri !== signer.followers && iri !== signer.id)
}

export function noteMentions({ tags }: ReadObject): readonly (ReadTag & { readonly href: string })[] {
  return tags.flatMap((tag) => (tag.type === 'Mention' && tag.href !== undefined ? [{ ...tag, href: tag.href }] : []))
}

/** Agents of ours that it is for. */
export function recipientAgents(
  context: ActivityContext,
  object: ReadObject,
  visibility: Visibility,
): readonly string[] {
  const addressed = agentsByIri(context, listAddressedActors(context, object))
  if (visibility === 'direct') return addressed
  const mentioned = new Set(
    agentsByIri(
      context,
      noteMentions(object).map(({ href }) => href),
    ),
  )
  return addressed.filter((agent) => mentioned.has(agent))
}

/** Compared by address alone: names can be made to look like any other. */
export function agentsByIri(
  { agents, places }: Pick<ActivityContext, 'agents' | 'places'>,
  iris: readonly string[],
): readonly string[] {
  return agents.filter((agent) => iris.some((iri) => iri === places.actor(agent) || iri === places.profile(agent)))
}

/** Every agent that is named anywhere in it: those it is for are among them. */
export function mentionedAgents(
  home: Pick<ActivityContext, 'agents' | 'places'>,
  activity: ReadActivity,
): readonly string[] {
  const { object, to, cc } = activity
  const inside = typeof object === 'object' ? [...object.to, ...object.cc, object.id ?? ''] : [object ?? '']
  return agentsByIri(home, [...to, ...cc, ...inside])
}

/** Others whom a direct note names and is addressed to: they may read the answer. Actors that are addressed without being named may not. */
export function listOtherRecipients(
  context: ActivityContext,
  object: ReadObject,
): readonly { readonly actor: string; readonly handle: string }[] {
  const addressed = new Set(listAddressedActors(context, object))
  const seen = new Set<string>()
  return noteMentions(object).flatMap(({ href, name }) => {
    if (!addressed.has(href) || seen.has(href) || isOwnIri(context, href) || href === context.gated.signer.id) return []
    seen.add(href)
    return [{ actor: href, handle: name }]
  })
}

/** The community that a post stands in: it is addressed to it, and says so (FEP-1b12) or came from there. */
export function findAddressedCommunity(
  { gated, ...context }: ActivityContext,
  object: ReadObject,
  visibility: Visibility,
): string | undefined {
  if (visibility !== 'public' && visibility !== 'unlisted') return undefined
  const addressed = [...object.to, ...object.cc]
  const claimed = [...(gated.community === undefined ? [] : [gated.community]), ...object.audience]
  return claimed.find(
    (iri) => iri !== publicAudience && iri !== gated.signer.id && addressed.includes(iri) && !isOwnIri(context, iri),
  )
}

export function isOwnIri({ places }: Pick<ActivityContext, 'places'>, iri: string): boolean {
  return URL.canParse(iri) && new URL(iri).origin === places.origin
}
