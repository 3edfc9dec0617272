// Looks up actors, keys, handles and posts at their own servers. Every address is checked before it is asked.
import type { TtlStore } from '../../../src/contract/index.ts'
import {
  createRateLimiter,
  type Fields,
  isPlainObject,
  type RateLimiter,
  type SafeFetch,
} from '../../../src/lib/index.ts'
import type { RemoteActor, RemoteKey } from '../wire/activity.ts'
import {
  createDocumentFetcher,
  type FetchDocument,
  type FetchDocumentDeps,
  isSafeIri,
  isSameIri,
  isSameOrigin,
  toList,
  urlWithoutFragment,
} from './fetch-document.ts'
import {
  confirmHandle,
  createRemoteActors,
  type FreshActor,
  isActor,
  type RemoteActors,
  readListedKey,
  shareRunningCalls,
} from './remote-actors.ts'
import {
  type Absent,
  type ActorOutcome,
  createRemoteCache,
  type KeyOutcome,
  type RemoteCache,
  toRemoteRefusal,
} from './remote-cache.ts'

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
  readonly ttlStore: TtlStore
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
  const fetchDocument = createDocumentFetcher({ ...deps, origins })
  const cache = createRemoteCache(deps)
  const posts = {
    cache: prefixPostCacheKeys(cache),
    origins,
    pace: createRateLimiter(now, postPace),
    fetchDocument: createDocumentFetcher({ ...deps, origins, maxBytes: postBytes }),
  }
  const askers = createRateLimiter(now, askerPace)
  const actors = createRemoteActors({ fetchDocument, cache, origins, now })
  // An author of several posts at once is asked about once.
  const confirm = shareRunningCalls((_id, actor: RemoteActor) => confirmHandle({ fetchDocument, cache }, actor))
  return {
    keys: createRemoteKeys({ fetchDocument, actors, cache, origins }),
    actor: actors.find,
    refreshActor: actors.refresh,
    handle: (actor) => confirm(actor.id, actor),
    known: cache.actor,
    post: shareRunningCalls((iri, asker?: string) => findRemotePost({ ...posts, askers }, iri, asker)),
  }
}

/** A post that any sender may have us ask for says nothing about the actor or the key that has the same address. */
function prefixPostCacheKeys({ absent, keepAbsent }: RemotePostDeps['cache']): RemotePostDeps['cache'] {
  const postCacheKey = (iri: string): string => `post ${iri}`
  return {
    absent: (iri) => absent(postCacheKey(iri)),
    keepAbsent: (iri, ...why) => keepAbsent(postCacheKey(iri), ...why),
  }
}

// A post is fetched before its author is believed, so it is bounded: 256 KiB, 10 seconds, so many of one server, half of them for
// one that speaks of it, and what was not there is not asked for again within five minutes.

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
  if (!isSafeIri(iri, deps.origins)) return toRemoteRefusal('unsafe_url')
  const absent = await deps.cache.absent(iri)
  if (absent !== undefined) return absent
  const { host } = new URL(iri)
  const isForeign = asker !== undefined && asker !== host
  if (isForeign && deps.askers.take(`${asker} ${host}`) !== undefined) return toRemoteRefusal('too_often')
  if (deps.pace.take(host) !== undefined) return toRemoteRefusal('too_often')
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
    return toRemoteRefusal('wrong_id')
  return json['type'] === 'Tombstone' ? { kind: 'gone' } : { kind: 'found', post: json }
}

// A key counts only with its owner: of the same server, and listed in the owner's own document.

type RemoteKeys = {
  find(keyId: string): Promise<KeyOutcome>
  /** After a signature that the known key does not explain: asks again, at most once a minute. */
  refresh(keyId: string): Promise<KeyOutcome>
}

export type KeyDeps = {
  readonly fetchDocument: FetchDocument
  readonly actors: RemoteActors
  readonly cache: RemoteCache
  readonly origins: readonly string[]
}

