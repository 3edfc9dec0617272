// The keys that an actor lists. One that names another owner, or lies on another server, is not its key.
import type { RemoteKey } from '../wire/actor.ts'
import { type Fields, isPlainObject, toList } from './fields.ts'
import { isSafeIri, isSameOrigin } from './iri.ts'
import { multikeyMaterial, pemMaterial } from './key-material.ts'

export type ListedKeys = {
  readonly keys: readonly RemoteKey[]
  /** Keys that it lists by their address alone. */
  readonly references: readonly string[]
}

const maxKeys = 10

export async function readListedKeys(document: Fields, actor: string, origins: readonly string[]): Promise<ListedKeys> {
  const listed = [...toList(document['publicKey']), ...toList(document['assertionMethod'])].slice(0, maxKeys)
  const isActorsOwn = (id: unknown): id is string => isSafeIri(id, origins) && isSameOrigin(id, actor)
  const read = await Promise.all(listed.map((each) => (isPlainObject(each) ? readListedKey(each) : undefined)))
  return {
    keys: read.flatMap((key) => {
      if (key === undefined || !isActorsOwn(key.id) || (key.owner ?? actor) !== actor) return []
      return [{ ...key, owner: actor }]
    }),
    references: listed.filter(isActorsOwn),
  }
}

/** As it calls itself; whether that is true is for the caller to compare. Undefined: it is no key. */
export async function readListedKey(
  value: Fields,
): Promise<(Omit<RemoteKey, 'owner'> & { readonly owner: string | undefined }) | undefined> {
  const { id, publicKeyPem, publicKeyMultibase } = value
  const owner = value['owner'] ?? value['controller']
  const material =
    publicKeyPem === undefined ? await multikeyMaterial(publicKeyMultibase) : await pemMaterial(publicKeyPem)
  if (material === undefined || typeof id !== 'string') return undefined
  if (owner !== undefined && typeof owner !== 'string') return undefined
  return { id, owner, ...material }
}
