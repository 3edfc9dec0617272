// Others as their own servers describe them: actors, keys, handles, posts. Every address is judged before it is asked.
import { createPace, type GuardedFetch, type Notes } from '../../../src/contract/index.ts'
import type { RemoteActor } from '../wire/actor.ts'
import { createActors, singly } from './actors.ts'
import { createRemoteCache } from './cache.ts'
import { createFetchDocument, type DocumentDeps } from './fetch-document.ts'
import { confirmHandle } from './handles.ts'
import { createKeys, type Keys } from './keys.ts'
import type { ActorOutcome } from './outcomes.ts'
import { findPost, type PostDeps, type PostOutcome } from './posts.ts'

export type Remote = {
  /** For verification. */
  readonly keys: Keys
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

export type RemoteDeps = Pick<DocumentDeps, 'signGet' | 'userAgent' | 'maxBytes' | 'timeoutMs'> & {
  readonly guardedFetch: GuardedFetch
  readonly notes: Notes
  readonly now: () => number
  /** Those the operator wrote down: they may be http. */
  readonly origins?: readonly string[]
}

const postBytes = 256 * 1024
/** Of one server, for all who speak of posts there. */
const postPace = { count: 60, perMs: 10 * 60 * 1000 }
/** Of one server, for one other that passes them on. */
const askerPace = { ...postPace, count: 30 }

export function createRemote(deps: RemoteDeps): Remote {
  const { now, origins = [] } = deps
  const fetchDocument = createFetchDocument({ ...deps, origins })
  const cache = createRemoteCache(deps)
  const posts = {
    ...{ cache: apart(cache), origins, pace: createPace(now, postPace) },
    fetchDocument: createFetchDocument({ ...deps, origins, maxBytes: postBytes }),
  }
  const askers = createPace(now, askerPace)
  const actors = createActors({ fetchDocument, cache, origins, now })
  // An author of several posts at once is asked about once.
  const confirm = singly((_id, actor: RemoteActor) => confirmHandle({ fetchDocument, cache }, actor))
  return {
    keys: createKeys({ fetchDocument, actors, cache, origins }),
    actor: actors.find,
    refreshActor: actors.refresh,
    handle: (actor) => confirm(actor.id, actor),
    known: cache.actor,
    post: singly((iri, asker?: string) => findPost({ ...posts, askers }, iri, asker)),
  }
}

/** A post that any sender may have us ask for says nothing about the actor or the key that has the same address. */
function apart({ absent, keepAbsent }: PostDeps['cache']): PostDeps['cache'] {
  const named = (iri: string): string => `post ${iri}`
  return { absent: (iri) => absent(named(iri)), keepAbsent: (iri, ...why) => keepAbsent(named(iri), ...why) }
}
