// What our agents have posted, as others may read it. It is kept before it is sent (deliver/keep-note.ts): who receives it may ask at once.
import type { JsonObject, Records } from '../../../src/contract/index.ts'
import type { Visibility } from '../wire/activity.ts'
import { isTombstone, type NoteFile, type NoteRecord, noteFamily, outboxFamily } from '../wire/call.ts'
import type { DocumentUrls } from './places.ts'

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

export function createOwnNotes(records: Records, places: Pick<DocumentUrls, 'note'>): OwnNotes {
  const readNoteRecord = async (iri: string): Promise<NoteRecord | undefined> =>
    // Only this adapter writes this family.
    (await records.get(noteFamily, iri)) as NoteRecord | undefined
  return {
    async find(agent, id) {
      const record = await readNoteRecord(places.note(agent, id))
      return record === undefined ? undefined : ownNote(id, record)
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

function ownNote(id: string, { visibility, note, files = [] }: NoteRecord): OwnNote {
  return isTombstone(note)
    ? { id, visibility, note: undefined, deletedAt: String(note['deleted']), files: [] }
    : { id, visibility, note, deletedAt: undefined, files }
}
