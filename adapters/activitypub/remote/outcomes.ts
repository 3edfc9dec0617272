// Outcomes of asking another server. All of them are expected, so none is thrown.
import type { RemoteActor, RemoteKey } from '../wire/actor.ts'

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

export function refuseRemote(reason: RemoteRefusal): Absent {
  return { kind: 'refused', reason }
}
