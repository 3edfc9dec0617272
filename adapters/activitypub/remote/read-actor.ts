// An actor's document as plain JSON: what we need of it, and every address in it one that may be asked.
import { cleanName } from '../../../src/contract/index.ts'
import type { RemoteActor } from '../wire/actor.ts'
import { type Fields, isPlainObject, readSafeIri, stringOrEmpty, toList } from './fields.ts'
import { isSafeIri } from './iri.ts'
import { type ListedKeys, readListedKeys } from './read-keys.ts'

export type ReadActor = {
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
    isNoBot: saysNoBot(document),
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

function saysNoBot(document: Fields): boolean {
  const summary = stringOrEmpty(document['summary']).slice(0, maxSummary)
  // The tag may stand in a link: `#<span>nobot</span>`.
  if (noBot.test(summary.replace(/<[^<>]{0,500}>/g, ''))) return true
  return toList(document['tag']).some(
    (tag) => isPlainObject(tag) && noBot.test(stringOrEmpty(tag['name']).slice(0, 64)),
  )
}
