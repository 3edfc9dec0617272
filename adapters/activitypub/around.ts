// Thread ancestors of a mention: a person who asks "what does this mean?" below a post means that post. Fetched after the message
// was let in, from the servers the posts are on; only what is public, and nothing of people who want no bots.
import {
  type AroundRequest,
  type AroundWords,
  GatewayError,
  type NamedMessage,
  type Records,
} from '../../src/contract/index.ts'
import { hostOf } from './gate/hosts.ts'
import type { MayWrite } from './manners/may-write.ts'
import { agentsAt, isOurs, mentionsOf } from './normalize/audience.ts'
import { partsOf } from './normalize/parts.ts'
import { type Home, plainName } from './normalize/scene.ts'
import { addressOf } from './normalize/sender.ts'
import { readObject } from './read/read-object.ts'
import type { Remote } from './remote/remote.ts'
import type { ReadObject } from './wire/activity.ts'
import { type NoteRecord, noteFamily } from './wire/call.ts'
import { publicAudience } from './wire/names.ts'
import { hasBlocked } from './wire/peer-records.ts'

export type ParentDeps = {
  readonly remote: Pick<Remote, 'post' | 'actor'>
  readonly records: Records
  readonly home: () => Home
  readonly mayWrite: MayWrite
}

const maxAsked = 3
/** With our own posts, for which no server is asked. */
const maxHops = 8

/** The oldest first. The chain ends where a post is not public, not there, or the chain goes round. */
export async function readParents(
  deps: ParentDeps,
  { message, agent, known }: AroundRequest,
  signal: AbortSignal,
): Promise<readonly AroundWords[]> {
  const visibility = message.channel?.visibility
  if (visibility !== 'public' && visibility !== 'unlisted') return []
  const found: AroundWords[] = []
  const seen = new Set([message.id])
  let asked = 0
  let next = plainName(message.in_reply_to)
  while (next !== undefined && !seen.has(next) && seen.size <= maxHops && asked < maxAsked && !signal.aborted) {
    const id: string = next
    seen.add(id)
    if (isOurs(deps.home(), id)) {
      const own = await ownPost(deps, id)
      const words =
        own === undefined || isTo(own, message) || known.has(id) ? undefined : ownWords(deps, agent, id, own)
      if (words !== undefined) found.unshift(words)
      next = aboveOurs(own)
      continue
    }
    asked += 1
    const post = await openPost(deps, id)
    if (post === undefined) break
    const words = known.has(id) ? undefined : await wordsOf(deps, agent, id, post)
    if (words !== undefined) found.unshift(words)
    next = plainName(post.inReplyTo)
  }
  return found
}

/**
 * A post that a delivery only named, as its server shows it now: its sender's own, for this agent, and for no fewer people than the delivery said, or
 * an answer would show it to others.
 */
export async function readNamedPost(
  { remote, home }: Pick<ParentDeps, 'remote' | 'home'>,
  { message, agent }: Omit<AroundRequest, 'known'>,
): Promise<NamedMessage> {
  const { named_at: id = '', sender_id: sender, visibility } = message.channel ?? {}
  const outcome = await remote.post(id)
  if (outcome.kind === 'unreachable')
    throw new GatewayError('fetch_timeout', '[activitypub] the server of a post did not answer')
  if (outcome.kind !== 'found') return { kind: 'refused', reason: `object_${outcome.kind}` }
  const object = readObject(outcome.post)
  const here = home()
  if (object.attributedTo !== sender || hostOf(id) !== hostOf(sender ?? ''))
    return { kind: 'refused', reason: 'not_their_own' }
  const addressed = [...object.to, ...object.cc]
  const isOpen = addressed.includes(publicAudience)
  const isSaidOpen = visibility === 'public' || visibility === 'unlisted'
  if (isSaidOpen && !isOpen) return { kind: 'refused', reason: 'object_not_public' }
  const isFor = agentsAt(here, addressed).includes(agent)
  const isMentioned = agentsAt(
    here,
    mentionsOf(object).map(({ href }) => href),
  ).includes(agent)
  if (!isFor || (isOpen && !isMentioned)) return { kind: 'refused', reason: 'not_addressed' }
  const parts = partsOf(here, object, agent)
  return parts.length === 0 ? { kind: 'refused', reason: 'no_content' } : { kind: 'said', parts }
}

/** Undefined: not there, or not public. */
async function ownPost({ records }: ParentDeps, id: string): Promise<NoteRecord | undefined> {
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  return record?.visibility === 'direct' ? undefined : record
}

function aboveOurs(record: NoteRecord | undefined): string | undefined {
  const above = record?.note['inReplyTo']
  return typeof above === 'string' ? plainName(above) : undefined
}

/** The person our own post answers goes on in its conversation. Any other author begins another one, without it. */
function isTo({ recipients }: NoteRecord, { channel }: AroundRequest['message']): boolean {
  return recipients[0]?.actor === channel?.sender_id
}

/** By the name of the agent that said it. Undefined: it was taken back, or that agent is not here any more. */
function ownWords({ home }: ParentDeps, agent: string, id: string, { note }: NoteRecord): AroundWords | undefined {
  const here = home()
  const object = readObject(note)
  const [slug] = agentsAt(here, [object.attributedTo ?? ''])
  const parts = partsOf(here, object, agent)
  if (slug === undefined || parts.length === 0) return undefined
  const { places } = here
  const address = addressOf({ handle: places.handle(slug), preferredUsername: slug }, places.handleHost)
  return { id, address, parts, name: slug, ...timeOf(object) }
}

function timeOf({ published }: ReadObject): Pick<AroundWords, 'at'> {
  return published === undefined ? {} : { at: new Date(published).toISOString() }
}

/** Undefined: not there, or not public. */
async function openPost({ remote }: ParentDeps, id: string): Promise<ReadObject | undefined> {
  const outcome = await remote.post(id)
  const object = outcome.kind === 'found' ? readObject(outcome.post) : undefined
  return object !== undefined && [...object.to, ...object.cc].includes(publicAudience) ? object : undefined
}

/** Undefined: it says nothing, or its author has nothing to do with us, by their will or by the operator's. */
async function wordsOf(
  { remote, home, records, mayWrite }: ParentDeps,
  agent: string,
  id: string,
  object: ReadObject,
): Promise<AroundWords | undefined> {
  const { places } = home()
  const author = object.attributedTo
  if (author === undefined || hostOf(author) !== hostOf(id) || !(await mayWrite(author))) return undefined
  const known = await remote.actor(author)
  if (known.kind !== 'found' || known.actor.id !== author) return undefined
  if (known.actor.isNoBot) return undefined
  if (await hasBlocked(records, agent, author)) return undefined
  const parts = partsOf({ places }, object, agent)
  const { name } = known.actor
  return parts.length === 0
    ? undefined
    : { id, address: addressOf(known.actor, places.handleHost), parts, name, ...timeOf(object) }
}
