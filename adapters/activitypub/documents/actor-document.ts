// The actor documents of an agent and of the instance, and the agent's collections. Every member is one that some server looks
// for.

import type { AgentProfile } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { escapeHtml } from '../../../src/markdown/index.ts'
import type { KeyOwner, KeyRing } from '../signatures/own-keys.ts'
import { noteContext } from '../wire/activity.ts'
import { ownFamilies } from '../wire/records.ts'
import type { DocumentDeps, DocumentSettings } from './document-deps.ts'
import type { CollectionName, DocumentUrls } from './urls.ts'

const activityContext = 'https://www.w3.org/ns/activitystreams'
// `publicKey` stands in the first, `assertionMethod` in the second, what a Multikey is in the third (FEP-521a).
const securityContexts = [
  'https://w3id.org/security/v1',
  'https://www.w3.org/ns/did/v1',
  'https://w3id.org/security/multikey/v1',
]

const terms: JsonObject = {
  manuallyApprovesFollowers: 'as:manuallyApprovesFollowers',
  toot: 'http://joinmastodon.org/ns#',
  discoverable: 'toot:discoverable',
  indexable: 'toot:indexable',
  featured: { '@id': 'toot:featured', '@type': '@id' },
  schema: 'http://schema.org#',
  PropertyValue: 'schema:PropertyValue',
  value: 'schema:value',
  webfinger: 'https://purl.archive.org/socialweb/webfinger#webfinger',
}

/** For documents that are only read as ActivityStreams; posts have words of their own (`wire/iris.ts`). */
const plainContext: JsonObject = { '@context': activityContext }

export function agentKeyOwner(places: DocumentUrls, agent: string): KeyOwner {
  return { name: `agent:${agent}`, actor: places.actor(agent) }
}

export function instanceKeyOwner(places: DocumentUrls): KeyOwner {
  return { name: 'instance', actor: places.instance }
}

export function agentDocument(
  { places, settings }: { readonly places: DocumentUrls; readonly settings: DocumentSettings },
  { slug, label, description }: AgentProfile,
  ring: KeyRing,
): JsonObject {
  const id = places.actor(slug)
  return {
    '@context': [activityContext, ...securityContexts, terms],
    id,
    type: 'Service',
    preferredUsername: slug,
    webfinger: places.handle(slug).slice(1),
    name: label,
    summary: summaryHtml(description || label),
    url: places.profile(slug),
    inbox: places.inbox(slug),
    outbox: places.collection(slug, 'outbox'),
    followers: places.collection(slug, 'followers'),
    following: places.collection(slug, 'following'),
    featured: places.collection(slug, 'featured'),
    endpoints: { sharedInbox: places.sharedInbox },
    manuallyApprovesFollowers: settings.follow !== 'accept',
    discoverable: settings.isDiscoverable,
    indexable: settings.isIndexable,
    attachment: profileFields(settings).map(({ name, html }) => ({ type: 'PropertyValue', name, value: html })),
    ...(settings.iconUrl === undefined ? {} : { icon: { type: 'Image', url: settings.iconUrl } }),
    ...publicKeyMembers(id, ring),
  }
}

/** Readable without a signature: two servers that both ask for one could otherwise never begin. */
export function instanceDocument(places: DocumentUrls, ring: KeyRing): JsonObject {
  return {
    '@context': [activityContext, ...securityContexts, terms],
    id: places.instance,
    type: 'Application',
    preferredUsername: places.instanceName,
    name: places.instanceName,
    url: places.origin,
    inbox: places.sharedInbox,
    endpoints: { sharedInbox: places.sharedInbox },
    manuallyApprovesFollowers: true,
    discoverable: false,
    indexable: false,
    ...publicKeyMembers(places.instance, ring),
  }
}

/**
 * `publicKey` is one object, also after new keys were made: Misskey, Pleroma and Lemmy read no list there. Proofs stay with what
 * they prove, and their keys are a list anyway.
 */
function publicKeyMembers(owner: string, { rsa, ed25519, former }: KeyRing): JsonObject {
  return {
    publicKey: { id: rsa.id, type: 'CryptographicKey', owner, publicKeyPem: rsa.pem },
    assertionMethod: [ed25519, ...(former === undefined ? [] : [former])].map(({ id, multibase }) => ({
      id,
      type: 'Multikey',
      controller: owner,
      publicKeyMultibase: multibase,
    })),
  }
}

