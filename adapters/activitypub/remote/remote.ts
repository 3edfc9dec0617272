// Others as their own servers describe them: actors, keys, handles, chains of replies. Every address is judged before it is asked.
import type { GuardedFetch, Notes } from '../../../src/contract/index.ts'
import type { RemoteActor } from '../wire/actor.ts'
import { createActors, singly } from './actors.ts'
import { createRemoteCache } from './cache.ts'
import { createFetchDocument, type DocumentDeps, type Fetched } from './fetch-document.ts'
import { confirmHandle } from './handles.ts'
import { createKeys, type Keys } from './keys.ts'
import type { ActorOutcome } from './outcomes.ts'
import { type ChainDeps, type ChainEnd, followReplies } from './reply-chain.ts'

export type Remote = {
  /** For the gate. */
  readonly keys: Keys
  /** From what is known, else from its server. Compare `id` with what was asked for. */
  actor(iri: string): Promise<ActorOutcome>
  /** After an Update of theirs, or to learn whether they are gone: their own server is asked, at most once a minute. */
  refreshActor(iri: string): Promise<ActorOutcome>
  /** Never before the ack. */
  handle(actor: RemoteActor): Promise<RemoteActor>
  /** Never before the ack. */
  rootOf(iri: string, isKnown?: ChainDeps['isKnown']): Promise<ChainEnd>
  /** Any other document, nothing kept of it. */
  document(iri: string): Promise<Fetched>
}

export type RemoteDeps = Pick<DocumentDeps, 'signGet' | 'userAgent' | 'maxBytes' | 'timeoutMs'> & {
  readonly guardedFetch: GuardedFetch
  readonly notes: Notes
  readonly now: () => number
  /** Those the operator wrote down: they may be http. */
  readonly origins?: readonly string[]
}

export function createRemote(deps: RemoteDeps): Remote {
  const { now, origins = [] } = deps
  const fetchDocument = createFetchDocument({ ...deps, origins })
  const cache = createRemoteCache(deps)
  const actors = createActors({ fetchDocument, cache, origins, now })
  // Whoever writes several posts at once is asked about once.
  const confirm = singly((_id, actor: RemoteActor) => confirmHandle({ fetchDocument, cache }, actor))
  return {
    keys: createKeys({ fetchDocument, actors, cache, origins }),
    actor: actors.find,
    refreshActor: actors.refresh,
    handle: (actor) => confirm(actor.id, actor),
    rootOf: (iri, isKnown) =>
      followReplies({ fetchDocument, origins, now, ...(isKnown === undefined ? {} : { isKnown }) }, iri),
    document: (iri) => fetchDocument(iri),
  }
}
