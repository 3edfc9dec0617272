// Others as their own servers describe them: actors, keys, handles, posts. Every address is judged before it is asked.
import { createRateLimiter, type SafeFetch, type TtlStore } from '../../../src/contract/index.ts'
import type { RemoteActor } from '../wire/actor.ts'
import { createRemoteActors, oncePerKey } from './actors.ts'
import { createRemoteCache } from './cache.ts'
import { createFetchDocument, type FetchDocumentDeps } from './fetch-document.ts'
import { confirmHandle } from './handles.ts'
import { createRemoteKeys, type RemoteKeys } from './keys.ts'
import type { ActorOutcome } from './outcomes.ts'
import { findRemotePost, type PostOutcome, type RemotePostDeps } from './posts.ts'

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
