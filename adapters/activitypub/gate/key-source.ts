// The port through which verification asks for an actor's key. Its implementation fetches, caches and guards.
import type { RemoteActor, RemoteKey } from '../wire/actor.ts'

export type KeyAnswer =
  /** The actor is the key's owner, read from the owner's own document, which lists the key. */
  | { readonly kind: 'found'; readonly key: RemoteKey; readonly actor: RemoteActor }
  /** The key's address answers 404 or 410. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreachable' }
  /** What is there is no key of this name, or its owner does not know it. */
  | { readonly kind: 'refused'; readonly reason: string }

export interface KeySource {
  /** From the cache where there is one. */
  find(keyId: string): Promise<KeyAnswer>
  /** From its origin, whatever is cached; the cache is then what was found. */
  refresh(keyId: string): Promise<KeyAnswer>
}
