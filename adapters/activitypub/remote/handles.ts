// Handles, confirmed: the server of `@name@host` must point to the actor, and the actor's name to that host.
import type { RemoteActor } from '../wire/actor.ts'
import type { RemoteCache } from './cache.ts'
import type { FetchDocument } from './fetch-document.ts'
import { isPlainObject, toList } from './fields.ts'
import type { Absent } from './outcomes.ts'

export type HandleDeps = { readonly fetchDocument: FetchDocument; readonly cache: RemoteCache }

/** Asks other servers, so never before an inbound event is acknowledged. Unconfirmed where they do not agree. */
export async function confirmHandle(deps: HandleDeps, actor: RemoteActor): Promise<RemoteActor> {
  if (actor.isHandleConfirmed) return actor
  const account = actor.handle.slice(1)
  const name = `acct:${account}`
  if ((await deps.cache.absent(name)) !== undefined) return actor
  const confirmed = await canonicalAccount(deps, account, actor.id)
  if (typeof confirmed !== 'string') {
    await deps.cache.keepAbsent(name, confirmed)
    return actor
  }
  const known = { ...actor, handle: `@${confirmed}`, isHandleConfirmed: true }
  await deps.cache.keepActor(known)
  return known
}

/** The host of the actor may send us on to the host of the handle, once; that one must then say the same. */
async function canonicalAccount(deps: HandleDeps, account: string, actor: string): Promise<string | Absent> {
  const first = await askWebFinger(deps, account, actor)
  if (typeof first !== 'string' || first.toLowerCase() === account.toLowerCase()) return first
  const second = await askWebFinger(deps, first, actor)
  if (typeof second !== 'string') return second
  return second.toLowerCase() === first.toLowerCase() ? first : disagreement
}

const disagreement: Absent = { kind: 'refused', reason: 'wrong_id' }
const activityTypes = /^application\/(activity\+json|ld\+json)/

/** What the host says the account is called, where it leads to the actor. */
async function askWebFinger({ fetchDocument }: HandleDeps, account: string, actor: string): Promise<string | Absent> {
  const resource = encodeURIComponent(`acct:${account}`)
  const url = `${webFingerOrigin(account, actor)}/.well-known/webfinger?resource=${resource}`
  const fetched = await fetchDocument(url, 'jrd')
  if (fetched.kind !== 'document') return fetched
  const { subject, links } = fetched.json
  const self = toList(links)
    .filter(isPlainObject)
    .find(({ rel, type }) => rel === 'self' && typeof type === 'string' && activityTypes.test(type))
  const named = typeof subject === 'string' ? /^(?:acct:)?([^@\s]+@[^@\s/]+)$/.exec(subject)?.[1] : undefined
  return named === undefined || self?.['href'] !== actor ? disagreement : named
}

/** By https, except for an origin the operator wrote down, which is the actor's own. */
function webFingerOrigin(account: string, actor: string): string {
  const host = account.slice(account.indexOf('@') + 1)
  const own = new URL(actor)
  return own.host === host.toLowerCase() ? own.origin : `https://${host}`
}
