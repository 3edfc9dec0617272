// Others as their own servers describe them: actors, keys, handles, posts. Every address is judged before it is asked.
import { createRateLimiter, type RateLimiter, type SafeFetch, type TtlStore } from '../../../src/contract/index.ts'
import type { RemoteActor } from '../wire/activity.ts'
import { type Fields, isSafeIri, isSameIri, isSameOrigin } from './document-fields.ts'
import { createFetchDocument, type FetchDocument, type FetchDocumentDeps } from './fetch-document.ts'
import { confirmHandle, createRemoteActors, oncePerKey } from './remote-actors.ts'
import { type Absent, type ActorOutcome, createRemoteCache, type RemoteCache, refuseRemote } from './remote-cache.ts'
import { createRemoteKeys, type RemoteKeys } from './remote-keys.ts'

export type RemoteLookup = {
  /** For verification. */
  readonly keys: RemoteKeys
  /** From what is known, else from its server. Compare `id` with what was asked for. */
  actor(iri: string): Promise<ActorOutcome>
  /** After an Update of theirs, or to learn whether they are gone: their own server is asked, at most once a minute. */
  refreshActor(iri: string): Promise<ActorOutcome>
  /** Never before the ack. */
  handle(actor: RemoteActor): Promise<RemoteActor>
  /** What is known of an actor; no server is asked. */
  known(iri: string): Promise<RemoteActor | undefined>
  /** From its own server, as it is now. `asker`: the host that passed it on. */
  post(iri: string, asker?: string): Promise<PostOutcome>
}

export type RemoteLookupDeps = Pick<FetchDocumentDeps, 'signGet' | 'userAgent' | 'maxBytes' | 'timeoutMs'> & {
  readonly guardedFetch: SafeFetch
  readonly notes: TtlStore
  readonly now: () => number
  /** Those the operator wrote down: they may be http. */
  readonly origins?: readonly string[]
}

const postBytes = 256 * 1024
/** Of one server, for all who speak of posts there. */
const postPace = { count: 60, perMs: 10 * 60 * 1000 }
/** Of one server, for one other that passes them on. */
const askerPace = { ...postPace, count: 30 }

export function createRemoteLookup(deps: RemoteLookupDeps): RemoteLookup {
  const { now, origins = [] } = deps
  const fetchDocument = createFetchDocument({ ...deps, origins })
  const cache = createRemoteCache(deps)
  const posts = {
    cache: withPostKeys(cache),
    origins,
    pace: createRateLimiter(now, postPace),
    fetchDocument: createFetchDocument({ ...deps, origins, maxBytes: postBytes }),
  }
  const askers = createRateLimiter(now, askerPace)
  const actors = createRemoteActors({ fetchDocument, cache, origins, now })
  // An author of several posts at once is asked about once.
  const confirm = oncePerKey((_id, actor: RemoteActor) => confirmHandle({ fetchDocument, cache }, actor))
  return {
    keys: createRemoteKeys({ fetchDocument, actors, cache, origins }),
    actor: actors.find,
    refreshActor: actors.refresh,
    handle: (actor) => confirm(actor.id, actor),
    known: cache.actor,
    post: oncePerKey((iri, asker?: string) => findRemotePost({ ...posts, askers }, iri, asker)),
  }
}

/** A post that any sender may have us ask for says nothing about the actor or the key that has the same address. */
function withPostKeys({ absent, keepAbsent }: RemotePostDeps['cache']): RemotePostDeps['cache'] {
  const postCacheKey = (iri: string): string => `post ${iri}`
  return {
    absent: (iri) => absent(postCacheKey(iri)),
    keepAbsent: (iri, ...why) => keepAbsent(postCacheKey(iri), ...why),
  }
}

// One post of another actor, as its own server shows it. It is fetched before its author is believed, so it is
// bounded: 256 KiB, 10 seconds, so many of one server, half of them for one that speaks of it, and what was not there is not asked
// for again within five minutes.

type PostOutcome = { readonly kind: 'found'; readonly post: Fields } | Absent

type RemotePostDeps = {
  readonly fetchDocument: FetchDocument
  readonly cache: Pick<RemoteCache, 'absent' | 'keepAbsent'>
  /** How much one server is asked for, whichever server made us ask. */
  readonly pace: Pick<RateLimiter, 'take'>
  /** Of these, how much one other server can make us ask: it uses up what is there for all, else. */
  readonly askers: Pick<RateLimiter, 'take'>
  readonly origins: readonly string[]
}

/** The server that passed it on delivers it again after that time. */
const unreachableMs = 60_000

/** `gone` also where a Tombstone stands in its place. `asker`: the host that made us ask, where one did. */
async function findRemotePost(deps: RemotePostDeps, iri: string, asker?: string): Promise<PostOutcome> {
  if (!isSafeIri(iri, deps.origins)) return refuseRemote('unsafe_url')
  const absent = await deps.cache.absent(iri)
  if (absent !== undefined) return absent
  const { host } = new URL(iri)
  const isForeign = asker !== undefined && asker !== host
  if (isForeign && deps.askers.take(`${asker} ${host}`) !== undefined) return refuseRemote('too_often')
  if (deps.pace.take(host) !== undefined) return refuseRemote('too_often')
  const outcome = await fetchPost(deps, iri)
  if (outcome.kind === 'unreachable') await deps.cache.keepAbsent(iri, outcome, unreachableMs)
  else if (outcome.kind !== 'found') await deps.cache.keepAbsent(iri, outcome)
  return outcome
}

async function fetchPost({ fetchDocument }: RemotePostDeps, iri: string): Promise<PostOutcome> {
  const fetched = await fetchDocument(iri)
  if (fetched.kind !== 'document') return fetched
  const { json, url } = fetched
  // Only a server's own word counts, about nothing but what it was asked for.
  if (typeof json['id'] !== 'string' || !isSameIri(json['id'], iri) || !isSameOrigin(url, iri))
    return refuseRemote('wrong_id')
  return json['type'] === 'Tombstone' ? { kind: 'gone' } : { kind: 'found', post: json }
}
