// The collections of an agent: how many there are of everything, and of its posts only those that are public.
import type { JsonObject } from '../../../src/contract/index.ts'
import { ownFamilies } from '../wire/own-records.ts'
import { noteContext } from '../wire/vocabulary.ts'
import { plainContext } from './actor-document.ts'
import type { CollectionName } from './places.ts'
import type { DocumentDeps } from './settings.ts'

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
      return page === undefined ? outbox(deps, agent, id) : outboxPage(deps, agent, id, page.after)
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

async function outbox({ notes }: DocumentDeps, agent: string, id: string): Promise<JsonObject> {
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
