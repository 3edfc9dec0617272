// Actors by their address. An actor is believed only from the server of that very address (see fedify#963).
import type { RemoteCache } from './cache.ts'
import type { FetchDocument, Fetched } from './fetch-document.ts'
import { documentUrl, isSafeIri, isSameIri, isSameOrigin } from './iri.ts'
import { type Absent, type ActorOutcome, refuseRemote } from './outcomes.ts'
import { isActor, type ReadActor, readActor } from './read-actor.ts'

export type FreshActor = ({ readonly kind: 'found' } & ReadActor) | Absent

export type RemoteActors = {
  /** From what is known, else from its server. The actor may call itself by another address: compare `id`. */
  find(iri: string): Promise<ActorOutcome>
  /** From its server, at most once a minute; within it what is known. */
  refresh(iri: string): Promise<ActorOutcome>
  /** From its server, now. */
  load(iri: string): Promise<FreshActor>
  /** Reads what was fetched already, where it may be taken for what it says. */
  read(fetched: Extract<Fetched, { kind: 'document' }>, asked: string): Promise<FreshActor>
}

export type ActorDeps = {
  readonly fetchDocument: FetchDocument
  readonly cache: RemoteCache
  readonly origins: readonly string[]
  readonly now: () => number
}

export function createRemoteActors(deps: ActorDeps): RemoteActors {
  const { cache } = deps
  const load = oncePerKey(async (iri: string): Promise<FreshActor> => {
    const fresh = await loadActor(deps, iri)
    if (fresh.kind === 'found') return { ...fresh, actor: await cache.keepActor(fresh.actor) }
    await cache.keepAbsent(iri, fresh)
    return fresh
  })
  const findRemoteActor = async (iri: string): Promise<ActorOutcome> => {
    if (!isSafeIri(iri, deps.origins)) return refuseRemote('unsafe_url')
    const known = await cache.actor(iri)
    if (known !== undefined) return { kind: 'found', actor: known }
    const absent = await cache.absent(iri)
    if (absent !== undefined) return absent
    await cache.mayAsk(iri)
    return toActorOutcome(await load(iri))
  }
  return {
    find: findRemoteActor,
    async refresh(iri) {
      if (!isSafeIri(iri, deps.origins)) return refuseRemote('unsafe_url')
      if (await cache.mayAsk(iri)) return toActorOutcome(await load(iri))
      cache.recall(iri)
      return findRemoteActor(iri)
    },
    load,
    read: (fetched, asked) => readFetched(deps, fetched, asked, true),
  }
}

function toActorOutcome(fresh: FreshActor): ActorOutcome {
  return fresh.kind === 'found' ? { kind: 'found', actor: fresh.actor } : fresh
}

async function loadActor(deps: ActorDeps, iri: string): Promise<FreshActor> {
  const url = documentUrl(iri)
  const fetched = await deps.fetchDocument(url)
  return fetched.kind === 'document' ? readFetched(deps, fetched, url, true) : fetched
}

async function readFetched(
  deps: ActorDeps,
  fetched: Extract<Fetched, { kind: 'document' }>,
  asked: string,
  mayAskAgain: boolean,
): Promise<FreshActor> {
  const { id } = fetched.json
  if (!isActor(fetched.json)) return refuseRemote('not_an_actor')
  if (!isSafeIri(id, deps.origins)) return refuseRemote('wrong_id')
  if (!isAtHome(id, asked, fetched.url)) {
    if (!mayAskAgain) return refuseRemote('wrong_id')
    // It says that it is another actor: that one's own server is asked, once.
    const again = await deps.fetchDocument(documentUrl(id))
    return again.kind === 'document' ? readFetched(deps, again, documentUrl(id), false) : again
  }
  const read = await readActor(fetched.json, { origins: deps.origins, fetchedAt: new Date(deps.now()).toISOString() })
  return read === undefined ? refuseRemote('not_an_actor') : { kind: 'found', ...read }
}

/** Where a redirect led to another server, only that server's own documents are taken: any user of a server may have set up a redirect. */
function isAtHome(id: string, asked: string, from: string): boolean {
  return isSameIri(id, from) || (isSameIri(id, asked) && isSameOrigin(asked, from))
}

/** Those who ask for the same at the same time share one question. */
export function oncePerKey<T, More extends readonly unknown[]>(
  work: (name: string, ...more: More) => Promise<T>,
): (name: string, ...more: More) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (name, ...more) => {
    const known = running.get(name)
    if (known !== undefined) return known
    const started = work(name, ...more).finally(() => running.delete(name))
    running.set(name, started)
    return started
  }
}
