// Notes of our agents, stored and read. They are stored before they are sent: a server that receives one may ask for it at once.

import type { Records } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import type { Visibility } from '../wire/activity.ts'
import {
  directFamily,
  type InboxCall,
  isTombstone,
  type KeptFacts,
  type NoteFile,
  type NoteRecord,
  noteFamily,
  outboxFamily,
  outboxKey,
} from '../wire/delivery.ts'
import type { DocumentUrls } from './urls.ts'

export type OwnNote = {
  readonly id: string
  readonly visibility: Visibility
  /** Undefined: it was taken back. */
  readonly note: JsonObject | undefined
  readonly deletedAt: string | undefined
  readonly files: readonly NoteFile[]
}

export type OwnNotes = {
  find(agent: string, id: string): Promise<OwnNote | undefined>
  /** Public posts, newest first. */
  page(agent: string, page: { readonly after?: string; readonly limit: number }): Promise<OwnPage>
  count(agent?: string): Promise<number>
}

/** `next`: where to go on; undefined: there is no more. */
export type OwnPage = { readonly notes: readonly JsonObject[]; readonly next: string | undefined }

export function isPublicNote(visibility: Visibility): boolean {
  return visibility === 'public' || visibility === 'unlisted'
}

export function createOwnNoteReader(records: Records, places: Pick<DocumentUrls, 'note'>): OwnNotes {
  const readNoteRecord = async (iri: string): Promise<NoteRecord | undefined> =>
    // Only this adapter writes this family.
    (await records.get(noteFamily, iri)) as NoteRecord | undefined
  return {
    async find(agent, id) {
      const record = await readNoteRecord(places.note(agent, id))
      return record === undefined ? undefined : toOwnNote(id, record)
    },
    async page(agent, { after, limit }) {
      const start = after === undefined ? {} : { after }
      const listed = await records.list(outboxFamily, { agent, limit: limit + 1, ...start })
      const shown = listed.slice(0, limit)
      const found = await Promise.all(shown.map(({ value }) => readNoteRecord(String(value['id']))))
      return {
        notes: found.flatMap((each) =>
          each === undefined || isTombstone(each.note) || !isPublicNote(each.visibility) ? [] : [each.note],
        ),
        next: listed.length > limit ? shown.at(-1)?.key : undefined,
      }
    },
    count: (agent) => records.count(outboxFamily, agent === undefined ? {} : { agent }),
  }
}

function toOwnNote(id: string, { visibility, note, files = [] }: NoteRecord): OwnNote {
  return isTombstone(note)
    ? { id, visibility, note: undefined, deletedAt: String(note['deleted']), files: [] }
    : { id, visibility, note, deletedAt: undefined, files }
}

// What becomes of a note later is stored by the code that changes it, in the commit that queues the news of it.

/** `withdrawn`: it was taken back meanwhile and is not sent any more. `failed`: it may not be sent yet. */
export type StoreNoteResult = 'kept' | 'withdrawn' | 'failed'
export type StoreNote = (call: InboxCall) => Promise<StoreNoteResult>

export function createNoteStore(records: Records): StoreNote {
  return async (call) => {
    const { activity, agent } = call
    const keeps = call['keeps'] as KeptFacts | undefined
    if (keeps === undefined || activity['type'] === 'Delete') return 'kept'
    try {
      if (activity['type'] === 'Create') return await storeNote(records, toNoteRecord(activity, keeps), agent)
      return (await isNoteOfActivityStored(records, activity)) ? 'kept' : 'withdrawn'
    } catch {
      return 'failed'
    }
  }
}

async function storeNote(records: Records, record: NoteRecord, agent: string): Promise<StoreNoteResult> {
  const id = String(record.note['id'])
  const facts = { agent, ...erasureSubjectField(record), isOnce: true }
  // What was said first must not come back over what it was changed into.
  const isNew = await records.put(noteFamily, id, record, facts)
  if (!isNew && !(await isNoteStored(records, id))) return 'withdrawn'
  const { published } = record.note
  if (typeof published === 'string')
    await records.put(noteListFamily(record), outboxKey(id, published), { id, published }, facts)
  return 'kept'
}

/** What was said to one person alone is erased with them. */
export function erasureSubjectField({ visibility, recipients }: KeptFacts): { readonly subject?: string } {
  const [author] = recipients
  return visibility === 'direct' && author !== undefined ? { subject: author.actor } : {}
}

/** The list that a note stands in. */
export function noteListFamily({ visibility }: Pick<KeptFacts, 'visibility'>): string {
  return visibility === 'direct' ? directFamily : outboxFamily
}

async function isNoteOfActivityStored(records: Records, { object }: JsonObject): Promise<boolean> {
  const id = typeof object === 'object' && object !== null && 'id' in object ? String(object['id']) : ''
  return isNoteStored(records, id)
}

async function isNoteStored(records: Records, id: string): Promise<boolean> {
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  return record !== undefined && !isTombstone(record.note)
}

function toNoteRecord(activity: JsonObject, { visibility, recipients, files }: KeptFacts): NoteRecord {
  // Made by this adapter: the object of such an activity is the note itself.
  const note = activity['object'] as JsonObject
  const audience = [activity['to'], activity['cc']].flatMap((each) => (Array.isArray(each) ? each : []))
  return {
    note,
    visibility,
    recipients,
    audience: audience.filter((each) => typeof each === 'string'),
    ...(files === undefined ? {} : { files }),
  }
}
