// Posts that a community passes on (Lemmy's Announce of a Create). That the community did is proven; what its members wrote is
// believed as their own servers show it, and is theirs. No server is asked unless an agent of ours is mentioned, or has what is
// taken back.

import type { Records } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import type { Absent } from '../actors/remote-cache.ts'
import type { RemoteLookup } from '../actors/remote-lookup.ts'
import type { MayWrite } from '../moderation.ts'
import { agentsByIri, isOwnIri, type LocalAgents, noteMentions, safeIri } from '../normalize/activity-context.ts'
import { readNoteObject } from '../vocab.ts'
import {
  publicAudience,
  type ReadActivity,
  type ReadObject,
  type RemoteActor,
  type VerifiedActivity,
} from '../wire/activity.ts'
import { peerFamilies } from '../wire/records.ts'
import { iriHost } from './host-authority.ts'

export type AnnounceResult =
  /** As if its author had sent it. */
  | { readonly kind: 'proven'; readonly gated: VerifiedActivity }
  /** Kept with the reason; it can be tried again. */
  | {
      readonly kind: 'unproven'
      readonly reason: 'origin_unavailable' | 'origin_disagrees' | 'author_unavailable' | 'not_public'
    }
  /** Their server could not say so far: the community is to deliver it again. */
  | { readonly kind: 'later'; readonly seconds: number }

export type AnnounceDeps = {
  readonly remote: Pick<RemoteLookup, 'actor' | 'post'>
  readonly records: Pick<Records, 'get'>
  readonly home: () => LocalAgents
  readonly mayWrite: MayWrite
  readonly now: () => number
}

/** As long as the cache remembers that a server could not be asked (actors/remote-cache.ts). */
const laterSeconds = 60
/** A community that sends in order is not held up for longer by an author whose server is away. */
const newMs = 60 * 60 * 1000

/** Undefined: it passes on nothing that is for us. */
export async function verifyAnnounce(deps: AnnounceDeps, gated: VerifiedActivity): Promise<AnnounceResult | undefined> {
  const { activity, signer } = gated
  const { inner } = activity
  if (activity.type !== 'Announce' || signer.type !== 'Group' || inner === undefined) return undefined
  const id = safeIri(typeof inner.object === 'string' ? inner.object : inner.object?.id)
  if (id === undefined) return undefined
  switch (inner.type) {
    case 'Create':
    case 'Update':
      return (await isAnnounceForOwnAgent(deps, inner, id)) ? fetchAnnouncedNote(deps, gated, inner, id) : undefined
    case 'Delete':
      return confirmAnnouncedDelete(deps, gated, id)
    default:
      return undefined
  }
}

/** By what the community says, which is only a reason to ask. What our own agents wrote comes back this way, too. */
async function isAnnounceForOwnAgent(
  deps: AnnounceDeps,
  { actor, object }: ReadActivity,
  id: string,
): Promise<boolean> {
  const home = deps.home()
  if (typeof object !== 'object' || iriHost(actor) === undefined || iriHost(actor) !== iriHost(id)) return false
  const called = noteMentions(object).map(({ href }) => href)
  return !isOwnIri(home, actor) && agentsByIri(home, called).length > 0 && (await deps.mayWrite(actor))
}

async function fetchAnnouncedNote(
  deps: AnnounceDeps,
  gated: VerifiedActivity,
  { actor, type }: ReadActivity,
  id: string,
): Promise<AnnounceResult> {
  const { remote } = deps
  // One after the other: while a server does not answer, its actors must not be cached as absent for five minutes.
  const found = await remote.post(id, iriHost(gated.signer.id))
  if (found.kind !== 'found' && isPostDisownedByItsServer(found)) return unprovenAnnounce('origin_disagrees')
  if (found.kind !== 'found') return retryOrRejectAnnounce(deps, gated, found, 'origin_unavailable')
  const author = await remote.actor(actor)
  if (author.kind !== 'found') return retryOrRejectAnnounce(deps, gated, author, 'author_unavailable')
  if (author.actor.id !== actor) return unprovenAnnounce('author_unavailable')
  const object = readNoteObject(found.post)
  if (object.attributedTo !== actor) return unprovenAnnounce('origin_disagrees')
  if (![...object.to, ...object.cc].includes(publicAudience)) return unprovenAnnounce('not_public')
  // A change is one where the post itself says that it was changed, and when.
  const isChange = type === 'Update' && object.updated !== undefined
  return provenAnnounce(gated, author.actor, { type: isChange ? 'Update' : 'Create', object })
}

/** Taken back by its author, or by a moderator of their server: either way that server has it no more. */
async function confirmAnnouncedDelete(
  deps: AnnounceDeps,
  gated: VerifiedActivity,
  id: string,
): Promise<AnnounceResult | undefined> {
  const author = readStoredAuthor(await deps.records.get(peerFamilies.shared, id))
  if (author === undefined) return undefined
  const found = await deps.remote.post(id, iriHost(gated.signer.id))
  if (found.kind === 'found') return unprovenAnnounce('origin_disagrees')
  if (found.kind !== 'gone') return retryOrRejectAnnounce(deps, gated, found, 'origin_unavailable')
  const known = await deps.remote.actor(author)
  return known.kind === 'found' && known.actor.id === author
    ? provenAnnounce(gated, known.actor, { type: 'Delete', object: id })
    : unprovenAnnounce('author_unavailable')
}

/** A server that was asked for enough lately can be asked soon; one that does not answer may do so, while the post is new. */
function retryOrRejectAnnounce(
  { now }: AnnounceDeps,
  { activity }: VerifiedActivity,
  absent: Absent,
  reason: 'origin_unavailable' | 'author_unavailable',
): AnnounceResult {
  const isBraked = absent.kind === 'refused' && absent.reason === 'too_often'
  const isNew = Math.abs(now() - Date.parse(activityTime(activity) ?? '')) < newMs
  if (isBraked || (absent.kind === 'unreachable' && isNew)) return { kind: 'later', seconds: laterSeconds }
  return unprovenAnnounce(reason)
}

/** Lemmy tells the time of a post, and of nothing that is said about it. */
function activityTime({ published, inner }: ReadActivity): string | undefined {
  const object = typeof inner?.object === 'object' ? inner.object : undefined
  return published ?? inner?.published ?? object?.updated ?? object?.published
}

/** Its server says that there is no such post, or shows another under its name. */
function isPostDisownedByItsServer(absent: Absent): boolean {
  return absent.kind === 'gone' || (absent.kind === 'refused' && absent.reason === 'wrong_id')
}

function readStoredAuthor(record: JsonObject | undefined): string | undefined {
  const author = record?.['author']
  return typeof author === 'string' ? author : undefined
}

function unprovenAnnounce(reason: Extract<AnnounceResult, { kind: 'unproven' }>['reason']): AnnounceResult {
  return { kind: 'unproven', reason }
}

/** The recipients that the community claims do not count: the post itself says to whom it is addressed. */
function provenAnnounce(
  { activity, signer, inboxOf }: VerifiedActivity,
  author: RemoteActor,
  { type, object }: { readonly type: string; readonly object: ReadObject | string },
): AnnounceResult {
  const shown: ReadActivity = {
    ...activity,
    type,
    object,
    actor: author.id,
    inner: undefined,
    to: [],
    cc: [],
    target: undefined,
    published: undefined,
  }
  const how = { method: 'ap-origin-fetch', keyId: undefined, community: signer.id } as const
  return { kind: 'proven', gated: { activity: shown, signer: author, inboxOf, ...how } }
}
