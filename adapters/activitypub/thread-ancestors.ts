// Thread ancestors of a mention: a person who asks "what does this mean?" below a post means that post. Fetched after the message
// was let in, from the servers the posts are on; only what is public, and nothing of people who want no bots.

import type { Adapter, AncestorMessage, AncestorsRequest, Records } from '../../src/contract/index.ts'
import { GatewayError } from '../../src/lib/index.ts'
import type { RemoteLookup } from './actors/remote-lookup.ts'
import type { MayWrite } from './moderation.ts'
import { agentsByIri, isOwnIri, type LocalAgents, noteMentions, safeIri } from './normalize/activity-context.ts'
import { actorAddress } from './normalize/note.ts'
import { noteParts } from './normalize/parts.ts'
import { iriHost } from './signatures/host-authority.ts'
import { readNoteObject } from './vocab.ts'
import { publicAudience, type ReadObject } from './wire/activity.ts'
import { type NoteRecord, noteFamily } from './wire/delivery.ts'
import { isAgentBlockedBy } from './wire/records.ts'

export type AncestorDeps = {
  readonly remote: Pick<RemoteLookup, 'post' | 'actor'>
  readonly records: Records
  readonly home: () => LocalAgents
  readonly mayWrite: MayWrite
}

const maxAsked = 3
/** With our own posts, for which no server is asked. */
const maxHops = 8

/** The oldest first. The chain ends where a post is not public, not there, or the chain goes round. */
export async function fetchPostAncestors(
  deps: AncestorDeps,
  { message, agent, knownIds }: AncestorsRequest,
  signal: AbortSignal,
): Promise<readonly AncestorMessage[]> {
  const visibility = message.channel?.visibility
  if (visibility !== 'public' && visibility !== 'unlisted') return []
  const found: AncestorMessage[] = []
  const seen = new Set([message.id])
  let asked = 0
  let next = safeIri(message.in_reply_to)
  while (next !== undefined && !seen.has(next) && seen.size <= maxHops && asked < maxAsked && !signal.aborted) {
    const id: string = next
    seen.add(id)
    if (isOwnIri(deps.home(), id)) {
      const own = await readOwnPost(deps, id)
      const words =
        own === undefined || isReplyToSender(own, message) || knownIds.has(id)
          ? undefined
          : ownPostToAncestor(deps, agent, id, own)
      if (words !== undefined) found.unshift(words)
      next = parentIri(own)
      continue
    }
    asked += 1
    const post = await fetchPublicPost(deps, id)
    if (post === undefined) break
    const words = knownIds.has(id) ? undefined : await postToAncestor(deps, agent, id, post)
    if (words !== undefined) found.unshift(words)
    next = safeIri(post.inReplyTo)
  }
  return found
}

/**
 * A post that a delivery only named, as its server shows it now: its sender's own, for this agent, and for no fewer people than the delivery said, or
 * an answer would show it to others.
 */
export async function fetchPostGivenByIri(
  { remote, home }: Pick<AncestorDeps, 'remote' | 'home'>,
  { message, agent }: Omit<AncestorsRequest, 'knownIds'>,
): ReturnType<NonNullable<Adapter['fetchReferenced']>> {
  const { named_at: id = '', sender_id: sender, visibility } = message.channel ?? {}
  const outcome = await remote.post(id)
  if (outcome.kind === 'unreachable')
    throw new GatewayError('fetch_timeout', '[activitypub] the server of a post did not answer')
  if (outcome.kind !== 'found') return { kind: 'refused', reason: `object_${outcome.kind}` }
  const object = readNoteObject(outcome.post)
  const here = home()
  if (object.attributedTo !== sender || iriHost(id) !== iriHost(sender ?? ''))
    return { kind: 'refused', reason: 'not_their_own' }
  const addressed = [...object.to, ...object.cc]
  const isOpen = addressed.includes(publicAudience)
  const isSaidOpen = visibility === 'public' || visibility === 'unlisted'
  if (isSaidOpen && !isOpen) return { kind: 'refused', reason: 'object_not_public' }
  const isFor = agentsByIri(here, addressed).includes(agent)
  const isMentioned = agentsByIri(
    here,
    noteMentions(object).map(({ href }) => href),
  ).includes(agent)
  if (!isFor || (isOpen && !isMentioned)) return { kind: 'refused', reason: 'not_addressed' }
  const parts = noteParts(here, object, agent)
  return parts.length === 0 ? { kind: 'refused', reason: 'no_content' } : { kind: 'said', parts }
}

/** Undefined: not there, or not public. */
async function readOwnPost({ records }: AncestorDeps, id: string): Promise<NoteRecord | undefined> {
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  return record?.visibility === 'direct' ? undefined : record
}

function parentIri(record: NoteRecord | undefined): string | undefined {
  const above = record?.note['inReplyTo']
  return typeof above === 'string' ? safeIri(above) : undefined
}

/** The person our own post answers goes on in its conversation. Any other author begins another one, without it. */
function isReplyToSender({ recipients }: NoteRecord, { channel }: AncestorsRequest['message']): boolean {
  return recipients[0]?.actor === channel?.sender_id
}

/** By the name of the agent that said it. Undefined: it was taken back, or that agent is not here any more. */
function ownPostToAncestor(
  { home }: AncestorDeps,
  agent: string,
  id: string,
  { note }: NoteRecord,
): AncestorMessage | undefined {
  const here = home()
  const object = readNoteObject(note)
  const [slug] = agentsByIri(here, [object.attributedTo ?? ''])
  const parts = noteParts(here, object, agent)
  if (slug === undefined || parts.length === 0) return undefined
  const { places } = here
  const address = actorAddress({ handle: places.handle(slug), preferredUsername: slug }, places.handleHost)
  return { id, address, parts, name: slug, ...publishedTime(object) }
}

function publishedTime({ published }: ReadObject): Pick<AncestorMessage, 'at'> {
  return published === undefined ? {} : { at: new Date(published).toISOString() }
}

/** Undefined: not there, or not public. */
async function fetchPublicPost({ remote }: AncestorDeps, id: string): Promise<ReadObject | undefined> {
  const outcome = await remote.post(id)
  const object = outcome.kind === 'found' ? readNoteObject(outcome.post) : undefined
  return object !== undefined && [...object.to, ...object.cc].includes(publicAudience) ? object : undefined
}

/** Undefined: it says nothing, or its author has nothing to do with us, by their will or by the operator's. */
async function postToAncestor(
  { remote, home, records, mayWrite }: AncestorDeps,
  agent: string,
  id: string,
  object: ReadObject,
): Promise<AncestorMessage | undefined> {
  const { places } = home()
  const author = object.attributedTo
  if (author === undefined || iriHost(author) !== iriHost(id) || !(await mayWrite(author))) return undefined
  const known = await remote.actor(author)
  if (known.kind !== 'found' || known.actor.id !== author) return undefined
  if (known.actor.isNoBot) return undefined
  if (await isAgentBlockedBy(records, agent, author)) return undefined
  const parts = noteParts({ places }, object, agent)
  const { name } = known.actor
  return parts.length === 0
    ? undefined
    : { id, address: actorAddress(known.actor, places.handleHost), parts, name, ...publishedTime(object) }
}
