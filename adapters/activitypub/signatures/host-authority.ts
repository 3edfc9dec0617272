// Host authority: which ids a server may speak for, those of its own host and no others.
import type { ReadActivity } from '../wire/activity.ts'
import type { SignatureRejectReason } from './rejection.ts'

/** Of an address on the web; undefined for anything else. */
export function iriHost(iri: string | undefined): string | undefined {
  if (iri === undefined || !URL.canParse(iri)) return undefined
  const { protocol, host } = new URL(iri)
  return (protocol === 'https:' || protocol === 'http:') && host !== '' ? host : undefined
}

/** Activities that make, change or end an object. Others may be about objects of any host. */
const authoring: ReadonlySet<string> = new Set(['Create', 'Update', 'Delete'])

/** Undefined: every id belongs where it says it does. Needs no other server's answer, so it is judged before any is asked. */
export function checkActivityIdHosts({ id, type, actor, object }: ReadActivity): SignatureRejectReason | undefined {
  const host = iriHost(actor)
  if (host === undefined) return 'no_actor'
  if (id !== undefined && iriHost(id) !== host) return 'foreign_activity_id'
  const objectId = typeof object === 'string' ? object : object?.id
  if (objectId === undefined) return id === undefined ? 'no_id' : undefined
  const isTheirs = iriHost(objectId) === host
  if (authoring.has(type) && !isTheirs) return 'foreign_object_id'
  // Without an id of its own it is known by its object's.
  return id === undefined && !isTheirs ? 'no_id' : undefined
}

/** Servers do not let one of their people write as another; one that does is not believed. */
export function isAuthoredByActor({ type, actor, object }: ReadActivity): boolean {
  if ((type !== 'Create' && type !== 'Update') || typeof object !== 'object') return true
  return object.attributedTo === undefined || object.attributedTo === actor
}

/** An actor says that it is gone, or changed: sent to every server there is. */
export function isAboutActorItself({ type, actor, object }: ReadActivity): boolean {
  const objectId = typeof object === 'string' ? object : object?.id
  return (type === 'Delete' || type === 'Update') && objectId === actor
}

/** Whose inbox an address is; undefined for the shared one. */
export function parseInboxOwner(path: string): string | undefined {
  return /\/ap\/([^/]+)\/inbox\/?$/.exec(path)?.[1]
}
