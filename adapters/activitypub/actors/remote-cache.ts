// Cache of other servers' actors and keys: found for a day, not found for five minutes, and not asked again within one. The TTL
// store is shared by every replica; memory saves the questions of a busy minute. Both are bounded: others decide what comes in.
import type { TtlStore } from '../../../src/contract/index.ts'
import { type JsonObject, LruMap } from '../../../src/lib/index.ts'
import type { RemoteActor, RemoteKey } from '../wire/activity.ts'

export type RemoteCache = {
  actor(iri: string): Promise<RemoteActor | undefined>
  /** As it is known from then on: a handle that was confirmed stays so while the name does. */
  keepActor(actor: RemoteActor): Promise<RemoteActor>
  /** Whose key it is, where that was proven. */
  owner(keyId: string): Promise<string | undefined>
  keepOwner(keyId: string, owner: string): Promise<void>
  absent(iri: string): Promise<Absent | undefined>
  /** What is gone is no longer known either; what only could not be asked stays known. */
  keepAbsent(iri: string, absent: Absent, lifeMs?: number): Promise<void>
  /** False: it was asked for within the last minute, by us or by another replica. */
  mayAsk(iri: string): Promise<boolean>
  /** Another replica may know better than this one's memory. */
  recall(iri: string): void
}

const families = { actor: 'ap-actor', owner: 'ap-key', absent: 'ap-absent', asked: 'ap-asked' } as const
const minute = 60 * 1000
const lives = { found: 24 * 60 * minute, absent: 5 * minute, asked: minute, memory: minute }
const atMost = 20_000
const mostInMemory = 2000

export function createRemoteCache({
  ttlStore,
  now,
}: {
  readonly ttlStore: TtlStore
  readonly now: () => number
}): RemoteCache {
  const memory = createExpiringMemory(now)
  const readCachedValue = async (family: string, key: string): Promise<JsonObject | undefined> => {
    const name = `${family} ${key}`
    const known = memory.get(name)
    if (known !== undefined) return known
    const value = await ttlStore.read(family, key)
    if (value !== undefined && family !== families.absent) memory.set(name, value)
    return value
  }
  const storeCached = async (family: string, key: string, value: JsonObject, life: Life): Promise<void> => {
    if (family !== families.absent) memory.set(`${family} ${key}`, value)
    await ttlStore.keep({ family, key, value, atMost, ...life })
  }
  // Only `keepActor` writes there.
  const readCachedActor = async (iri: string) =>
    (await readCachedValue(families.actor, iri))?.['actor'] as RemoteActor | undefined
  const found = [families.actor, families.owner] as const
  const dropActorAndOwnerFromMemory = (iri: string): void => {
    for (const family of found) memory.drop(`${family} ${iri}`)
  }
  return {
    actor: readCachedActor,
    async keepActor(fresh) {
      const kept = carryOverConfirmedHandle(fresh, await readCachedActor(fresh.id))
      const life = { lifeMs: lives.found, subject: fresh.id }
      await storeCached(families.actor, fresh.id, { actor: actorToJson(kept) }, life)
      return kept
    },
    async owner(keyId) {
      const owner = (await readCachedValue(families.owner, keyId))?.['owner']
      return typeof owner === 'string' ? owner : undefined
    },
    keepOwner: (keyId, owner) => storeCached(families.owner, keyId, { owner }, { lifeMs: lives.found, subject: owner }),
    absent: async (iri) => (await readCachedValue(families.absent, iri))?.['absent'] as Absent | undefined,
    async keepAbsent(iri, absent, lifeMs = lives.absent) {
      await storeCached(families.absent, iri, { absent }, { lifeMs })
      if (absent.kind !== 'gone') return
      dropActorAndOwnerFromMemory(iri)
      for (const family of found) await ttlStore.take(family, iri)
    },
    mayAsk: (iri) => ttlStore.keep({ family: families.asked, key: iri, lifeMs: lives.asked, isOnce: true, atMost }),
    recall: dropActorAndOwnerFromMemory,
  }
}

type Life = { readonly lifeMs: number; readonly subject?: string }

function carryOverConfirmedHandle(fresh: RemoteActor, known: RemoteActor | undefined): RemoteActor {
  if (known?.isHandleConfirmed !== true || known.preferredUsername !== fresh.preferredUsername) return fresh
  return fresh.isHandleConfirmed ? fresh : { ...fresh, handle: known.handle, isHandleConfirmed: true }
}

/** JSON has no word for what is not there. */
function actorToJson(actor: RemoteActor): JsonObject {
  return JSON.parse(JSON.stringify(actor))
}

function createExpiringMemory(now: () => number): {
  readonly get: (name: string) => JsonObject | undefined
  readonly set: (name: string, value: JsonObject) => void
  readonly drop: (name: string) => void
} {
  const rows = new LruMap<string, { readonly value: JsonObject; readonly until: number }>(mostInMemory)
  return {
    get(name) {
      const row = rows.get(name)
      return row === undefined || row.until <= now() ? undefined : row.value
    },
    set(name, value) {
      rows.set(name, { value, until: now() + lives.memory })
    },
    drop: (name) => rows.delete(name),
  }
}

// Outcomes of asking another server are all expected, so none is thrown.

/** Why an answer was not taken, or a question not asked. */
export type RemoteRefusal =
  /** Not https, not public, or no address at all: no server was asked. */
  | 'unsafe_url'
  | 'redirect'
  | 'forbidden'
  | 'unexpected_status'
  | 'wrong_media_type'
  | 'too_large'
  | 'malformed'
  | 'not_an_actor'
  /** It calls itself by another address than the one it was found at. */
  | 'wrong_id'
  | 'not_a_key'
  /** The key and its owner are of different servers. */
  | 'foreign_key'
  | 'key_not_listed'
  /** Its server was asked for enough lately: it was not asked. */
  | 'too_often'

export type Absent =
  /** Its own server says that it is not there: 404 or 410. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'refused'; readonly reason: RemoteRefusal }

export type ActorOutcome = { readonly kind: 'found'; readonly actor: RemoteActor } | Absent
export type KeyOutcome = { readonly kind: 'found'; readonly key: RemoteKey; readonly actor: RemoteActor } | Absent

export function toRemoteRefusal(reason: RemoteRefusal): Absent {
  return { kind: 'refused', reason }
}
