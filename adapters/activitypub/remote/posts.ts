// One post of another actor, as its own server shows it. It is fetched before its author is believed, so it is
// bounded: 256 KiB, 10 seconds, so many of one server, half of them for one that speaks of it, and what was not there is not asked
// for again within five minutes.
import type { RateLimiter } from '../../../src/contract/index.ts'
import type { RemoteCache } from './cache.ts'
import type { FetchDocument } from './fetch-document.ts'
import type { Fields } from './fields.ts'
import { isSafeIri, isSameIri, isSameOrigin } from './iri.ts'
import { type Absent, refuseRemote } from './outcomes.ts'

export type PostOutcome = { readonly kind: 'found'; readonly post: Fields } | Absent

export type RemotePostDeps = {
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
export async function findRemotePost(deps: RemotePostDeps, iri: string, asker?: string): Promise<PostOutcome> {
  if (!isSafeIri(iri, deps.origins)) return refuseRemote('unsafe_url')
  const absent = await deps.cache.absent(iri)
  if (absent !== undefined) return absent
  const { host } = new URL(iri)
  const isForeign = asker !== undefined && asker !== host
  if (isForeign && deps.askers.take(`${asker} ${host}`) !== undefined) return refuseRemote('too_often')
  if (deps.pace.take(host) !== undefined) return refuseRemote('too_often')
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
    return refuseRemote('wrong_id')
  return json['type'] === 'Tombstone' ? { kind: 'gone' } : { kind: 'found', post: json }
}
