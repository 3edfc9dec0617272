// Notes with their ids, as activities: Create, Update, Delete. Pure.
import type { JsonObject } from '../../../src/lib/index.ts'
import { actorIri, contextIri, noteContext } from '../wire/activity.ts'
import { type DraftCall, isChatMessage, type NoteRecord } from '../wire/delivery.ts'

const chatWords: JsonObject = {
  '@context': [
    'https://www.w3.org/ns/activitystreams',
    'https://w3id.org/security/data-integrity/v1',
    { litepub: 'http://litepub.social/ns#', ChatMessage: 'litepub:ChatMessage' },
  ],
}

export type Naming = {
  readonly origin: string
  readonly id: string
  readonly published: string
  /** The note before it in the same answer, and the thread both are in. */
  readonly after?: { readonly id: string; readonly context: string } | undefined
}

export function createNoteActivity(draft: DraftCall, { origin, id, published, after }: Naming): JsonObject {
  const actor = actorIri(origin, draft.agent)
  const minted = after?.context ?? contextIri(id)
  const isNamed = 'context' in draft.note || 'conversation' in draft.note
  const named: JsonObject = { id, ...draft.note, attributedTo: actor, published, url: id }
  const note: JsonObject = isChatMessage(named)
    ? named
    : {
        ...named,
        ...(isNamed ? {} : { context: minted, conversation: minted }),
        ...(after === undefined ? {} : { inReplyTo: after.id }),
      }
  return {
    ...noteJsonLdContext(note),
    id: `${id}#create`,
    type: 'Create',
    actor,
    published,
    ...copyAudienceFields(note),
    object: note,
  }
}

/** The same note in other words. `version`: how often it was changed, this time included. */
export function buildNoteUpdateActivity(
  { note }: Pick<NoteRecord, 'note'>,
  change: { readonly content: string; readonly source: string; readonly version: number; readonly updated: string },
): JsonObject {
  const { content, updated, version } = change
  const map = note['contentMap']
  const languages = typeof map === 'object' && map !== null ? Object.keys(map) : []
  const changed: JsonObject = {
    ...note,
    content,
    updated,
    source: { content: change.source, mediaType: 'text/markdown' },
    ...(languages.length === 0 ? {} : { contentMap: Object.fromEntries(languages.map((each) => [each, content])) }),
  }
  return {
    ...noteJsonLdContext(note),
    id: `${stringOrEmpty(note['id'])}#update-${version}`,
    type: 'Update',
    actor: note['attributedTo'] ?? null,
    ...copyAudienceFields(note),
    updated,
    object: changed,
  }
}

/** To the people it was sent to. */
export function buildNoteDeleteActivity({ note }: Pick<NoteRecord, 'note'>, deleted: string): JsonObject {
  const id = stringOrEmpty(note['id'])
  const object = { id, type: 'Tombstone', formerType: note['type'] ?? 'Note', deleted }
  return {
    ...noteJsonLdContext(note),
    id: `${id}#delete`,
    type: 'Delete',
    actor: note['attributedTo'] ?? null,
    ...copyAudienceFields(note),
    object,
  }
}

function noteJsonLdContext(note: JsonObject): JsonObject {
  return isChatMessage(note) ? chatWords : noteContext
}

function copyAudienceFields({ to = [], cc = [], audience }: JsonObject): JsonObject {
  return { to, cc, ...(audience === undefined ? {} : { audience }) }
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