function createRemoteKeys(deps: KeyDeps): RemoteKeys {
  const { cache } = deps
  const load = shareRunningCalls(async (keyId: string): Promise<KeyOutcome> => {
    const found = await fetchRemoteKey(deps, keyId)
    if (found.kind !== 'found') {
      await cache.keepAbsent(keyId, found)
      return found
    }
    const actor = await cache.keepActor(found.actor)
    await cache.keepOwner(keyId, actor.id)
    return { ...found, actor }
  })
  const findCachedKey = async (keyId: string): Promise<KeyOutcome | undefined> => {
    const owner = await cache.owner(keyId)
    const actor = owner === undefined ? undefined : await cache.actor(owner)
    const key = actor === undefined ? undefined : selectActorKey(actor, keyId)
    if (actor !== undefined && key !== undefined) return { kind: 'found', key, actor }
    return cache.absent(keyId)
  }
  const findRemoteKey = async (keyId: string): Promise<KeyOutcome> => {
    if (!isSafeIri(keyId, deps.origins)) return toRemoteRefusal('unsafe_url')
    const found = await findCachedKey(keyId)
    if (found !== undefined) return found
    await cache.mayAsk(keyId)
    return load(keyId)
  }
  return {
    find: findRemoteKey,
    async refresh(keyId) {
      if (!isSafeIri(keyId, deps.origins)) return toRemoteRefusal('unsafe_url')
      if (await cache.mayAsk(keyId)) return load(keyId)
      const owner = await cache.owner(keyId)
      if (owner !== undefined) cache.recall(owner)
      return findRemoteKey(keyId)
    },
  }
}

async function fetchRemoteKey(deps: KeyDeps, keyId: string): Promise<KeyOutcome> {
  const url = urlWithoutFragment(keyId)
  const fetched = await deps.fetchDocument(url)
  if (fetched.kind !== 'document') return fetched
  const claim = readKeyClaim(fetched.json, keyId)
  if (claim === undefined) return toRemoteRefusal('not_a_key')
  // No other server is asked: the host of the key would choose which.
  if (!isSameOrigin(claim.owner, keyId) || !isSameOrigin(fetched.url, keyId)) return toRemoteRefusal('foreign_key')
  const owner = isActor(fetched.json)
    ? await deps.actors.read(fetched, url)
    : await deps.actors.load(urlWithoutFragment(claim.owner))
  return owner.kind === 'found' ? findListedKey(owner, claim, keyId) : owner
}

type Claim = { readonly owner: string; readonly key: Fields | undefined }

/** Whose the key is by what was found at its address: an actor, part of one, or the key alone. */
function readKeyClaim(document: Fields, keyId: string): Claim | undefined {
  const listed = toList(document['publicKey']).filter(isPlainObject)
  const inside = listed.find(({ id }) => id === keyId)
  const key = document['id'] === keyId && !isActor(document) ? (inside ?? document) : inside
  const owner = isActor(document) ? document['id'] : (key?.['owner'] ?? key?.['controller'] ?? document['id'])
  return typeof owner === 'string' ? { owner, key } : undefined
}

/** Old servers sign in the name of the actor itself (activitypub-express): it means the one key such an actor has. */
function selectActorKey({ id: owner, keys }: RemoteActor, keyId: string): RemoteKey | undefined {
  const named = keys.find(({ id }) => id === keyId)
  return named ?? (keyId === owner && keys.length === 1 ? keys[0] : undefined)
}

async function findListedKey(
  owner: Extract<FreshActor, { kind: 'found' }>,
  claim: Claim,
  keyId: string,
): Promise<{ readonly kind: 'found'; readonly key: RemoteKey; readonly actor: RemoteActor } | Absent> {
  const { actor, references } = owner
  if (actor.id !== claim.owner) return toRemoteRefusal('wrong_id')
  const key = selectActorKey(actor, keyId)
  if (key !== undefined) return { kind: 'found', key, actor }
  // The actor names the key and leaves it to the key's own document what it is.
  if (!references.includes(keyId) || claim.key === undefined) return toRemoteRefusal('key_not_listed')
  const alone = await readListedKey(claim.key)
  if (alone?.id !== keyId || alone.owner !== actor.id) return toRemoteRefusal('key_not_listed')
  const whole: RemoteKey = { ...alone, owner: actor.id }
  return { kind: 'found', key: whole, actor: { ...actor, keys: [...actor.keys, whole] } }
}
