// One post of somebody's, as its own server shows it. For who it is from it is asked before anything is believed, so it is
// bounded: 256 KiB, 10 seconds, so many of one server, and what was not there is not asked for again within five minutes.
import type { Pace } from '../manners/pace.ts'
import type { RemoteCache } from './cache.ts'
import type { FetchDocument } from './fetch-document.ts'
import type { Fields } from './fields.ts'
import { isSafeIri, isSameIri, isSameOrigin } from './iri.ts'
import { type Absent, refused } from './outcomes.ts'

export type PostOutcome = { readonly kind: 'found'; readonly post: Fields } | Absent

export type PostDeps = {
  readonly fetchDocument: FetchDocument
  readonly cache: Pick<RemoteCache, 'absent' | 'keepAbsent'>
  /** How much one server is asked for, whoever made us ask. */
  readonly pace: Pick<Pace, 'take'>
  readonly origins: readonly string[]
}

/** `gone` also where a stone stands in its place. */
export async function findPost(deps: PostDeps, iri: string): Promise<PostOutcome> {
  if (!isSafeIri(iri, deps.origins)) return refused('unsafe_url')
  const absent = await deps.cache.absent(iri)
  if (absent !== undefined) return absent
  if (deps.pace.take(new URL(iri).host) !== undefined) return refused('too_often')
  const outcome = await ask(deps, iri)
  if (outcome.kind !== 'found') await deps.cache.keepAbsent(iri, outcome)
  return outcome
}

async function ask({ fetchDocument }: PostDeps, iri: string): Promise<PostOutcome> {
  const fetched = await fetchDocument(iri)
  if (fetched.kind !== 'document') return fetched
  const { json, url } = fetched
  // Only a server's own word counts, about nothing but what it was asked for.
  if (typeof json['id'] !== 'string' || !isSameIri(json['id'], iri) || !isSameOrigin(url, iri))
    return refused('wrong_id')
  return json['type'] === 'Tombstone' ? { kind: 'gone' } : { kind: 'found', post: json }
}