export function tombstoneDocument(id: string, deleted?: string): JsonObject {
  return { ...plainContext, id, type: 'Tombstone', ...(deleted === undefined ? {} : { deleted }) }
}

export type ProfileField = { readonly name: string; readonly html: string }

/** What people ask of an account that is a machine. */
export function profileFields({ operator, sourceUrl, privacyUrl, contact }: DocumentSettings): readonly ProfileField[] {
  const profileTextField = (name: string, text: string | undefined): readonly ProfileField[] =>
    text === undefined ? [] : [{ name, html: escapeHtml(text) }]
  const linkField = (name: string, url: string | undefined): readonly ProfileField[] =>
    url === undefined ? [] : [{ name, html: linkHtml(url) }]
  return [
    ...profileTextField('Operator', operator),
    ...profileTextField('Contact', contact),
    ...linkField('Source', sourceUrl),
    ...linkField('Privacy', privacyUrl),
  ]
}

function linkHtml(url: string): string {
  const shown = url.replace(/^https?:\/\//, '').replace(/\/$/, '')
  return `<a href="${escapeHtml(url)}" rel="nofollow noopener">${escapeHtml(shown)}</a>`
}

export function summaryHtml(text: string): string {
  const paragraphs = text.split(/\n{2,}/).map((each) => escapeHtml(each.trim()).replaceAll('\n', '<br>'))
  return paragraphs.map((each) => `<p>${each}</p>`).join('')
}

// Collections say how many there are of everything, and show of its posts only those that are public.

const pageSize = 20
const maxCursor = 200

/** `after`: the cursor of a page; undefined: the collection itself is asked for. */
export async function collectionDocument(
  deps: DocumentDeps,
  agent: string,
  name: CollectionName,
  page: { readonly after: string } | undefined,
): Promise<JsonObject | undefined> {
  const id = deps.places.collection(agent, name)
  switch (name) {
    case 'outbox':
      return page === undefined ? outboxDocument(deps, agent, id) : outboxPage(deps, agent, id, page.after)
    case 'followers':
      // The names of followers are not published.
      return page === undefined
        ? countedCollection(id, await deps.records.count(ownFamilies.follower, { agent }))
        : undefined
    case 'following':
    case 'featured':
      return page === undefined ? { ...countedCollection(id, 0), orderedItems: [] } : undefined
    default:
      return name satisfies never
  }
}

function countedCollection(id: string, totalItems: number): JsonObject {
  return { ...plainContext, id, type: 'OrderedCollection', totalItems }
}

async function outboxDocument({ notes }: DocumentDeps, agent: string, id: string): Promise<JsonObject> {
  return { ...countedCollection(id, await notes.count(agent)), first: `${id}?page=true` }
}

async function outboxPage(
  { notes, places }: DocumentDeps,
  agent: string,
  id: string,
  after: string,
): Promise<JsonObject | undefined> {
  if (after.length > maxCursor || after.includes('\u0000')) return undefined
  const page = await notes.page(agent, { limit: pageSize, ...(after === '' ? {} : { after }) })
  const here = after === '' ? `${id}?page=true` : pageUrl(id, after)
  return {
    ...noteContext,
    id: here,
    type: 'OrderedCollectionPage',
    partOf: id,
    orderedItems: page.notes.map((note) => wrapInCreate(places.actor(agent), note)),
    ...(page.next === undefined ? {} : { next: pageUrl(id, page.next) }),
  }
}

function pageUrl(id: string, after: string): string {
  return `${id}?page=true&after=${encodeURIComponent(after)}`
}

/** As it was sent: with the same address and to the same readers. */
function wrapInCreate(actor: string, note: JsonObject): JsonObject {
  const { id, published, to, cc } = note
  const optionalMember = (name: string, value: JsonObject[string] | undefined): JsonObject =>
    value === undefined ? {} : { [name]: value }
  return {
    id: `${String(id)}#create`,
    type: 'Create',
    actor,
    ...optionalMember('published', published),
    ...optionalMember('to', to),
    ...optionalMember('cc', cc),
    object: note,
  }
}
