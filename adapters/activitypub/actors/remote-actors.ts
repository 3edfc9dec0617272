// Actors of other servers, by their address or handle. An actor is believed only from the server of that very address (see
// fedify#963).

import { cleanName, type Fields, isPlainObject } from '../../../src/lib/index.ts'
import { multikeyToKeyMaterial, pemToKeyMaterial } from '../signatures/key-material.ts'
import type { RemoteActor, RemoteKey } from '../wire/activity.ts'
import {
  type FetchDocument,
  type Fetched,
  isSafeIri,
  isSameIri,
  isSameOrigin,
  readSafeIri,
  stringOrEmpty,
  toList,
  urlWithoutFragment,
} from './fetch-document.ts'
import { type Absent, type ActorOutcome, type RemoteCache, toRemoteRefusal } from './remote-cache.ts'

export type FreshActor = ({ readonly kind: 'found' } & ReadActor) | Absent

export type RemoteActors = {
  /** From what is known, else from its server. The actor may call itself by another address: compare `id`. */
  find(iri: string): Promise<ActorOutcome>
  /** From its server, at most once a minute; within it what is known. */
  refresh(iri: string): Promise<ActorOutcome>
  /** From its server, now. */
  load(iri: string): Promise<FreshActor>
  /** Reads what was fetched already, where it may be taken for what it says. */
  read(fetched: Extract<Fetched, { kind: 'document' }>, asked: string): Promise<FreshActor>
}

export type ActorDeps = {
  readonly fetchDocument: FetchDocument
  readonly cache: RemoteCache
  readonly origins: readonly string[]
  readonly now: () => number
}

export function createRemoteActors(deps: ActorDeps): RemoteActors {
  const { cache } = deps
  const load = shareRunningCalls(async (iri: string): Promise<FreshActor> => {
    const fresh = await loadActor(deps, iri)
    if (fresh.kind === 'found') return { ...fresh, actor: await cache.keepActor(fresh.actor) }
    await cache.keepAbsent(iri, fresh)
    return fresh
  })
  const findRemoteActor = async (iri: string): Promise<ActorOutcome> => {
    if (!isSafeIri(iri, deps.origins)) return toRemoteRefusal('unsafe_url')
    const known = await cache.actor(iri)
    if (known !== undefined) return { kind: 'found', actor: known }
    const absent = await cache.absent(iri)
    if (absent !== undefined) return absent
    await cache.mayAsk(iri)
    return toActorOutcome(await load(iri))
  }
  return {
    find: findRemoteActor,
    async refresh(iri) {
      if (!isSafeIri(iri, deps.origins)) return toRemoteRefusal('unsafe_url')
      if (await cache.mayAsk(iri)) return toActorOutcome(await load(iri))
      cache.recall(iri)
      return findRemoteActor(iri)
    },
    load,
    read: (fetched, asked) => readFetchedActor(deps, fetched, asked, true),
  }
}

function toActorOutcome(fresh: FreshActor): ActorOutcome {
  return fresh.kind === 'found' ? { kind: 'found', actor: fresh.actor } : fresh
}

async function loadActor(deps: ActorDeps, iri: string): Promise<FreshActor> {
  const url = urlWithoutFragment(iri)
  const fetched = await deps.fetchDocument(url)
  return fetched.kind === 'document' ? readFetchedActor(deps, fetched, url, true) : fetched
}

async function readFetchedActor(
  deps: ActorDeps,
  fetched: Extract<Fetched, { kind: 'document' }>,
  asked: string,
  mayAskAgain: boolean,
): Promise<FreshActor> {
  const { id } = fetched.json
  if (!isActor(fetched.json)) return toRemoteRefusal('not_an_actor')
  if (!isSafeIri(id, deps.origins)) return toRemoteRefusal('wrong_id')
  if (!isIdOfAnsweringServer(id, asked, fetched.url)) {
    if (!mayAskAgain) return toRemoteRefusal('wrong_id')
    // It says that it is another actor: that one's own server is asked, once.
    const again = await deps.fetchDocument(urlWithoutFragment(id))
    return again.kind === 'document' ? readFetchedActor(deps, again, urlWithoutFragment(id), false) : again
  }
  const read = await readActor(fetched.json, { origins: deps.origins, fetchedAt: new Date(deps.now()).toISOString() })
  return read === undefined ? toRemoteRefusal('not_an_actor') : { kind: 'found', ...read }
}

/** Where a redirect led to another server, only that server's own documents are taken: any user of a server may have set up a redirect. */
function isIdOfAnsweringServer(id: string, asked: string, from: string): boolean {
  return isSameIri(id, from) || (isSameIri(id, asked) && isSameOrigin(asked, from))
}

/** Those who ask for the same at the same time share one question. */
export function shareRunningCalls<T, More extends readonly unknown[]>(
  work: (name: string, ...more: More) => Promise<T>,
): (name: string, ...more: More) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  return (name, ...more) => {
    const known = running.get(name)
    if (known !== undefined) return known
    const started = work(name, ...more).finally(() => running.delete(name))
    running.set(name, started)
    return started
  }
}

// Of an actor's document we keep what we need, and every address in it is one that may be fetched.

type ReadActor = {
  readonly actor: RemoteActor
  readonly references: ListedKeys['references']
}

const actorTypes: ReadonlySet<unknown> = new Set(['Person', 'Service', 'Application', 'Group', 'Organization'])
const userName = /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,126}[\p{L}\p{N}_])?$/u
const noBot = /#\s*no-?bot\b/i
const maxSummary = 20_000

/** Whether it says that it is an actor, so that it can be read whole. */
export function isActor(document: Fields): boolean {
  return readActorType(document) !== undefined && document['inbox'] !== undefined
}

