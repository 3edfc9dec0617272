// What a community passes on (Lemmy's Announce of a Create). That the community did is proven; what its members wrote is
// believed as their own servers show it, and is theirs. No server is asked unless an agent of ours is mentioned, or has what is taken back.
import type { JsonObject, Records } from '../../../src/contract/index.ts'
import type { MayWrite } from '../manners/may-write.ts'
import { agentsAt, isOurs, mentionsOf } from '../normalize/audience.ts'
import { type Home, plainName } from '../normalize/scene.ts'
import { readObject } from '../read/read-object.ts'
import type { Absent } from '../remote/outcomes.ts'
import type { Remote } from '../remote/remote.ts'
import type { GatedActivity, ReadActivity, ReadObject } from '../wire/activity.ts'
import type { RemoteActor } from '../wire/actor.ts'
import { publicAudience } from '../wire/names.ts'
import { peerFamilies } from '../wire/peer-records.ts'
import { hostOf } from './hosts.ts'

export type PassedOn =
  /** As if its author had sent it. */
  | { readonly kind: 'proven'; readonly gated: GatedActivity }
  /** Kept with the reason; it can be tried again. */
  | {
      readonly kind: 'unproven'
      readonly reason: 'origin_unavailable' | 'origin_disagrees' | 'author_unavailable' | 'not_public'
    }
  /** Their server could not say so far: the community is to deliver it again. */
  | { readonly kind: 'later'; readonly seconds: number }

export type PassedOnDeps = {
  readonly remote: Pick<Remote, 'actor' | 'post'>
  readonly records: Pick<Records, 'get'>
  readonly home: () => Home
  readonly mayWrite: MayWrite
  readonly now: () => number
}

/** As long as the cache remembers that a server could not be asked (remote/cache.ts). */
const laterSeconds = 60
/** A community that sends in order is not held up for longer by an author whose server is away. */
const newMs = 60 * 60 * 1000

/** Undefined: it passes on nothing that is for us. */
export async function passedOn(deps: PassedOnDeps, gated: GatedActivity): Promise<PassedOn | undefined> {
  const { activity, signer } = gated
  const { inner } = activity
  if (activity.type !== 'Announce' || signer.type !== 'Group' || inner === undefined) return undefined
  const id = plainName(typeof inner.object === 'string' ? inner.object : inner.object?.id)
  if (id === undefined) return undefined
  switch (inner.type) {
    case 'Create':
    case 'Update':
      return (await isForUs(deps, inner, id)) ? written(deps, gated, inner, id) : undefined
    case 'Delete':
      return takenBack(deps, gated, id)
    default:
      return undefined
  }
}

/** By what the community says, which is only a reason to ask. What our own agents wrote comes back this way, too. */
async function isForUs(deps: PassedOnDeps, { actor, object }: ReadActivity, id: string): Promise<boolean> {
  const home = deps.home()
  if (typeof object !== 'object' || hostOf(actor) === undefined || hostOf(actor) !== hostOf(id)) return false
  const called = mentionsOf(object).map(({ href }) => href)
  return !isOurs(home, actor) && agentsAt(home, called).length > 0 && (await deps.mayWrite(actor))
}

async function written(
  deps: PassedOnDeps,
  gated: GatedActivity,
  { actor, type }: ReadActivity,
  id: string,
): Promise<PassedOn> {
  const { remote } = deps
  // One after the other: while a server does not answer, its actors must not be cached as absent for five minutes.
  const found = await remote.post(id, hostOf(gated.signer.id))
  if (found.kind !== 'found' && isDenied(found)) return unproven('origin_disagrees')
  if (found.kind !== 'found') return unanswered(deps, gated, found, 'origin_unavailable')
  const author = await remote.actor(actor)
  if (author.kind !== 'found') return unanswered(deps, gated, author, 'author_unavailable')
  if (author.actor.id !== actor) return unproven('author_unavailable')
  const object = readObject(found.post)
  if (object.attributedTo !== actor) return unproven('origin_disagrees')
  if (![...object.to, ...object.cc].includes(publicAudience)) return unproven('not_public')
  // A change is one where the post itself says that it was changed, and when.
  const isChange = type === 'Update' && object.updated !== undefined
  return proven(gated, author.actor, { type: isChange ? 'Update' : 'Create', object })
}

/** Taken back by its author, or by a moderator of their server: either way that server has it no more. */
async function takenBack(deps: PassedOnDeps, gated: GatedActivity, id: string): Promise<PassedOn | undefined> {
  const author = authorIn(await deps.records.get(peerFamilies.shared, id))
  if (author === undefined) return undefined
  const found = await deps.remote.post(id, hostOf(gated.signer.id))
  if (found.kind === 'found') return unproven('origin_disagrees')
  if (found.kind !== 'gone') return unanswered(deps, gated, found, 'origin_unavailable')
  const known = await deps.remote.actor(author)
  return known.kind === 'found' && known.actor.id === author
    ? proven(gated, known.actor, { type: 'Delete', object: id })
    : unproven('author_unavailable')
}

/** A server that was asked for enough lately can be asked soon; one that does not answer may do so, while the post is new. */
function unanswered(
  { now }: PassedOnDeps,
  { activity }: GatedActivity,
  absent: Absent,
  reason: 'origin_unavailable' | 'author_unavailable',
): PassedOn {
  const isBraked = absent.kind === 'refused' && absent.reason === 'too_often'
  const isNew = Math.abs(now() - Date.parse(saidAt(activity) ?? '')) < newMs
  if (isBraked || (absent.kind === 'unreachable' && isNew)) return { kind: 'later', seconds: laterSeconds }
  return unproven(reason)
}

/** Lemmy tells the time of a post, and of nothing that is said about it. */
function saidAt({ published, inner }: ReadActivity): string | undefined {
  const object = typeof inner?.object === 'object' ? inner.object : undefined
  return published ?? inner?.published ?? object?.updated ?? object?.published
}

/** Its server says that there is no such post, or shows another under its name. */
function isDenied(absent: Absent): boolean {
  return absent.kind === 'gone' || (absent.kind === 'refused' && absent.reason === 'wrong_id')
}

function authorIn(record: JsonObject | undefined): string | undefined {
  const author = record?.['author']
  return typeof author === 'string' ? author : undefined
}

function unproven(reason: Extract<PassedOn, { kind: 'unproven' }>['reason']): PassedOn {
  return { kind: 'unproven', reason }
}

/** The recipients that the community claims do not count: the post itself says to whom it is addressed. */
function proven(
  { activity, signer, inboxOf }: GatedActivity,
  author: RemoteActor,
  { type, object }: { readonly type: string; readonly object: ReadObject | string },
): PassedOn {
  const shown: ReadActivity = {
    ...{ ...activity, type, object, actor: author.id, inner: undefined },
    ...{ to: [], cc: [], target: undefined, published: undefined },
  }
  const how = { method: 'ap-origin-fetch', keyId: undefined, community: signer.id } as const
  return { kind: 'proven', gated: { activity: shown, signer: author, inboxOf, ...how } }
}
