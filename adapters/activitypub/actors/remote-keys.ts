// Keys by their id, for verification. A key counts only with its owner: of the same server, and listed in the owner's own document.
import type { RemoteActor, RemoteKey } from '../wire/activity.ts'
import { documentUrl, type Fields, isPlainObject, isSafeIri, isSameOrigin, toList } from './document-fields.ts'
import type { FetchDocument } from './fetch-document.ts'
import { type FreshActor, isActor, oncePerKey, type RemoteActors, readListedKey } from './remote-actors.ts'
import { type Absent, type KeyOutcome, type RemoteCache, refuseRemote } from './remote-cache.ts'

export type RemoteKeys = {
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

export function createRemoteKeys(deps: KeyDeps): RemoteKeys {
  const { cache } = deps
  const load = oncePerKey(async (keyId: string): Promise<KeyOutcome> => {
    const found = await loadKey(deps, keyId)
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
    const key = actor === undefined ? undefined : selectKey(actor, keyId)
    if (actor !== undefined && key !== undefined) return { kind: 'found', key, actor }
    return cache.absent(keyId)
  }
  const findRemoteKey = async (keyId: string): Promise<KeyOutcome> => {
    if (!isSafeIri(keyId, deps.origins)) return refuseRemote('unsafe_url')
    const found = await findCachedKey(keyId)
    if (found !== undefined) return found
    await cache.mayAsk(keyId)
    return load(keyId)
  }
  return {
    find: findRemoteKey,
    async refresh(keyId) {
      if (!isSafeIri(keyId, deps.origins)) return refuseRemote('unsafe_url')
      if (await cache.mayAsk(keyId)) return load(keyId)
      const owner = await cache.owner(keyId)
      if (owner !== undefined) cache.recall(owner)
      return findRemoteKey(keyId)
    },
  }
}

async function loadKey(deps: KeyDeps, keyId: string): Promise<KeyOutcome> {
  const url = documentUrl(keyId)
  const fetched = await deps.fetchDocument(url)
  if (fetched.kind !== 'document') return fetched
  const claim = readKeyClaim(fetched.json, keyId)
  if (claim === undefined) return refuseRemote('not_a_key')
  // No other server is asked: the host of the key would choose which.
  if (!isSameOrigin(claim.owner, keyId) || !isSameOrigin(fetched.url, keyId)) return refuseRemote('foreign_key')
  const owner = isActor(fetched.json)
    ? await deps.actors.read(fetched, url)
    : await deps.actors.load(documentUrl(claim.owner))
  return owner.kind === 'found' ? listedKey(owner, claim, keyId) : owner
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
function selectKey({ id: owner, keys }: RemoteActor, keyId: string): RemoteKey | undefined {
  const named = keys.find(({ id }) => id === keyId)
  return named ?? (keyId === owner && keys.length === 1 ? keys[0] : undefined)
}

async function listedKey(
  owner: Extract<FreshActor, { kind: 'found' }>,
  claim: Claim,
  keyId: string,
): Promise<{ readonly kind: 'found'; readonly key: RemoteKey; readonly actor: RemoteActor } | Absent> {
  const { actor, references } = owner
  if (actor.id !== claim.owner) return refuseRemote('wrong_id')
  const key = selectKey(actor, keyId)
  if (key !== undefined) return { kind: 'found', key, actor }
  // The actor names the key and leaves it to the key's own document what it is.
  if (!references.includes(keyId) || claim.key === undefined) return refuseRemote('key_not_listed')
  const alone = await readListedKey(claim.key)
  if (alone?.id !== keyId || alone.owner !== actor.id) return refuseRemote('key_not_listed')
  const whole: RemoteKey = { ...alone, owner: actor.id }
  return { kind: 'found', key: whole, actor: { ...actor, keys: [...actor.keys, whole] } }
}