/** Undefined: it is no actor that we could answer. */
export async function readActor(
  document: Fields,
  { origins, fetchedAt }: { readonly origins: readonly string[]; readonly fetchedAt: string },
): Promise<ReadActor | undefined> {
  const { id } = document
  const type = readActorType(document)
  const inbox = readSafeIri(document['inbox'], origins)
  const preferredUsername = readUserName(document)
  if (!isSafeIri(id, origins) || type === undefined || inbox === undefined || preferredUsername === undefined)
    return undefined
  const endpoints = isPlainObject(document['endpoints']) ? document['endpoints'] : {}
  const { keys, references } = await readListedKeys(document, id, origins)
  const actor: RemoteActor = {
    id,
    type,
    inbox,
    sharedInbox: readSafeIri(endpoints['sharedInbox'], origins),
    followers: readSafeIri(document['followers'], origins),
    preferredUsername,
    handle: `@${preferredUsername}@${new URL(id).host}`,
    isHandleConfirmed: false,
    name: cleanName(stringOrEmpty(document['name'])) || preferredUsername,
    url: readSafeIri(document['url'], origins),
    iconUrl: readIconUrl(document['icon'], origins),
    keys,
    alsoKnownAs: toList(document['alsoKnownAs']).filter((each) => isSafeIri(each, origins)),
    isNoBot: isTaggedNobot(document),
    fetchedAt,
  }
  return { actor, references }
}

function readActorType(document: Fields): string | undefined {
  return toList(document['type']).find((each): each is string => actorTypes.has(each))
}

function readUserName(document: Fields): string | undefined {
  const given = document['preferredUsername'] ?? readWebFingerName(document)?.split('@')[0]
  return typeof given === 'string' && userName.test(given) ? given : undefined
}

/** The address it says it has (FEP-2c59); only its name is taken. */
function readWebFingerName({ webfinger }: Fields): string | undefined {
  if (typeof webfinger !== 'string' || webfinger.length > 256) return undefined
  const plain = webfinger.replace(/^acct:/, '').replace(/^@/, '')
  return /^[^@\s]+@[^@\s/]+$/.test(plain) ? plain : undefined
}

function readIconUrl(value: unknown, origins: readonly string[]): string | undefined {
  const [first] = toList(value)
  return isPlainObject(first) ? readSafeIri(first['url'] ?? first['href'], origins) : readSafeIri(first, origins)
}

function isTaggedNobot(document: Fields): boolean {
  const summary = stringOrEmpty(document['summary']).slice(0, maxSummary)
  // The tag may stand in a link: `#<span>nobot</span>`.
  if (noBot.test(summary.replace(/<[^<>]{0,500}>/g, ''))) return true
  return toList(document['tag']).some(
    (tag) => isPlainObject(tag) && noBot.test(stringOrEmpty(tag['name']).slice(0, 64)),
  )
}

// The keys that an actor lists. One that names another owner, or lies on another server, is not its key.

type ListedKeys = {
  readonly keys: readonly RemoteKey[]
  /** Keys that it lists by their address alone. */
  readonly references: readonly string[]
}

const maxKeys = 10

async function readListedKeys(document: Fields, actor: string, origins: readonly string[]): Promise<ListedKeys> {
  const listed = [...toList(document['publicKey']), ...toList(document['assertionMethod'])].slice(0, maxKeys)
  const isOnActorsServer = (id: unknown): id is string => isSafeIri(id, origins) && isSameOrigin(id, actor)
  const read = await Promise.all(listed.map((each) => (isPlainObject(each) ? readListedKey(each) : undefined)))
  return {
    keys: read.flatMap((key) => {
      if (key === undefined || !isOnActorsServer(key.id) || (key.owner ?? actor) !== actor) return []
      return [{ ...key, owner: actor }]
    }),
    references: listed.filter(isOnActorsServer),
  }
}

/** As it calls itself; whether that is true is for the caller to compare. Undefined: it is no key. */
export async function readListedKey(
  value: Fields,
): Promise<(Omit<RemoteKey, 'owner'> & { readonly owner: string | undefined }) | undefined> {
  const { id, publicKeyPem, publicKeyMultibase } = value
  const owner = value['owner'] ?? value['controller']
  const material =
    publicKeyPem === undefined ? await multikeyToKeyMaterial(publicKeyMultibase) : await pemToKeyMaterial(publicKeyPem)
  if (material === undefined || typeof id !== 'string') return undefined
  if (owner !== undefined && typeof owner !== 'string') return undefined
  return { id, owner, ...material }
}

// A handle is confirmed: the server of `@name@host` must point to the actor, and the actor's name to that host.

export type HandleDeps = { readonly fetchDocument: FetchDocument; readonly cache: RemoteCache }

/** Asks other servers, so never before an inbound event is acknowledged. Unconfirmed where they do not agree. */
export async function confirmHandle(deps: HandleDeps, actor: RemoteActor): Promise<RemoteActor> {
  if (actor.isHandleConfirmed) return actor
  const account = actor.handle.slice(1)
  const name = `acct:${account}`
  if ((await deps.cache.absent(name)) !== undefined) return actor
  const confirmed = await resolveCanonicalAccount(deps, account, actor.id)
  if (typeof confirmed !== 'string') {
    await deps.cache.keepAbsent(name, confirmed)
    return actor
  }
  const known = { ...actor, handle: `@${confirmed}`, isHandleConfirmed: true }
  await deps.cache.keepActor(known)
  return known
}

/** The host of the actor may send us on to the host of the handle, once; that one must then say the same. */
async function resolveCanonicalAccount(deps: HandleDeps, account: string, actor: string): Promise<string | Absent> {
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
